"""Measures points: each single set, and plans at many tradeoffs, with scores out of fold."""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen

from costframe.plugin import F8, I8, PathPoint
from costframe.trees import Scorer
from costframe_planner.plan_points import new_point
from costframe_planner.predictor import KeptPlan
from costframe_planner.refinement import Refinement
from costframe_planner.routes import follow
from costframe_planner.trained import induce

_ALIKE, _HALVINGS = 0.02, 8  # search of the tradeoff with an equal cost out of fold
_POWERS = np.array([0.0625, 0.125, 0.25, 0.5, 1.0, 2.0])  # of two


@frozen(eq=False)
class Measure:
    """Measures points: what the kept models pay, and how those without a fold score at the same cost."""

    kept: KeptPlan
    scorer: Scorer | None

    def along(self, points: list[PathPoint], refinement: Refinement) -> list[PathPoint]:
        """Measure plans at ascending tradeoffs, and further ones between those that are farthest apart."""
        points = [self.of(point) for point in points]
        for _ in range(refinement.most if self.kept.problem.paid.full > 0 else 0):
            if (further := refinement.place(points)) is None:
                break
            place, tradeoff = further
            points.insert(place, self.of(new_point(tradeoff, induced=points[0].key.induced)))
        return points

    def of(self, point: PathPoint) -> PathPoint:
        """Measure a point."""
        problem, trained = self.kept.problem, self.kept.trained
        if point.key.stop >= 0:
            features = self.kept.model_of(point.key.stop).features
            paid, error, objective_cost = problem.paid.of_set(features), 0.0, problem.prices.of_set(features)
            asked = point.tradeoff
        else:
            made = induce(problem, trained, point.tradeoff) if point.key.induced else trained.gains
            gains = self.kept.induced(made) if point.key.induced else self.kept.gains
            paid, error, objective_cost = self.kept.cost(gains, point.tradeoff)
            asked = self._asked(point.tradeoff, objective_cost, [folds.predictions for folds in made])
            if point.key.induced and not np.isnan(asked):
                trained.keep_ways(point.tradeoff, asked, [*made])
        point = evolve(point, cost=paid, cost_error=error, objective_cost=objective_cost)
        point = evolve(point, key=evolve(point.key, asked=asked))
        if np.isnan(asked):
            return point
        rows, scores = problem.rows, self.scores(point)
        loss = rows.mean(problem.losses(scores))
        value = -loss if self.scorer is None else self.scorer(problem.held_out(rows, scores))
        n_rounds = len(trained.models) if point.key.stop < 0 else point.key.stop
        return evolve(point, loss=loss, score=value, n_rounds=n_rounds)

    def scores(self, point: PathPoint) -> F8:
        """Return out-of-fold scores (n, K) of all rows."""
        models = self.kept.trained.models
        if point.key.stop >= 0:
            return self.kept.model_of(point.key.stop).scores
        at, _ = self._ways(point)
        scores = np.empty_like(models[0].scores)
        for k in np.unique(at).tolist():
            scores[at == k] = models[k].scores[at == k]
        return scores

    def paid(self, point: PathPoint) -> F8:
        """Return what each row pays out of fold, as in the objective: float64 (n,)."""
        if point.key.stop >= 0:
            return np.full(len(self.kept.problem.rows), point.objective_cost)
        return self.kept.trained.routes.cost(self._ways(point)[1])

    def _ways(self, point: PathPoint) -> tuple[I8, I8]:
        """Return the ways of rows out of fold under a plan; see `follow`."""
        trained, asked = self.kept.trained, point.key.asked
        if point.key.induced:
            return trained.ways(point.tradeoff, asked)
        return follow(trained.routes, [folds.predictions for folds in trained.gains], asked)

    def _asked(self, tradeoff: float, objective_cost: float, gains: list[F8]) -> float:
        """Return the least tradeoff near a plan's own at which models without a fold pay what the kept ones do.

        Or else less; NaN if there is none.
        """
        if self.kept.problem.base is not None:
            return tradeoff
        routes, rows = self.kept.trained.routes, self.kept.problem.rows

        def above(power: float) -> float:
            """Return by how much the cost at the tradeoff times 2^power exceeds that of the kept plan, as a share."""
            cost = rows.mean(routes.cost(follow(routes, gains, tradeoff * 2.0**power)[1]))
            if objective_cost > 0:
                return cost / objective_cost - 1
            return np.inf if cost > 0 else 0.0

        tried, excess, bracket = 0.0, above(0.0), (0.0, 0.0)
        for step in np.sign(excess) * _POWERS:
            if abs(excess) <= _ALIKE:
                return float(tradeoff * 2.0**tried)
            bracket, before = (tried, float(step)), excess
            tried, excess = bracket[1], above(bracket[1])
            if excess * before <= 0:
                break
        dear, cheap = sorted(bracket)
        for _ in range(_HALVINGS):
            if abs(excess) <= _ALIKE:
                return float(tradeoff * 2.0**tried)
            tried = (dear + cheap) / 2
            excess = above(tried)
            dear, cheap = (tried, cheap) if excess > 0 else (dear, tried)
        return float(tradeoff * 2.0**cheap) if above(cheap) <= _ALIKE else np.nan
