"""Picture of a plan: its stops side by side, and the ways of rows between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.report.stages_boxes import Line, StageBox, acquired_lines, learners_line, money, percent
from costframe.report.stages_drawing import Way, draw_picture, height_of
from costframe.report.stages_panels import Panels
from costframe.report.stops_seen import see_stops, summarize_stops

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from costframe.core.predictors.planned import PlannedPredictor
    from costframe.core.prices.costs import CostModel
    from costframe.report.stages_seen import StageSeen
    from costframe.report.stops_seen import StopsSeen

__all__ = ["plot_plan"]


def plot_plan(
    predictor: PlannedPredictor,
    X: NDArray[np.float64] | None,
    labels: NDArray[Any] | None,
    model: CostModel | None,
    title: str | None,
    n_jobs: int | None,
) -> dict[str, bytes]:
    """Draw a plan; arguments as for `plot_stages`, checked, with `model` the prices to show, if any."""
    terms = predictor.terms(model)
    unit = None if model is None else model.unit
    answers = [stop.answer for stop in predictor.stops]
    if X is None:
        stops, per_row, panels = summarize_stops(predictor, terms.prices), None, None
    else:
        stops = see_stops(predictor, terms.prices, predictor.walk(X, terms, n_jobs))
        per_row = predictor.cost(X, model).per_row
        panels = Panels.of(answers, stops.seen, labels)
    boxes = [_box(number, answer, stops, per_row, unit) for number, answer in enumerate(answers)]
    heights = np.array([height_of(box) for box in boxes])
    place = np.arange(len(boxes)), heights.max() - heights / 2  # aligned at the top
    shown = "What each stop acquires" if title is None else title
    return draw_picture(boxes, place, _ways(stops.moves), panels, shown, _notes(boxes, panels))


def _box(number: int, answer: Any, stops: StopsSeen, per_row: NDArray[np.float64] | None, unit: str | None) -> StageBox:
    seen: StageSeen = stops.seen[number]
    if stops.moves is None or per_row is None:
        lines = [*learners_line(seen), *acquired_lines(seen.acquired, unit)]
        return StageBox(Line(f"stop {number}"), tuple(lines), answer, seen, None)
    share, answered = stops.moves[number].sum() / len(per_row), stops.moves[number, number]
    title = Line(f"stop {number}", f"{100 * share:.3g} % of rows")
    if share == 0:
        return StageBox(title, (Line("no row comes here", kind="faint"),), answer, seen, 0.0)
    lines = [Line(f"answers {percent(answered / stops.moves[number].sum())} of them" if answered else "answers none")]
    lines += [*learners_line(seen), *acquired_lines(seen.acquired, unit)]
    if answered and unit is not None:
        lines.append(Line("mean cost of the answered", money(per_row[seen.rows].mean(), unit)))
    return StageBox(title, tuple(lines), answer, seen, float(share))


def _ways(moves: NDArray[np.int64] | None) -> list[Way]:
    if moves is None:
        return []
    total = int(np.trace(moves))
    return [
        Way(int(start), int(end), moves[start, end] / total, label=percent(moves[start, end] / total))
        for start, end in zip(*np.nonzero(np.triu(moves, 1)), strict=True)
    ]


def _notes(boxes: list[StageBox], panels: Panels | None) -> str:
    acquired = [one for box in boxes for one in box.seen.acquired]
    notes = ["A row goes on to a later stop as long as the expected gain is worth the price."]
    if panels is None:
        notes.append("A stop acquires its set except the features that a row has; here, those of the stop before.")
    else:
        notes.append("Lines are as wide as the share of rows that go there. A stop acquires features that a row lacks.")
    if any(one.is_resource for one in acquired):
        notes.append("Resources are in italics.")
    if any(one.share < 1 for one in acquired):
        notes.append("In brackets: share of the rows at a stop that acquire it there.")
    if panels is not None:
        drawn = "a prediction against its label" if panels.target is not None else "how often a prediction occurs"
        notes.append(f"Drawn, of the rows answered: {drawn}.")
    return " ".join(notes)
