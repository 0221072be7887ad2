"""Points that are compared in pairs, by the influences of the rows that estimate them."""

from __future__ import annotations

import math
from functools import cached_property

from attrs import frozen

from costframe.choices.intervals import Difference
from costframe.core.arrays import F8
from costframe.core.checks import as_items
from costframe.core.errors import ParameterError, quote_names, shown, suggestion
from costframe.study.estimates import difference_error, dot, of_bill, paired_error
from costframe.study.points import Point, score_and_cost


@frozen(eq=False)
class PairedPoints:
    """Points with influences of rows on their scores and costs, one each, or none if they are unknown."""

    points: tuple[Point, ...]
    influences: tuple[F8 | None, ...]
    spent: tuple[F8 | None, ...]

    def __attrs_post_init__(self) -> None:
        points = as_items(self.points)
        if points is None or not all(isinstance(point, Point) for point in points):
            raise ParameterError(f"points: expected a list of Point, got {shown(self.points)}")
        if not points:
            raise ParameterError("points: expected at least one point, got none")
        for name, given in (("influences", self.influences), ("spent", self.spent)):
            check_one_a_point(name, given, len(self.points))

    def named(self, point: Point | str) -> Point:
        """Return the point with a name, or a point as it is."""
        if isinstance(point, Point):
            return point
        if isinstance(point, str) and point and point in self._places:
            return self.points[self._places[point]]
        names = [known.name for known in self.points]
        expected = f"point: expected the name of one, such as {quote_names(names)}"
        raise ParameterError(f"{expected}, got {shown(point)}{suggestion(point, names)}")

    @cached_property
    def _places(self) -> dict[Point | str, int]:
        """The place of each point among all, and of each name; of equal ones, the first."""
        places = list(enumerate(self.points))[::-1]
        return {key: place for place, point in places for key in (point, point.name)}

    def place(self, point: Point | str) -> int:
        """Return the place of a point among all, or refuse one of another frontier."""
        place = self._places.get(self.named(point))
        if place is None:
            raise ParameterError("point: expected one of this frontier's, fitted by it")
        return place

    def influence(self, point: Point) -> F8 | None:
        """Return the influence of each row on the score of a point, float64 (rows,), or None if it is unknown."""
        return self.influences[self.place(point)] if self.influences else None

    def bill_influence(self, point: Point) -> F8 | None:
        """Return the influence of each row on minus the bill of a point, float64 (rows,), or None if it is unknown."""
        place = self.place(point)
        return of_bill(self.influences[place], self.spent[place]) if self.influences and self.spent else None

    def bill_error(self, point: Point) -> float:
        """Return the standard error of a point's bill; without influences, cost and errors are independent."""
        place, variance = self.place(point), point.cost_error**2 + point.score_error**2
        moved, spent = (known[place] if known else None for known in (self.influences, self.spent))
        if moved is not None and spent is not None:
            variance -= 2 * dot(moved[len(moved) - len(spent) :], spent)
        return math.sqrt(max(variance, 0.0))

    def difference_error(self, point: Point, other: Point) -> float:
        """Return the standard error of the difference of two scores; without influences, the better one's error."""
        first, second = self.influence(point), self.influence(other)
        if first is None or second is None:
            return max(point, other, key=score_and_cost).score_error
        return difference_error(first, second)

    def difference(self, point: Point, other: Point) -> Difference:
        """Return the difference of two scores, with what their errors have beyond the rows of both."""
        if point == other:
            return Difference(0.0, 0.0)
        first, second = self.influence(point), self.influence(other)
        if first is None or second is None:
            error = self.difference_error(point, other)
        else:
            errors = (point.score_error, other.score_error)
            error = paired_error((first, second), errors, shared_errors(point, other))
        return Difference(point.score - other.score, error)

    def bill_difference(self, point: Point, other: Point) -> Difference:
        """Return how much lower the bill of one point is than that of another, as `difference` does."""
        lower = self.difference(point, other)
        if point == other:
            return lower
        first, second = self.bill_influence(point), self.bill_influence(other)
        if first is None or second is None:
            error = math.hypot(lower.error, point.cost_error, other.cost_error)
        else:
            errors = (self.bill_error(point), self.bill_error(other))
            error = paired_error((first, second), errors, shared_errors(point, other))
        return Difference(lower.value + other.cost - point.cost, error)

    def constant(self) -> Point | None:
        """Return the best point that reads no feature, if there is one."""
        return max((point for point in self.points if not point.n_features), key=score_and_cost, default=None)

    @cached_property
    def above_constant(self) -> frozenset[Point]:
        """The points that beat the constant by more than one standard error; all points without a constant."""
        constant = self.constant()
        if constant is None:
            return frozenset(self.points)
        return frozenset(p for p in self.points if (more := self.difference(p, constant)).value > more.error)


def check_one_a_point(name: str, given: object, count: int) -> None:
    """Refuse what is no tuple with one value for each of `count` points, or with none."""
    if not isinstance(given, tuple | list):
        raise ParameterError(f"{name}: expected a tuple, one a point, got {shown(given)}")
    if given and len(given) != count:
        raise ParameterError(f"{name}: expected {count}, one a point, got {len(given)}")


def shared_errors(point: Point, other: Point) -> tuple[float, float]:
    """Return the parts of two errors of scores that are of one cause: the optimism of the search that made both."""
    return (point.shared_error, other.shared_error) if point.algorithm == other.algorithm else (0.0, 0.0)
