"""The path of all models of one fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log

import numpy as np
from attrs import evolve, frozen

from costframe.plugin import MeasuredPath, ParameterError, PathPoint, PlannedPredictor, check_number, shown
from costframe.trees import ManyFolds, Scorer
from costframe_planner.lookahead import looks_ahead
from costframe_planner.measure import Measure
from costframe_planner.plan_points import ladder_around, new_point
from costframe_planner.predictor import KeptPlan, make_planned, make_single
from costframe_planner.realised import induce_apart, share_of_set, share_realised
from costframe_planner.refinement import Refinement, in_area, in_proportion, in_shares
from costframe_planner.stakes import Stakes

_TRADEOFFS = 36  # number of tradeoffs on the path
_LEAST, _MOST = 1e-4, 30.0  # range of tradeoffs, in units of (loss of the constant) / (cost of all features)
_INDUCED = slice(6, 32, 6)  # tradeoffs for backward induction too
# Most further ones of both kinds, and how far apart plans are without another: in proportion; for bills, as shares of
# the full cost
_FURTHER, _INDUCTIONS = (32, log(1.1)), (4, log(4 / 3))
_FOR_BILLS = (32, 0.02), (4, 0.1)
# With sets for parts: tradeoffs for induction, the same by area, and the least quotient of two tradeoffs: a loss may
# jump at one
_IN_PARTS, _FOR_PARTS, _JUMP = slice(2, 36, 6), (14, 0.02), 1.03
_IN_MONEY = 1.0, 1.4, 2.0  # tradeoffs of plans for bills: at 1 and above, where rows buy with caution


@frozen(eq=False)
class PlannedPath(MeasuredPath):
    """All models of a planner's fit; any of them becomes a predictor that accepts other prices.

    The key of a point is a `PlanKey`. Its loss and score, over the rows of train and valid, are those of the plan with
    the same cost out of fold, in money for bills.
    """

    points: tuple[PathPoint, ...]
    kept: KeptPlan
    scorer: Scorer | None  # None for the loss

    def predictor(self, point: PathPoint) -> PlannedPredictor:
        """Return the model of a point."""
        models = self.kept.trained.all_models
        if not -1 <= point.key.stop < len(models):
            raise ParameterError(f"point: expected one of this path's, got {shown(point)}")
        if point.key.stop >= 0:
            return make_single(
                self.kept.data, models[0], models[point.key.stop], self.kept.trained.spare, self.kept.problem
            )
        return self._planned(point, point.tradeoff)

    def predictor_at(self, tradeoff: float) -> PlannedPredictor:
        """Return the model with the least out-of-fold loss + tradeoff * cost, which also plans at other terms."""
        point = self.at(tradeoff)
        return self._planned(point, tradeoff) if len(self.kept.trained.models) > 1 else self.predictor(point)

    def _planned(self, point: PathPoint, tradeoff: float) -> PlannedPredictor:
        """Return a predictor that follows the plan of a point at a tradeoff, and the best price-free ones at others."""
        fitted = self.kept
        plan: list[ManyFolds] | int | None = None
        if point.key.stop >= 0:
            plan = point.key.stop
        elif point.key.induced:
            plan = fitted.trained.induced(point.tradeoff)
        others = [other for other in self.points if other.key.stop < 0 and not other.key.induced]
        ladder, unit = ladder_around(point, tradeoff, others), fitted.problem.gain_unit
        losses = [fitted.problem.rows.mean(model.losses) for model in fitted.trained.models]
        realised = self._realised(point if point.key.stop < 0 else evolve(point, tradeoff=tradeoff), plan)
        return make_planned(fitted.data, fitted.trained, tradeoff, plan, ladder, unit, losses, realised)

    def _realised(self, point: PathPoint, plan: list[ManyFolds] | int | None) -> tuple[float, float]:
        """Return the shares of gains that rows realise out of fold: of the price-free ones, and of a point's plan."""
        problem, trained, tradeoff = self.kept.problem, self.kept.trained, point.tradeoff
        rows, models, routes = problem.rows, trained.models, trained.routes
        gains = [folds.predictions for folds in trained.gains]
        share = share_realised(rows, models, gains, routes, tradeoff, net=False)
        if plan is None:
            return share, 1.0
        if isinstance(plan, int):
            return share, share_of_set(rows, models, gains, plan)
        apart = induce_apart(problem, trained, tradeoff)
        return share, share_realised(rows, models, apart, routes, tradeoff, net=True)

    def counterpart(self, point: PathPoint, whole: PlannedPath) -> PathPoint | None:
        """Return the point that is made like one of a path on more rows: of the same set, or of a bill's tradeoff.

        None if there is none, as for plans of losses, whose tradeoff buys more or less of other rows.
        """
        if point.key.stop >= 0:
            features = whole._features(point)
            singles = (single for single in self.points if single.key.stop >= 0)
            return next((single for single in singles if self._features(single) == features), None)
        if self.kept.problem.stakes is None:
            return None
        plans = (plan for plan in self.points if plan.key.stop < 0 and plan.key.induced == point.key.induced)
        return min(plans, key=lambda plan: abs(np.log(plan.tradeoff / point.tradeoff)), default=None)

    def _features(self, point: PathPoint) -> tuple[int, ...]:
        return self.kept.model_of(point.key.stop).features

    def plain(self) -> PathPoint:
        """Return the best single set, the cheapest of equal ones."""
        return self._add_error(
            max((point for point in self.points if point.key.stop >= 0), key=lambda point: point.rank)
        )

    def frontier(self) -> tuple[PathPoint, ...]:
        """Return the non-dominated points by score and cost, by ascending cost."""
        return tuple(self._add_error(point) for point in super().frontier())

    def at(self, tradeoff: float) -> PathPoint:
        """Return the point with the least out-of-fold loss + tradeoff * cost; a larger tradeoff never costs more.

        In money, it must be better than the constant by more than the standard error of what it saves: the best of many
        is often best by chance.
        """
        check_number("tradeoff", tradeoff)

        def best(points: Iterable[PathPoint]) -> PathPoint:
            return min(points, key=lambda point: (point.objective(tradeoff), point.objective_cost))

        if (stakes := self.kept.problem.stakes) is None:
            return best(point for point in self.points if point.key.stop < len(self.kept.trained.models))
        singles = [point for point in self.points if point.key.stop >= 0]
        plans = [point for point in self.points if point.key.stop < 0 and point.tradeoff >= tradeoff]
        constant = singles[0]

        def is_sure(point: PathPoint) -> bool:
            error = self._saving_error(point, constant, stakes)
            return point.objective(tradeoff) + error < constant.objective(tradeoff)

        return best([constant, *filter(is_sure, map(best, filter(None, (singles, plans))))])

    def _saving_error(self, point: PathPoint, other: PathPoint, stakes: Stakes) -> float:
        """Return the standard error of the mean cost of errors that one point saves, beside another."""
        rows, measure = self.kept.problem.rows, Measure(self.kept, None)
        saved = stakes.realised(measure.scores(other)) - stakes.realised(measure.scores(point))
        return Scorer.standard_error(rows.influence(saved))

    def _add_error(self, point: PathPoint) -> PathPoint:
        """Return the point with the standard error of its score."""
        problem = self.kept.problem
        rows = problem.rows
        if point.error is not None:
            return point
        measure, spent = Measure(self.kept, None), None
        scores = measure.scores(point)
        if self.kept.data.costs.errors is not None:
            spent = rows.influence(measure.paid(point))
        if self.scorer is None:
            moved = -rows.influence(problem.losses(scores))
        else:
            moved = self.scorer.influence(problem.held_out(rows, scores))
        # A constant needs no training.
        lacked = 1.0 / len(np.unique(problem.fold)) if point.n_rounds else 0.0
        return evolve(point, error=Scorer.standard_error(moved), influence=moved, spent=spent, rows_lacked=lacked)


def measure_path(
    fitted: KeptPlan,
    scorer: Scorer | None = None,
    limits: tuple[float, float] | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> PlannedPath:
    """Measure each single set, the plan at falling tradeoffs, and plans of backward induction at a few.

    `limits` are the first and the last tradeoff; the default is as for `fit_path`.
    """
    models, full = fitted.trained.models, fitted.problem.prices.full
    measure = Measure(fitted, scorer)
    points = [measure.of(new_point(0.0, stop=k)) for k in range(len(fitted.trained.all_models))]
    constant = fitted.problem.rows.mean(models[0].losses)
    unit = constant / full if full > 0 else 0.0
    least, most = (_LEAST * unit, _MOST * unit) if limits is None else limits[::-1]
    if unit > 0 and most < np.inf and len(models) > 1:
        tradeoffs = np.geomspace(least, most, _TRADEOFFS).tolist()
        parted, paid = fitted.trained.parted, fitted.problem.paid.full
        induced = tradeoffs[_IN_PARTS if parted else _INDUCED]
        further, inductions = (Refinement(*each, in_proportion(paid)) for each in (_FURTHER, _INDUCTIONS))
        if fitted.problem.stakes is not None:
            tradeoffs, induced = sorted({*tradeoffs, *_IN_MONEY}), [*_IN_MONEY]
            further, inductions = (Refinement(*each, in_shares(paid)) for each in _FOR_BILLS)
        if parted:
            inductions = Refinement(*_FOR_PARTS, in_area(paid, constant), _JUMP)
        points += measure.along([new_point(tradeoff) for tradeoff in tradeoffs], further)
        progress(0.85)
        if looks_ahead(measure, [point for point in points if not np.isnan(point.loss)]):
            points += measure.along([new_point(tradeoff, induced=True) for tradeoff in induced], inductions)
    return PlannedPath(tuple(point for point in points if not np.isnan(point.loss)), fitted, scorer)
