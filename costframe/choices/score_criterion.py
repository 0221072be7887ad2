"""The choice by scores: the cheapest point whose score is as good as the best one."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from costframe.choices.criterion import Criterion
from costframe.choices.intervals import Difference, score_interval
from costframe.choices.paired_points import PairedPoints
from costframe.core.errors import ParameterError
from costframe.study.points import Point, score_and_cost
from costframe.study.settings import check_share, is_real_number
from costframe.training.error_costs import ERROR_COST

_WITHIN = 0.01  # of the best score, by default


@frozen(eq=False)
class ScoreCriterion(Criterion):
    """Choice by scores, whose best value is known."""

    paired: PairedPoints
    best_value: float

    def worth(self, point: Point) -> float:
        """Return the score."""
        return point.score

    def gain(self, point: Point, other: Point) -> Difference:
        """Return the difference of the scores."""
        return self.paired.difference(point, other)

    def score_interval(self, point: Point) -> tuple[float, float]:
        """Return an interval that ends before the best value."""
        return score_interval(point, self.best_value)

    def errors(self, _point: Point) -> float:
        """Refuse: errors have no prices."""
        raise ParameterError(f"bill: needs prices with errors, and {ERROR_COST!r} as the score")

    def bill_interval(self, point: Point) -> tuple[float, float]:
        """Refuse: errors have no prices."""
        return self.errors(point), 0.0

    def recommend(self, points: Sequence[Point]) -> Point:
        """Return the cheapest point as good as the best one; a constant only if no point beats it.

        Scores count by the lower ends of their intervals, so that a less certain one counts less. A point is as good if
        it is within one standard error of the paired difference, or if the difference is surely below `NEGLIGIBLE`.
        """
        constants = [point for point in points if not point.n_features]
        if constants:
            if self.paired.above_constant.isdisjoint(points):
                return max(constants, key=score_and_cost)
            points = [point for point in points if point.n_features]
        best = max(points, key=self.rank)
        cheapest_first = sorted([best, *points], key=lambda point: (point.cost, -point.score))
        return next(point for point in cheapest_first if point == best or self.is_near(point, best))

    def cheapest(self, within: float | None) -> Point:
        """Return the cheapest point whose score is within a share of the best score."""
        within = _WITHIN if within is None else within
        if not (is_real_number(within) and within == 0):
            check_share("within", within)
        best = max(self.paired.points, key=self.rank).score
        good = [point for point in self.paired.points if point.score >= best - within * abs(best)]
        return min(good, key=lambda point: (point.cost, -point.score))
