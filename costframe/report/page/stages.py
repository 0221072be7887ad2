"""Stages of a model as texts: which rows come to each, what it decides, and what it acquires first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Route
from costframe.report.page.content import StageView
from costframe.report.stage_statistics import see_stages, see_stops, summarize_stages, summarize_stops
from costframe.report.stages_boxes import decision, percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictors.predictor import Predictor
    from costframe.core.prices.costs import CostModel

__all__ = ["view_stages"]


def view_stages(
    predictor: Predictor, costs: CostModel, rows: NDArray[np.float64] | None = None
) -> tuple[StageView, ...]:
    """Return the stages of a stage tree or the stops of a plan, with shares of rows (n, d), n > 0, if given.

    Stages that no row reaches are left out; other predictors, and those with one stage, have none to show.
    """
    if isinstance(predictor, StageTree) and len(predictor.stages) > 1:
        return _view_tree(predictor, costs, rows)
    if isinstance(predictor, PlannedPredictor) and len(predictor.stops) > 1:
        return _view_plan(predictor, costs, rows)
    return ()


def _view_tree(tree: StageTree, costs: CostModel, rows: NDArray[np.float64] | None) -> tuple[StageView, ...]:
    prices = costs.select(tree.feature_names)
    seen = summarize_stages(tree, prices) if rows is None else see_stages(tree, prices, rows)
    views = []
    for number, (stage, mine) in enumerate(zip(tree.stages, seen, strict=True)):
        came = []
        if rows is not None and mine.rows is not None:
            if not len(mine.rows):
                continue
            came = [f"{percent(len(mine.rows) / len(rows))} of rows come here"]
        what = decision(stage, mine).left
        if isinstance(stage, Route):
            what = f"to stage {stage.above} {what.removeprefix('up ')}, else to stage {stage.below}"
        views.append(StageView(f"Stage {number}", (*came, what), mine.acquired))
    return tuple(views)


def _view_plan(plan: PlannedPredictor, costs: CostModel, rows: NDArray[np.float64] | None) -> tuple[StageView, ...]:
    terms = plan.terms(costs)
    if rows is None:
        seen, moves = summarize_stops(plan, terms.prices), None
    else:
        seen, moves = see_stops(plan, terms.prices, plan.walk(rows, terms, None))
    views = []
    for number, mine in enumerate(seen):
        lines: tuple[str, ...] = ()
        if moves is not None:
            total, came, answered = np.trace(moves), moves[number].sum(), moves[number, number]
            if mine.acquired or answered:
                lines = (f"{percent(came / total)} of rows come here, {percent(answered / total)} get their answer",)
            else:
                continue  # no row stays
        views.append(StageView(f"Stop {number}", lines, mine.acquired))
    return tuple(views)
