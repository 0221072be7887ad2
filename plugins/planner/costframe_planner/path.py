"""Path of all models of one fit: each single set, and the plan at many tradeoffs, with out-of-fold scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.checks import check_number
from costframe.core.errors import ParameterError, shown
from costframe.core.stages.stages import apply_link, squeeze
from costframe.training.model_path import MeasuredPath, best_first
from costframe.training.scoring import influence, standard_error, with_labels
from costframe_planner.planner import induce
from costframe_planner.plans import follow
from costframe_planner.predictor import make_planned, make_single

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.predictors.planned import PlannedPredictor
    from costframe.training.data import Rows, TrainingData
    from costframe.trees.boosting.folds import ManyFolds
    from costframe.trees.boosting.monitor import Predicted
    from costframe_planner.planner import Trained
    from costframe_planner.problem import Problem

    Score = Callable[[Predicted], float]

__all__ = ["PlanPoint", "PlannedPath", "better_plan", "measure_path"]

_TRADEOFFS = 36  # number of tradeoffs on the path
_LEAST, _MOST = 1e-4, 30.0  # range of tradeoffs, in units of (loss of the constant) / (cost of all features)
_INDUCED = slice(6, 32, 6)  # tradeoffs for backward induction too


@frozen
class PlanPoint:
    """A model on the path.

    Attributes
    ----------
    tradeoff : float
        Loss accepted per unit of cost; 0 for a single set.
    stop : int
        Set that answers all rows, or -1 for a plan.
    induced : bool
        Whether backward induction made its plan, for its own prices and tradeoff.
    loss, cost, score : float
        Mean loss, mean cost per row, and score: out of fold, over the rows of train and valid.
    objective_cost : float
        Mean cost with each row's share of once-prices, as in the objective.
    error : float or None
        Standard error of the score, if known.
    influence : float64 (n,) or None
        Influence of each row of train, then of valid, on the score; see `costframe.training.scoring`.
    n_rounds : int
        Number of stops.
    rows_lacked : float
        Share of the rows that the models of the score did not have.
    """

    tradeoff: float
    stop: int
    induced: bool
    loss: float
    cost: float
    score: float
    error: float | None
    n_rounds: int
    objective_cost: float = field(default=np.nan, repr=False)
    influence: NDArray[np.float64] | None = field(default=None, eq=False, repr=False)
    rows_lacked: float = field(default=0.0, repr=False)


@frozen(eq=False)
class _HeldOut:
    """Rows with the out-of-fold predictions of a plan."""

    rows: Rows
    predictions: NDArray[np.float64]


@frozen(eq=False)
class PlannedPath(MeasuredPath[PlanPoint]):
    """All models of a planner's fit; any of them becomes a predictor that accepts other prices.

    Attributes
    ----------
    points : tuple of PlanPoint
    trained : Trained
    problem : Problem
    data : TrainingData
    """

    points: tuple[PlanPoint, ...]
    trained: Trained
    problem: Problem
    data: TrainingData
    scoring: Any

    def predictor(self, point: PlanPoint) -> PlannedPredictor:
        """Return the model of a point."""
        if not -1 <= point.stop < len(self.trained.models):
            raise ParameterError(f"point: expected one of this path's, got {shown(point)}")
        if point.stop >= 0:
            models = self.trained.models
            return make_single(self.data, models[0], models[point.stop], self.problem.rows)
        made = induce(self.problem, self.trained, point.tradeoff, whole=True) if point.induced else None
        return make_planned(self.data, self.trained, point.tradeoff, made)

    def plain(self) -> PlanPoint:
        """Return the best single set, the cheapest of equal ones."""
        return self._add_error(max((point for point in self.points if point.stop >= 0), key=best_first))

    def frontier(self) -> tuple[PlanPoint, ...]:
        """Return the non-dominated points by score and cost, by ascending cost."""
        return tuple(self._add_error(point) for point in super().frontier())

    def at(self, tradeoff: float) -> PlanPoint:
        """Return the point with the least out-of-fold loss + tradeoff * cost."""
        check_number("tradeoff", tradeoff)
        return min(self.points, key=lambda point: (point.loss + tradeoff * point.objective_cost, point.objective_cost))

    def _add_error(self, point: PlanPoint) -> PlanPoint:
        """Return the point with the standard error of its score."""
        rows = self.problem.rows
        if point.error is not None:
            return point
        scores = _follow_point(self.problem, self.trained, point)[0]
        if self.scoring is None:
            lost = self.problem.loss.each(rows.y, scores)
            moved = -rows.weight * (lost - rows.mean(lost)) / rows.total_weight
        else:
            scoring, predictions = with_labels(self.scoring, rows.labels), _predictions(self.problem, scores)
            moved = influence(scoring, rows.y, predictions, rows.uneven_weight, rows.qid)
        # A constant needs no training.
        lacked = 1.0 / len(np.unique(self.problem.fold)) if point.n_rounds else 0.0
        return evolve(point, error=standard_error(moved), influence=moved, rows_lacked=lacked)


def measure_path(
    problem: Problem, trained: Trained, data: TrainingData, score: Score | None, scoring: Any,
    limits: tuple[float, float] | None, progress: Callable[[float], None],
) -> PlannedPath:  # fmt: skip
    """Measure each single set, and the plan at falling tradeoffs, out of fold.

    `limits` are the first and the last tradeoff; the default is as for `fit_path`.
    """
    models, full = trained.models, problem.prices.full
    points = [_measure(problem, trained, _new_point(0.0, stop=k), score) for k in range(len(models))]
    constant = problem.rows.mean(models[0].losses)
    if full > 0 and constant > 0 and len(models) > 1:
        least, most = (_LEAST * constant / full, _MOST * constant / full) if limits is None else limits[::-1]
        tradeoffs = np.geomspace(least, most, _TRADEOFFS).tolist()
        points += [_measure(problem, trained, _new_point(tradeoff), score) for tradeoff in tradeoffs]
        for done, tradeoff in enumerate(tradeoffs[_INDUCED]):
            points.append(_measure(problem, trained, _new_point(tradeoff, induced=True), score))
            progress(0.9 + 0.02 * done)
    return PlannedPath(tuple(points), trained, problem, data, scoring)


def better_plan(problem: Problem, trained: Trained, tradeoff: float) -> list[ManyFolds] | None:
    """Return the plan of backward induction if its out-of-fold objective is below that of the price-free plan."""
    if tradeoff == 0 or len(trained.models) < 2:
        return None
    to_go, induced = (_measure(problem, trained, _new_point(tradeoff, induced=way), None) for way in (False, True))
    if induced.loss + tradeoff * induced.objective_cost >= to_go.loss + tradeoff * to_go.objective_cost:
        return None
    return induce(problem, trained, tradeoff, whole=True)


def _new_point(tradeoff: float, stop: int = -1, *, induced: bool = False) -> PlanPoint:
    return PlanPoint(tradeoff, stop, induced, np.nan, np.nan, np.nan, None, 0)


def _measure(problem: Problem, trained: Trained, point: PlanPoint, score: Score | None) -> PlanPoint:
    rows = problem.rows
    scores, visited = _follow_point(problem, trained, point)
    loss = rows.mean(problem.loss.each(rows.y, scores))
    value = -loss if score is None else score(_HeldOut(rows, _predictions(problem, scores)))
    paid, objective_cost = (
        rows.mean(evolve(trained.routes, prices=prices).cost(visited)) for prices in (problem.paid, problem.prices)
    )
    n_rounds = len(trained.models) if point.stop < 0 else point.stop
    return evolve(point, loss=loss, cost=paid, objective_cost=objective_cost, score=value, n_rounds=n_rounds)


def _follow_point(
    problem: Problem, trained: Trained, point: PlanPoint
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return out-of-fold scores (n, K) of all rows, and the stops that each visited, (n,), one bit each."""
    models, n = trained.models, len(problem.rows)
    if point.stop >= 0:
        return models[point.stop].scores, np.full(n, 1 << point.stop, np.int64)
    gains = induce(problem, trained, point.tradeoff) if point.induced else trained.gains
    at, visited = follow(trained.routes, [each.predictions for each in gains], point.tradeoff)
    scores = np.empty_like(models[0].scores)
    for k in np.unique(at).tolist():
        scores[at == k] = models[k].scores[at == k]
    return scores, visited


def _predictions(problem: Problem, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return squeeze(apply_link(problem.loss.link, scores))
