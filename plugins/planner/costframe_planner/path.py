"""Path of all models of one fit: each single set, and plans at many tradeoffs, with scores out of fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
from attrs import evolve, field, frozen

from costframe.plugin import (
    F8,
    MeasuredPath,
    ParameterError,
    PathPoint,
    PlannedPredictor,
    Rung,
    best_first,
    check_number,
    shown,
    standard_error,
)
from costframe.trees import ManyFolds, Scorer
from costframe_planner.predictor import KeptPlan, make_planned, make_single
from costframe_planner.routes import follow
from costframe_planner.stakes import Stakes

_TRADEOFFS = 36  # number of tradeoffs on the path
_LEAST, _MOST = 1e-4, 30.0  # range of tradeoffs, in units of (loss of the constant) / (cost of all features)
_INDUCED = slice(6, 32, 6)  # tradeoffs for backward induction too
_FURTHER, _GAP, _NEAR = 32, 0.02, 1.001  # more tradeoffs between costs further apart, as a share of the full cost
_INDUCTIONS = 4, 0.1  # the same
# With sets for parts: first tradeoffs for induction, more between losses far apart too, and their weight; a loss may
# jump at a tradeoff
_IN_PARTS, _FOR_PARTS, _PER_LOSS, _JUMP = slice(2, 36, 6), (20, 0.1), 2.0, 1.03
_ALIKE, _HALVINGS = 0.02, 8  # search of the tradeoff with an equal cost out of fold
_IN_MONEY = 1.0, 1.4, 2.0  # tradeoffs of plans for bills: at 1 and above, where rows buy with caution
_POWERS = np.array([0.0625, 0.125, 0.25, 0.5, 1.0, 2.0])  # of two


@frozen
class Plan:
    """The key of a point: a set that answers all rows, or a plan."""

    stop: int = -1  # set that answers all rows, a stop or a further one, or -1 for a plan
    induced: bool = False  # whether backward induction made its plan, for its own prices and tradeoff
    asked: float = field(default=np.nan, repr=False)  # tradeoff of the plan out of fold


@frozen(eq=False)
class PlannedPath(MeasuredPath):
    """All models of a planner's fit; any of them becomes a predictor that accepts other prices.

    The key of a point is a `Plan`. Its loss and score, over the rows of train and valid, are those of the plan with the
    same cost out of fold, in money for bills.
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
            return make_single(self.kept.data, models[0], models[point.key.stop], self.kept.problem.rows)
        return self._planned(point, point.tradeoff)

    def predictor_at(self, tradeoff: float) -> PlannedPredictor:
        """Return the model with the least out-of-fold loss + tradeoff * cost, which also plans at other terms."""
        point = self.at(tradeoff)
        return self._planned(point, tradeoff) if len(self.kept.trained.models) > 1 else self.predictor(point)

    def _planned(self, point: PathPoint, tradeoff: float) -> PlannedPredictor:
        """Return a predictor that follows the plan of a point at a tradeoff, and the best price-free ones at others."""
        kept = self.kept
        plan: list[ManyFolds] | int | None = None
        if point.key.stop >= 0:
            plan = point.key.stop
        elif point.key.induced:
            plan = kept.trained.induced(kept.problem, point.tradeoff)
        others = [each for each in self.points if each.key.stop < 0 and not each.key.induced]
        return make_planned(kept.data, kept.trained, tradeoff, plan, ladder_around(point, tradeoff, others))

    def counterpart(self, point: PathPoint, whole: PlannedPath) -> PathPoint | None:
        """Return the point that is made like one of a path on more rows: of the same set, or of a bill's tradeoff.

        None if there is none, as for plans of losses, whose tradeoff buys more or less of other rows.
        """
        if point.key.stop >= 0:
            features = whole._features(point)
            singles = (each for each in self.points if each.key.stop >= 0)
            return next((each for each in singles if self._features(each) == features), None)
        if self.kept.problem.stakes is None:
            return None
        plans = (each for each in self.points if each.key.stop < 0 and each.key.induced == point.key.induced)
        return min(plans, key=lambda each: abs(np.log(each.tradeoff / point.tradeoff)), default=None)

    def _features(self, point: PathPoint) -> tuple[int, ...]:
        return self.kept.model_of(point.key.stop).features

    def plain(self) -> PathPoint:
        """Return the best single set, the cheapest of equal ones."""
        return self._add_error(max((point for point in self.points if point.key.stop >= 0), key=best_first))

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

    def _saving_error(self, one: PathPoint, other: PathPoint, stakes: Stakes) -> float:
        """Return the standard error of the mean cost of errors that one point saves, beside another."""
        rows, measure = self.kept.problem.rows, _Measure(self.kept, None)
        saved = stakes.realised(measure.scores(other)) - stakes.realised(measure.scores(one))
        return standard_error(rows.weight * (saved - rows.mean(saved)) / rows.total_weight)

    def _add_error(self, point: PathPoint) -> PathPoint:
        """Return the point with the standard error of its score."""
        problem = self.kept.problem
        rows = problem.rows
        if point.error is not None:
            return point
        measure, spent = _Measure(self.kept, None), None
        scores = measure.scores(point)
        if self.kept.data.costs.errors is not None:
            paid = measure.paid(point)
            spent = rows.weight * (paid - rows.mean(paid)) / rows.total_weight
        if self.scorer is None:
            lost = problem.losses(scores)
            moved = -rows.weight * (lost - rows.mean(lost)) / rows.total_weight
        else:
            moved = self.scorer.influence(problem.held_out(rows, scores))
        # A constant needs no training.
        lacked = 1.0 / len(np.unique(problem.fold)) if point.n_rounds else 0.0
        return evolve(point, error=standard_error(moved), influence=moved, spent=spent, rows_lacked=lacked)


def measure_path(
    kept: KeptPlan,
    scorer: Scorer | None = None,
    limits: tuple[float, float] | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> PlannedPath:
    """Measure each single set, the plan at falling tradeoffs, and plans of backward induction at a few.

    `limits` are the first and the last tradeoff; the default is as for `fit_path`.
    """
    models, full = kept.trained.models, kept.problem.prices.full
    measure = _Measure(kept, scorer)
    points = [measure.of(_new_point(0.0, stop=k)) for k in range(len(kept.trained.all_models))]
    constant = kept.problem.rows.mean(models[0].losses)
    unit = constant / full if full > 0 else 0.0
    least, most = (_LEAST * unit, _MOST * unit) if limits is None else limits[::-1]
    if unit > 0 and most < np.inf and len(models) > 1:
        tradeoffs = np.geomspace(least, most, _TRADEOFFS).tolist()
        parted = kept.trained.parted
        induced = tradeoffs[_IN_PARTS if parted else _INDUCED]
        if kept.problem.stakes is not None:
            tradeoffs, induced = sorted({*tradeoffs, *_IN_MONEY}), [*_IN_MONEY]
        points += measure.along([_new_point(tradeoff) for tradeoff in tradeoffs], _FURTHER, _GAP)
        progress(0.85)
        further = (*_FOR_PARTS, _PER_LOSS / unit) if parted else _INDUCTIONS
        points += measure.along([_new_point(tradeoff, induced=True) for tradeoff in induced], *further)
    return PlannedPath(tuple(point for point in points if not np.isnan(point.loss)), kept, scorer)


def _new_point(tradeoff: float, stop: int = -1, *, induced: bool = False) -> PathPoint:
    return PathPoint(0, tradeoff, np.nan, np.nan, np.nan, key=Plan(stop, induced))


@frozen(eq=False)
class _Measure:
    """Measures points: what the kept models pay, and how those without a fold score at the same cost."""

    kept: KeptPlan
    scorer: Scorer | None

    def along(self, points: list[PathPoint], further: int, widest: float, per_loss: float = 0.0) -> list[PathPoint]:
        """Measure plans at ascending tradeoffs, and between those whose costs differ by a share of the full one.

        Differences of losses count too, as costs of `per_loss` per unit.
        """

        def apart(a: PathPoint, b: PathPoint) -> float:
            return abs(a.cost - b.cost) + (per_loss * abs(np.nan_to_num(a.loss - b.loss)) if per_loss else 0.0)

        points, near = [self.of(point) for point in points], _JUMP if per_loss else _NEAR
        for _ in range(further):
            gaps = [
                (apart(a, b), -place) for place, (a, b) in enumerate(pairwise(points)) if b.tradeoff > near * a.tradeoff
            ]
            gap, place = max(gaps, default=(0.0, 0))
            if gap <= widest * self.kept.problem.paid.full:
                break
            middle = float(np.sqrt(points[-place].tradeoff * points[1 - place].tradeoff))
            points.insert(1 - place, self.of(_new_point(middle, induced=points[0].key.induced)))
        return points

    def of(self, point: PathPoint) -> PathPoint:
        """Measure a point."""
        problem, models = self.kept.problem, self.kept.trained.models
        if point.key.stop >= 0:
            features = self.kept.model_of(point.key.stop).features
            paid, error, objective_cost = problem.paid.of_set(features), 0.0, problem.prices.of_set(features)
        else:
            paid, error, objective_cost = self.kept.cost(self._kept_gains(point), point.tradeoff)
        point = evolve(point, cost=paid, cost_error=error, objective_cost=objective_cost)
        point = evolve(point, key=evolve(point.key, asked=self._asked(point)))
        if np.isnan(point.key.asked):
            return point
        rows, scores = problem.rows, self.scores(point)
        loss = rows.mean(problem.losses(scores))
        value = -loss if self.scorer is None else self.scorer(problem.held_out(rows, scores))
        return evolve(point, loss=loss, score=value, n_rounds=len(models) if point.key.stop < 0 else point.key.stop)

    def scores(self, point: PathPoint) -> F8:
        """Return out-of-fold scores (n, K) of all rows."""
        models = self.kept.trained.models
        if point.key.stop >= 0:
            return self.kept.model_of(point.key.stop).scores
        at, _ = follow(self.kept.trained.routes, self._gains(point), point.key.asked)
        scores = np.empty_like(models[0].scores)
        for k in np.unique(at).tolist():
            scores[at == k] = models[k].scores[at == k]
        return scores

    def paid(self, point: PathPoint) -> F8:
        """Return what each row pays out of fold, as in the objective: float64 (n,)."""
        if point.key.stop >= 0:
            return np.full(len(self.kept.problem.rows), point.objective_cost)
        routes = self.kept.trained.routes
        return routes.cost(follow(routes, self._gains(point), point.key.asked)[1])

    def _gains(self, point: PathPoint) -> list[F8]:
        trained = self.kept.trained
        made = trained.induced(self.kept.problem, point.tradeoff) if point.key.induced else trained.gains
        return [each.predictions for each in made]

    def _kept_gains(self, point: PathPoint) -> list[F8]:
        kept = self.kept
        return list(
            kept.induced(kept.trained.induced(kept.problem, point.tradeoff)) if point.key.induced else kept.gains
        )

    def _asked(self, point: PathPoint) -> float:
        """Return the least tradeoff near the point's own at which models without a fold pay what the kept ones do.

        Or else less; NaN if there is none.
        """
        if point.key.stop >= 0 or self.kept.problem.base is not None:
            return point.tradeoff
        routes, gains, rows = self.kept.trained.routes, self._gains(point), self.kept.problem.rows

        def above(power: float) -> float:
            """Return by how much the cost at the tradeoff times 2^power exceeds that of the kept plan, as a share."""
            cost = rows.mean(routes.cost(follow(routes, gains, point.tradeoff * 2.0**power)[1]))
            if point.objective_cost > 0:
                return cost / point.objective_cost - 1
            return np.inf if cost > 0 else 0.0

        tried, found, bracket = 0.0, above(0.0), (0.0, 0.0)
        for step in np.sign(found) * _POWERS:
            if abs(found) <= _ALIKE:
                return float(point.tradeoff * 2.0**tried)
            bracket, before = (tried, float(step)), found
            tried, found = bracket[1], above(bracket[1])
            if found * before <= 0:
                break
        dear, cheap = sorted(bracket)
        for _ in range(_HALVINGS):
            if abs(found) <= _ALIKE:
                return float(point.tradeoff * 2.0**tried)
            tried = (dear + cheap) / 2
            found = above(tried)
            dear, cheap = (tried, cheap) if found > 0 else (dear, tried)
        return float(point.tradeoff * 2.0**cheap) if above(cheap) <= _ALIKE else np.nan


def ladder_around(point: PathPoint, tradeoff: float, others: Sequence[PathPoint]) -> list[Rung]:
    """Return rungs of ascending tradeoffs and falling cost: `point` at `tradeoff`, price-free `others` far from it.

    At the least tradeoff from which point a is better than b, the dearer one, their objectives are equal:
    (loss_a - loss_b) / (cost_b - cost_a).
    """
    single = point.key.stop >= 0
    rungs = [Rung(0.0, tradeoff if single else point.tradeoff, planned=single or point.key.induced)]
    here, most = point, tradeoff
    while dearer := [each for each in others if each.objective_cost > here.objective_cost]:  # at smaller tradeoffs
        before = max(dearer, key=lambda each: (_crossing(here, each), each.objective_cost))
        least = min(_crossing(here, before), most)
        if not least > 0:
            break
        most = float(np.nextafter(least, 0.0))
        rungs[0] = Rung(least, rungs[0].tradeoff, rungs[0].planned)
        rungs.insert(0, Rung(0.0, before.tradeoff))
        here = before
    here, least = point, tradeoff
    while cheaper := [each for each in others if each.objective_cost < here.objective_cost]:  # at larger ones
        after = min(cheaper, key=lambda each: (_crossing(each, here), each.objective_cost))
        least = max(_crossing(after, here), np.nextafter(least, np.inf))
        rungs.append(Rung(float(least), after.tradeoff))
        here = after
    return rungs


def _crossing(here: PathPoint, before: PathPoint) -> float:
    """Return the tradeoff from which `here`, the cheaper one, is at least as good as `before`."""
    return (here.loss - before.loss) / (before.objective_cost - here.objective_cost)
