"""The texts of the box of each stage of a tree or stop of a plan: how it decides, what it acquires, at which price."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen

from costframe.core.arrays import F8, I8
from costframe.core.errors import format_count
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.stages.stages import Route, Stage
from costframe.report.drawn_text import percent
from costframe.report.stage_statistics import (
    Acquired,
    StageStatistics,
    see_stages,
    see_stops,
    summarize_stages,
    summarize_stops,
)

_NAMELESS = "unit"  # default unit of a cost model
_MOST_ITEMS = 4  # most lines of acquired items
_GIVES = {"sigmoid": "the sigmoid of its score", "softmax": "the softmax of its scores", "identity": "its score"}


@frozen
class Line:
    """A line of a box: text at the left and at the right; `kind` is "plain", "resource" or "faint"."""

    left: str
    right: str = ""
    kind: str = "plain"


@frozen(eq=False)
class StageBox:
    """The texts of a stage's box."""

    title: Line
    lines: tuple[Line, ...]
    stage: Stage
    seen: StageStatistics
    share: float | None  # of all rows that reach the stage; None without rows

    @property
    def has_panel(self) -> bool:
        """Whether the box has values to draw."""
        return self.seen.values is not None and bool(np.isfinite(self.seen.values).any())


def stage_boxes(
    predictor: StageTree | PlannedPredictor,
    model: CostModel | None,
    rows: F8 | None = None,
    acquisition: str = "path",
    n_jobs: int | None = None,
) -> tuple[list[StageBox], I8 | None]:
    """Return a box for each stage of a tree or stop of a plan, and the moves of rows between stops; see `see_stops`.

    Boxes show prices if there is a model of them, and shares and costs of rows, float64 (n, d) with n > 0, if given.
    """
    unit, moves, per_row, boxes = None if model is None else model.unit, None, None, []
    stages: Sequence[Stage]
    if isinstance(predictor, StageTree):
        stages, word, whose = predictor.stages, "stage", "these rows"
        prices = CostModel.of(model, predictor.feature_names).select(predictor.feature_names)
        if rows is None:
            seen = summarize_stages(predictor, prices)
        else:
            seen = see_stages(predictor, prices, rows, acquisition, n_jobs)
            per_row = None if model is None else predictor.cost(rows, model, acquisition=acquisition, made=True).per_row
    else:
        terms = predictor.terms(model, n_jobs=n_jobs)
        plan_prices = predictor.plan_terms(terms).prices
        stages, word, whose = [s.answer for s in predictor.stops], "stop", "the answered"
        if rows is None:
            seen = summarize_stops(predictor, plan_prices)
        else:
            seen, moves = see_stops(predictor, plan_prices, predictor.walk(rows, terms))
            per_row = predictor.cost(rows, model, made=True).per_row
    for number, (stage, statistics) in enumerate(zip(stages, seen, strict=True)):
        rows_of_stage = np.empty(0, np.int64) if statistics.rows is None else statistics.rows
        came = len(rows_of_stage) if moves is None else int(moves[number].sum())
        first, last = [_decision(stage, statistics)] if word == "stage" else [], []
        if word == "stop" and came:
            first = [
                Line(f"answers {percent(len(rows_of_stage) / came)} of them" if len(rows_of_stage) else "answers none")
            ]
        if per_row is not None and unit is not None and len(rows_of_stage) and not isinstance(stage, Route):
            last = [Line(f"mean cost of {whose}", _money(per_row[rows_of_stage].mean(), unit))]
        share = None if rows is None else came / len(rows)
        boxes.append(_box(f"{word} {number}", stage, statistics, share, unit, first, last))
    return boxes, moves


def view_stages(predictor: Predictor, costs: CostModel, rows: F8 | None = None) -> tuple[StageBox, ...]:
    """Return the boxes of `stage_boxes` without stages that no row reaches.

    Other predictors, and those with one stage, have none to show.
    """
    if isinstance(predictor, StageTree | PlannedPredictor):
        boxes, _ = stage_boxes(predictor, costs, rows)
        return tuple(box for box in boxes if box.share != 0) if len(boxes) > 1 else ()
    return ()


def _box(
    name: str,
    stage: Stage,
    seen: StageStatistics,
    share: float | None,
    unit: str | None,
    first: Sequence[Line],
    last: Sequence[Line],
) -> StageBox:
    """Make a box whose acquisitions stand between `first` and `last`; prices are shown if they have a `unit`."""
    title = Line(name, "" if share is None else f"{100 * share:.3g} % of rows")
    if share == 0:
        lines = [Line("no row comes here", kind="faint")]
    else:
        lines = [*_learners_line(seen), *_acquired_lines(seen.acquired, unit), *last]
    return StageBox(title, (*first, *lines), stage, seen, share)


def _money(amount: float, unit: str) -> str:
    """Return an amount with its unit, if the unit has a name."""
    return f"{amount:.4g}" if unit == _NAMELESS else f"{amount:.4g} {unit}"


def _decision(stage: Stage, seen: StageStatistics) -> Line:
    """Return a line that says how a stage routes or answers."""
    if isinstance(stage, Route):
        return Line(f"up if score > {stage.threshold:.4g}")
    if seen.n_learners == 0 and len(stage.intercept) == 1:
        return Line(f"answers {stage.predictions(stage.intercept[None])[0, 0]:.4g}")
    if stage.link == "ranked":
        return Line(f"answers with a rank of level {stage.level:.4g}")
    return Line(f"answers with {_GIVES[stage.link]}")


def _learners_line(seen: StageStatistics) -> list[Line]:
    if not seen.n_learners:
        return []
    new = "" if seen.n_new == 0 else ", all new" if seen.n_new == seen.n_learners else f", {seen.n_new:,} new"
    return [Line(f"evaluates {format_count(seen.n_learners, 'learner')}{new}", kind="faint")]


def _acquired_lines(acquired: Sequence[Acquired], unit: str | None) -> list[Line]:
    if not acquired:
        return [Line("acquires nothing new", kind="faint")]
    shown = acquired if len(acquired) <= _MOST_ITEMS else acquired[: _MOST_ITEMS - 1]
    lines = [Line("acquires", "" if unit is None else "price" if unit == _NAMELESS else unit, kind="faint")]
    for item in shown:
        price = "" if unit is None else f"{item.price:.4g}"
        share = "" if item.share == 1 else f"({percent(item.share)})"
        kind = "resource" if item.is_resource else "plain"
        lines.append(Line(item.name, " ".join(part for part in (share, price) if part), kind))
    if len(shown) < len(acquired):
        lines.append(Line(f"+ {len(acquired) - len(shown):,} more"))
    return lines
