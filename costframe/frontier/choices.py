"""Points with their scores and costs, and choices among them: within budgets, and as good as the best."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import frozen

from costframe.core.errors import ParameterError, printable, quote_names, shown, suggestion
from costframe.frontier.checks import check_budget, check_share
from costframe.frontier.estimates import NINE_OF_TEN, Difference, difference_error, product, score_interval
from costframe.frontier.points import FIRST_LOOK, Point, at_tradeoff, best_first
from costframe.training.model_path import keep_non_dominated
from costframe.training.scoring import best_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray


__all__ = ["NEGLIGIBLE", "Choices", "distinct", "plain_point"]

NEGLIGIBLE = 0.005  # loss of score, as a share of the best score


@frozen(eq=False, repr=False)
class Choices:
    """Points with their scores and costs, their models, and choices among them; see `Frontier`, which also fits."""

    points: tuple[Point, ...]
    score_name: str
    unit: str
    full_cost: float
    models: tuple[Any, ...] = ()
    influences: tuple[NDArray[np.float64] | None, ...] = ()

    def __attrs_post_init__(self) -> None:
        if not self.points:
            raise ParameterError("points: expected at least one point, got none")
        for name, given in (("models", self.models), ("influences", self.influences)):
            if given and len(given) != len(self.points):
                raise ParameterError(f"{name}: expected {len(self.points)}, one a point, got {len(given)}")

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __getitem__(self, point: Point | str) -> Point:
        """Return the point with a name; every method that takes a point takes its name too."""
        if isinstance(point, Point):
            return point
        if isinstance(point, str) and point and point in self._places:
            return self.points[self._places[point]]
        names = [each.name for each in self.points]
        expected = f"point: expected the name of one, such as {quote_names(names)}"
        raise ParameterError(f"{expected}, got {shown(point)}{suggestion(point, names)}")

    @cached_property
    def _places(self) -> dict[Point | str, int]:
        """The place of each point among all, and of each name; of equal ones, the first."""
        places = list(enumerate(self.points))[::-1]
        return {each: place for place, point in places for each in (point, point.name)}

    def _place(self, point: Point | str) -> int:
        """Return the place of a point among all, or refuse one of another frontier."""
        place = self._places.get(self[point])
        if place is None:
            raise ParameterError("point: expected one of this frontier's, fitted by it")
        return place

    @cached_property
    def above_constant(self) -> frozenset[Point]:
        """The points that beat the constant by more than one standard error; all points without a constant."""
        constant = max((point for point in self.points if not point.n_features), key=best_first, default=None)
        if constant is None:
            return frozenset(self.points)
        return frozenset(p for p in self.points if p.score - constant.score > self.difference_error(p, constant))

    def non_dominated(self) -> tuple[Point, ...]:
        """Return the points without another of higher rank at no higher cost, by ascending cost."""
        return tuple(keep_non_dominated(self.points, lambda point: (point.cost, self.rank(point)[0])))

    def rank(self, point: Point | str) -> tuple[float, float]:
        """Return the sort key of a point: the lower end of its score's interval, then its cost, the lowest last."""
        return self.score_interval(point)[0], -self[point].cost

    def best(self, budget: float | None = None) -> Point:
        """Return the point whose score is best by the lower end of its interval.

        Parameters
        ----------
        budget : float, optional
            Upper bound on the mean cost per row.

        Raises
        ------
        ParameterError
            If no point is within the budget; the text names the cheapest.
        """
        return max(self._affordable(budget), key=self.rank)

    def recommended(self, budget: float | None = None) -> Point:
        """Return the cheapest point as good as the best, of those within a budget; see `best`.

        It is within one standard error of the best, by the lower ends of intervals, or surely within 0.5 % of it.
        It is a constant only if no affordable point beats that by more than the error.
        """
        return self._cheapest_near_best(self._affordable(budget))

    def cheapest(self, within: float = 0.01) -> Point:
        """Return the cheapest point whose score is within a share, at least 0 and below 1, of the best score.

        Scores are estimates: the test score of the point may be further from that of the best; see `interval`.
        """
        if within != 0:
            check_share("within", within)
        best = self.best().score
        good = [point for point in self.points if point.score >= best - within * abs(best)]
        return min(good, key=lambda point: (point.cost, -point.score))

    def useful(self) -> Point | None:
        """Return the cheapest point that beats the constant by more than one standard error, if there is one."""
        useful = (point for point in self.points if point in self.above_constant)
        return min(useful, key=lambda point: (point.cost, -point.score), default=None)

    def difference_error(self, one: Point | str, other: Point | str) -> float:
        """Return the standard error of the difference of two scores; without influences, the better one's error."""
        first, second = self.influence(one), self.influence(other)
        if first is None or second is None:
            return max(self[one], self[other], key=best_first).score_error
        return difference_error(first, second)

    def difference(self, one: Point | str, other: Point | str) -> Difference:
        """Return the difference of the scores of two points, with its standard error and interval.

        Its variance is that of the difference of the influences of rows, plus what the errors of both points have
        beyond their rows, as the variance of models between folds. Without influences, its error is that of the better
        point.
        """
        one, other = self[one], self[other]
        if one == other:
            return Difference(0.0, 0.0)
        rows, beyond = self.difference_error(one, other), 0.0
        first, second = self.influence(one), self.influence(other)
        if first is not None and second is not None:
            pairs = ((one, first), (other, second))
            beyond = sum(max(point.score_error**2 - product(moved, moved), 0.0) for point, moved in pairs)
        return Difference(one.score - other.score, math.sqrt(rows**2 + beyond))

    def influence(self, point: Point | str) -> NDArray[np.float64] | None:
        """Return the influence of each row on the score of a point, float64 (rows,), or None if it is unknown."""
        return self.influences[self._place(point)] if self.influences else None

    def score_interval(self, point: Point | str) -> tuple[float, float]:
        """Return an interval that has the score on many fresh rows nine times of ten; it ends before the best value."""
        return score_interval(self[point], best_value(self.score_name))

    def interval(self, point: Point | str) -> tuple[float, float]:
        """Return an interval that has the score on test in nine of ten cases; without test rows, on many rows.

        It is score +- 1.645 * sqrt(score_error^2 + test_error^2). If the score is from models of fewer rows, the
        distance to the best value (1, or 0 of negative errors) may shrink by the share of the missing rows, so the
        upper end rises by rows_lacked * (best - score). The upper end is at most the best value.
        """
        point = self[point]
        margin, best = NINE_OF_TEN * math.hypot(point.score_error, point.test_error or 0.0), best_value(self.score_name)
        learned = point.rows_lacked * max(best - point.score, 0.0) if math.isfinite(best) else 0.0
        return point.score - margin, min(point.score + learned + margin, best)

    def is_within_error(self, point: Point, best: Point) -> bool:
        """Return whether a point is within one standard error of the best, by the lower ends of intervals."""
        return self.rank(best)[0] - self.rank(point)[0] <= self.difference_error(best, point)

    def is_near(self, point: Point, best: Point) -> bool:
        """Return whether a point is within one standard error of the best, or surely within a negligible loss."""
        surely = self.is_within_error(point, best)
        return surely or self.difference(point, best).low >= -NEGLIGIBLE * abs(best.score)

    def _affordable(self, budget: float | None) -> Sequence[Point]:
        """Return the points within a budget; refuse one that no point keeps."""
        check_budget(budget)
        if budget is None:
            return self.points
        if kept := [point for point in self.points if point.cost <= budget]:
            return kept
        least = min(self.points, key=lambda point: point.cost)
        raise ParameterError(
            f"budget: no model costs at most {budget:g} {printable(self.unit)} per row; the cheapest found costs "
            f"{least.cost:g} ({at_tradeoff(least)})"
        )

    def _cheapest_near_best(self, points: Sequence[Point]) -> Point:
        """Return the cheapest point as good as the best one; a constant only if no point beats it.

        Scores count by the lower ends of their intervals, so that a less certain one counts less. A point is as good if
        it is within one standard error of the paired difference, or if the difference is surely below `NEGLIGIBLE`.
        """
        constants = [point for point in points if not point.n_features]
        if constants:
            if self.above_constant.isdisjoint(points):
                return max(constants, key=best_first)
            points = [point for point in points if point.n_features]
        best = max(points, key=self.rank)
        cheapest_first = sorted([best, *points], key=lambda point: (point.cost, -point.score))
        return next(point for point in cheapest_first if point == best or self.is_near(point, best))


def distinct(frontier: Choices) -> tuple[Point, ...]:
    """Return the points without those of a model that another point has, and with one of the constants.

    Two points have the same model if their costs, numbers of features, and scores or influences are equal to the last
    bit.
    """
    kept: dict[Any, int] = {}
    for place, point in enumerate(frontier.points):
        moved = frontier.influences[place] if frontier.influences else None
        known: Any = (point.score, point.score_error) if moved is None else moved.tobytes()
        alike = (
            (point.cost, point.test_cost, point.test_score, point.n_features, known) if point.n_features else point.cost
        )
        if alike not in kept or point.score > frontier.points[kept[alike]].score:
            kept[alike] = place
    return tuple(frontier.points[place] for place in sorted(kept.values()))


def plain_point(frontier: Choices, algorithm: str) -> Point | None:
    """Return the point of an algorithm that was trained without prices; on a path, only its first one.

    First looks, with few rows, are none: what they lack is not the prices alone.
    """
    first_look = f"{algorithm}-{FIRST_LOOK}-"
    own = (p for p in frontier.points if p.algorithm == algorithm and not p.name.startswith(first_look))
    return next((point for point in own if point.tradeoff == 0), None)
