"""Intervals that hold nine times of ten: of scores, whose best value is an end, of counted errors, of differences."""

from __future__ import annotations

import math

from attrs import frozen
from scipy.special import gammaincinv

from costframe.study.estimates import NINE_OF_TEN
from costframe.study.points import Point

_SIDE = 0.05  # chance beyond each end


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
    away = max(best - point.score, margin / 2)  # else a better score could have an interval that begins lower
    left = max(best - point.score, 0.0) * (1 - point.rows_lacked)
    return best - _shift(away, margin), best - _shift(left, -margin) if 2 * left > margin else best


def interval_on_test(point: Point, best: float) -> tuple[float, float]:
    """Return an interval that has a point's score on its test rows nine times of ten; see `Frontier.interval`."""
    margin = NINE_OF_TEN * math.hypot(point.score_error, point.test_error or 0.0)
    learned = point.rows_lacked * max(best - point.score, 0.0) if math.isfinite(best) else 0.0
    return point.score - margin, min(point.score + learned + margin, best)


def _shift(distance: float, margin: float) -> float:
    """Return the square of the square root of a distance plus its margin, given the distance's own."""
    return distance + margin + margin**2 / (4 * distance)


def interval_of_counts(mean: float, error: float, step: float) -> tuple[float, float]:
    """Return an interval that has the mean cost of errors nine times of ten, given its standard error.

    The mean is a sum of counts of wrong answers, each times what one adds to it, at most `step`. So the ends are those
    of gamma laws (Fay and Feuer, 1997): the lower one of the law with this mean and error, the upper one of the law
    after one more of the dearest. It is wider above than below, the more so the fewer were counted; without a step, and
    with an error far below the mean, it is that of the normal law.
    """
    mean, variance = max(mean, 0.0), error**2
    low = _quantile(mean, variance, _SIDE)
    return low, _quantile(mean + step, variance + step**2, 1 - _SIDE)


def _quantile(mean: float, variance: float, share: float) -> float:
    """Return a quantile of the gamma law with a mean and a variance."""
    if not (mean > 0 and variance > 0):
        return mean
    shape = mean**2 / variance
    quantile = float(gammaincinv(shape, share)) * variance / mean
    return quantile if math.isfinite(quantile) else mean
