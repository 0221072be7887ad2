"""Whether plans by backward induction pay, tried on a sample where rows are many.

They pay where a set gains little but tells whether dearer ones gain much, and take half the time of a fit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from costframe.plugin import F8, PathPoint, Sampling
from costframe.trees import Scorer
from costframe_planner.measure import Measure
from costframe_planner.routes import follow
from costframe_planner.trained import induce

_FEW, _SAMPLE = 8_000, 4_000  # rows up to which they are always made, and rows to try them on
_TRADEOFFS = 8
_ERRORS = 2.0  # standard errors by which one must be better


def looks_ahead(measure: Measure, points: Sequence[PathPoint]) -> bool:
    """Return whether plans of backward induction promise a surely lower loss + tradeoff * cost than `points`, or may.

    It is tried at tradeoffs between which the costs of the points' plans lie evenly.
    """
    problem, trained = measure.kept.problem, measure.kept.trained
    if problem.n_rows <= _FEW or problem.stakes is not None or trained.parted:
        return True
    chosen = np.sort(Sampling.least(problem.keys, _SAMPLE))
    rest, known = problem.of_rows(chosen), trained.of_rows(chosen)
    losses, at_rows = np.stack([model.losses for model in known.models], axis=1), np.arange(len(chosen))

    def is_better(tradeoff: float) -> bool:
        best = min(points, key=lambda point: point.objective(tradeoff))
        gains = [folds.predictions for folds in induce(rest, known, tradeoff)]
        at, visited = follow(trained.routes, gains, tradeoff)
        saved = _objective(measure, best, tradeoff)[chosen] - losses[at_rows, at]
        saved -= tradeoff * trained.routes.cost(visited)
        return rest.rows.mean(saved) > _ERRORS * Scorer.standard_error(rest.rows.influence(saved))

    return any(is_better(tradeoff) for tradeoff in _spread(points))


def _objective(measure: Measure, point: PathPoint, tradeoff: float) -> F8:
    """Return what each row loses and pays out of fold, in units of loss: float64 (n,)."""
    return measure.kept.problem.losses(measure.scores(point)) + tradeoff * measure.paid(point)


def _spread(points: Sequence[PathPoint]) -> list[float]:
    """Return tradeoffs of plans of different costs, evenly spaced among these."""
    by_cost = {point.objective_cost: point.tradeoff for point in points if point.key.stop < 0 and point.cost > 0}
    tradeoffs = sorted(by_cost.values())
    places = np.linspace(0, len(tradeoffs) - 1, min(_TRADEOFFS, len(tradeoffs))).round().astype(int)
    return [tradeoffs[place] for place in places.tolist()]
