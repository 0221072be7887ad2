"""What the kept models decide on the rows they were trained on: the best estimate of what fresh rows will pay.

Models without a fold decide otherwise than the kept ones, so their mean cost is that of other plans. A plan's cost
hardly depends on labels, so its own rows cost what fresh ones do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.plugin import Rung, least_rows
from costframe_planner.plans import follow
from costframe_planner.predictor import make_planned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.plugin import Rows, TrainingData
    from costframe.trees import ManyFolds
    from costframe_planner.planner import Trained
    from costframe_planner.problem import Problem

    Gains = Sequence[NDArray[np.float64]]

__all__ = ["KeptPlan"]

_MOST_ROWS = 20_000
_OWN = 0.01  # further error, as a share: gains were fitted to the same rows


@frozen(eq=False)
class KeptPlan:
    """The decisions of the kept models on rows they were trained on.

    Copies of a base model may know their own rows by heart, so models without a fold decide in their place.

    Attributes
    ----------
    problem : Problem
    trained : Trained
    data : TrainingData
    rows : Rows
    scores : list of float64 (n, K)
        Scores of each stop's model.
    gains : list of float64 (n, later stops)
        Of each stop except the last, without prices.
    """

    problem: Problem
    trained: Trained
    data: TrainingData
    rows: Rows
    scores: list[NDArray[np.float64]]
    gains: Gains

    @classmethod
    def of(cls, problem: Problem, trained: Trained, data: TrainingData) -> KeptPlan:
        """Let the kept models decide on at most 20,000 rows."""
        models = trained.models
        if problem.base is not None:
            out_of_fold = [each.predictions for each in trained.gains]
            return cls(problem, trained, data, problem.rows, [model.scores for model in models], out_of_fold)
        rows = problem.rows.take(np.sort(least_rows(problem.keys, _MOST_ROWS)))
        planned = make_planned(data, trained, 0.0)
        table = np.empty((len(rows), rows.X.shape[1] + problem.loss.n_outputs))
        table[:, : rows.X.shape[1]] = rows.X
        scores, gains = [], []
        for number, stop in enumerate(planned.stops):
            scores.append(planned.layout.score(number, table))
            if stop.gains is not None:
                gains.append(planned.layout.expected_gains(number, table, planned=False))
        return cls(problem, trained, data, rows, scores, gains)

    def induced(self, made: Sequence[ManyFolds]) -> Gains:
        """Return the gains of a plan of backward induction: one array for each stop except the last."""
        if self.problem.base is not None:
            return [each.predictions for each in made]
        layout = make_planned(self.data, self.trained, 0.0, made, [Rung(0.0, 0.0, planned=True)]).layout
        tables = (np.ascontiguousarray(np.hstack([self.rows.X, scores])) for scores in self.scores[:-1])
        return [layout.expected_gains(number, table, planned=True) for number, table in enumerate(tables)]

    def cost(self, gains: Gains, tradeoff: float) -> tuple[float, float, float]:
        """Return the mean cost of a plan, its standard error, and its mean with shares of once-prices."""
        routes = self.trained.routes
        visited = follow(routes, gains, tradeoff)[1] if gains else np.ones(len(self.rows), np.int64)
        paid = evolve(routes, prices=self.problem.paid).cost(visited)
        mean = self.rows.mean(paid)
        moved = self.rows.weight * (paid - mean) / self.rows.total_weight
        error = float(np.hypot(np.sqrt(moved @ moved), _OWN * mean))
        return mean, error, self.rows.mean(routes.cost(visited))
