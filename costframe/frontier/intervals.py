"""Intervals that hold nine times of ten: of a score, and of the difference of two scores on the same rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from attrs import frozen

from costframe.frontier.estimates import product

if TYPE_CHECKING:
    from costframe.frontier.frontier import Frontier
    from costframe.frontier.points import Point

__all__ = ["NINE_OF_TEN", "Difference", "compare_points", "score_interval"]

NINE_OF_TEN = 1.645  # standard errors on both sides


@frozen
class Difference:
    """The difference of two scores, estimated on common rows.

    Attributes
    ----------
    value : float
        Above zero if the first score is better.
    error : float
        Standard error; 0 between points of the same model.
    low, high : float
        Nine times of ten the difference is between them.
    """

    value: float
    error: float

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.value - NINE_OF_TEN * self.error

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.value + NINE_OF_TEN * self.error


def score_interval(point: Point, best: float) -> tuple[float, float]:
    """Return an interval that has a point's score on many fresh rows nine times of ten; `best` is the best value.

    The square root of the score's distance to the best value is taken as normal, as for counts of rare mistakes. So the
    interval ends at that value, and reaches further down than up. At the upper end, the distance shrinks by the share
    of rows that the models of the estimate lacked.
    """
    margin = NINE_OF_TEN * point.score_error
    if math.isinf(best) or not margin:
        return point.score - margin, point.score + margin
    away = max(best - point.score, margin / 2)  # nearer, a better score would have a lower lower end
    left = max(best - point.score, 0.0) * (1 - point.rows_lacked)
    return best - _shift(away, margin), best - _shift(left, -margin) if 2 * left > margin else best


def _shift(distance: float, margin: float) -> float:
    """Return the square of the square root of a distance plus its margin, given the distance's own."""
    return distance + margin + margin**2 / (4 * distance)


def compare_points(frontier: Frontier, one: Point, other: Point) -> Difference:
    """Return the difference of the scores of two points.

    Its variance is that of the difference of the influences of rows, plus what the errors of both points have beyond
    their rows, as the variance of models between folds. Without influences, its error is that of the better point.
    """
    if one == other:
        return Difference(0.0, 0.0)
    rows, first, second = frontier.difference_error(one, other), frontier.influence(one), frontier.influence(other)
    beyond = 0.0
    if first is not None and second is not None:
        pairs = ((one, first), (other, second))
        beyond = sum(max(point.score_error**2 - product(moved, moved), 0.0) for point, moved in pairs)
    return Difference(one.score - other.score, math.sqrt(rows**2 + beyond))
