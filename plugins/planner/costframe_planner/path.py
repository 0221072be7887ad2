"""All models of one fit: each set alone, and the plan at many tradeoffs, measured out of fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.checks import check_number
from costframe.core.errors import ParameterError
from costframe.core.learners.links import apply_link
from costframe.training.influence import influence, standard_error
from costframe.training.model_path import MeasuredPath, best_first
from costframe_planner.planner import induce
from costframe_planner.plans import follow
from costframe_planner.predictor import alone, planned

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.predictors.planned import PlannedPredictor
    from costframe.training.data import Rows, TrainingData
    from costframe.trees.boosting.many import ManyFolds
    from costframe.trees.boosting.monitor import Predicted
    from costframe_planner.models import SetModel
    from costframe_planner.planner import Trained
    from costframe_planner.problem import Problem

    Score = Callable[[Predicted], float]

__all__ = ["PlanPoint", "PlannedPath", "better_plan", "measure_path", "single"]

_TRADEOFFS = 36  # from where prices hardly count to where nothing is bought
_LEAST, _MOST = 1e-4, 30.0  # in units of (loss of the constant) / (cost of all features)
_INDUCED = slice(6, 32, 6)  # of these, where backward induction is tried as well


@frozen
class PlanPoint:
    """A model on the path.

    Attributes
    ----------
    tradeoff : float
        Loss accepted per unit of cost; 0 for a set alone.
    stop : int
        The set that answers all rows, or -1 for a plan.
    induced : bool
        Whether its plan was made backwards for its own prices and tradeoff.
    loss, cost, score : float
        Out of fold, over the rows of train and valid: mean loss, mean cost per row, and the score asked for.
    weighed : float
        The mean cost with each row's share of what is paid once for all of them: what is weighed against the loss.
    error : float or None
        Standard error of the score; None where the score has none that is known.
    influence : float64 (n,) or None
        How far each row of train and then of valid moves the score; see `costframe.training.influence`.
    n_rounds : int
        Stops that it has.
    rows_lacked : float
        Share of the rows that the models behind the score were not trained on.
    """

    tradeoff: float
    stop: int
    induced: bool
    loss: float
    cost: float
    score: float
    error: float | None
    n_rounds: int
    weighed: float = field(default=np.nan, repr=False)
    influence: NDArray[np.float64] | None = field(default=None, eq=False, repr=False)
    rows_lacked: float = field(default=0.0, repr=False)


@frozen(eq=False)
class _Judged:
    """Rows, and what a plan says of them out of fold."""

    rows: Rows
    predictions: NDArray[np.float64]


@frozen(eq=False)
class PlannedPath(MeasuredPath[PlanPoint]):
    """All models of a planner's fit; any of them becomes a predictor, whose prices may still change.

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
    scoring: str | None

    def predictor(self, point: PlanPoint) -> PlannedPredictor:
        """Return the model of a point."""
        if not -1 <= point.stop < len(self.trained.models):
            raise ParameterError(f"point: expected one of this path's, got {point!r}")
        if point.stop >= 0:
            return single(self.problem, self.data, self.trained.models[0], self.trained.models[point.stop])
        made = induce(self.problem, self.trained, point.tradeoff, whole=True) if point.induced else None
        return planned(self.data, self.trained, point.tradeoff, made)

    def plain(self) -> PlanPoint:
        """Return the best set alone; of several, the cheapest."""
        return self._estimated(max((point for point in self.points if point.stop >= 0), key=best_first))

    def frontier(self) -> tuple[PlanPoint, ...]:
        """Return the points such that no other has a higher score at no more cost, by ascending cost."""
        return tuple(self._estimated(point) for point in super().frontier())

    def at(self, tradeoff: float) -> PlanPoint:
        """Return the point with the least loss + tradeoff * cost out of fold."""
        check_number("tradeoff", tradeoff)
        return min(self.points, key=lambda point: (point.loss + tradeoff * point.weighed, point.weighed))

    def _estimated(self, point: PlanPoint) -> PlanPoint:
        """Add the standard error of the score."""
        rows = self.problem.rows
        if point.error is not None:
            return point
        scores = _followed(self.problem, self.trained, point)[0]
        if self.scoring is None:
            lost = self.problem.loss.each(rows.y, scores)
            moved = -rows.weight * (lost - np.average(lost, weights=rows.weight)) / rows.total_weight
        else:
            moved = influence(self.scoring, rows.y, _predictions(self.problem, scores), rows.uneven_weight, rows.qid)
        lacked = 1.0 / len(np.unique(self.problem.fold)) if point.n_rounds else 0.0  # a constant learns nothing
        return evolve(point, error=standard_error(moved), influence=moved, rows_lacked=lacked)


def measure_path(
    problem: Problem, trained: Trained, data: TrainingData, score: Score | None, scoring: str | None,
    limits: tuple[float, float] | None, progress: Callable[[float], None],
) -> PlannedPath:  # fmt: skip
    """Measure each set alone, and the plan at falling tradeoffs, out of fold.

    `limits` are the first and the last tradeoff; by default from where nothing is bought to where prices do not count.
    """
    models, full = trained.models, problem.prices.full
    points = [_measured(problem, trained, _unknown(0.0, stop=k), score) for k in range(len(models))]
    constant = float(np.average(models[0].losses, weights=problem.rows.weight))
    if full > 0 and constant > 0 and len(models) > 1:
        least, most = (_LEAST * constant / full, _MOST * constant / full) if limits is None else limits[::-1]
        tradeoffs = np.geomspace(least, most, _TRADEOFFS).tolist()
        points += [_measured(problem, trained, _unknown(tradeoff), score) for tradeoff in tradeoffs]
        for done, tradeoff in enumerate(tradeoffs[_INDUCED]):
            points.append(_measured(problem, trained, _unknown(tradeoff, induced=True), score))
            progress(0.9 + 0.02 * done)
    return PlannedPath(tuple(points), trained, problem, data, scoring)


def single(problem: Problem, data: TrainingData, nothing: SetModel, model: SetModel) -> PlannedPredictor:
    """Return the model of one set for all rows; `nothing` is the constant."""
    return alone(data, nothing, model, float(np.average(nothing.losses - model.losses, weights=problem.rows.weight)))


def better_plan(problem: Problem, trained: Trained, tradeoff: float) -> list[ManyFolds] | None:
    """Plan backwards for one tradeoff, and return it if out of fold it loses and pays less than loss to go."""
    if tradeoff == 0 or len(trained.models) < 2:
        return None
    to_go, induced = (_measured(problem, trained, _unknown(tradeoff, induced=way), None) for way in (False, True))
    if induced.loss + tradeoff * induced.weighed >= to_go.loss + tradeoff * to_go.weighed:
        return None
    return induce(problem, trained, tradeoff, whole=True)


def _unknown(tradeoff: float, stop: int = -1, *, induced: bool = False) -> PlanPoint:
    return PlanPoint(tradeoff, stop, induced, np.nan, np.nan, np.nan, None, 0)


def _measured(problem: Problem, trained: Trained, point: PlanPoint, score: Score | None) -> PlanPoint:
    rows = problem.rows
    scores, visited = _followed(problem, trained, point)
    loss = float(np.average(problem.loss.each(rows.y, scores), weights=rows.weight))
    value = -loss if score is None else score(_Judged(rows, _predictions(problem, scores)))
    paid, weighed = (
        float(np.average(evolve(trained.routes, prices=prices).cost(visited), weights=rows.weight))
        for prices in (problem.paid, problem.prices)
    )
    n_rounds = len(trained.models) if point.stop < 0 else point.stop
    return evolve(point, loss=loss, cost=paid, weighed=weighed, score=value, n_rounds=n_rounds)


def _followed(problem: Problem, trained: Trained, point: PlanPoint) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return scores (n, K) of all rows out of fold, and the stops that they were at, (n,), one bit each."""
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
    values = apply_link(problem.loss.link, scores)
    return values[:, 0] if values.shape[1] == 1 else values
