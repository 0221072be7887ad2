"""Hidden suspicion: how far a mean over completed rows is off if more than columns and label decided who was tested.

The marginal sensitivity model (Tan 2006) bounds how far the odds of a test depend on its result. With A the columns
that a row has, y its label, B the test and R whether it was made, for a strength of Gamma >= 1

    1 / Gamma  <=  [P(R = 0 | A, y, B) / P(R = 1 | A, y, B)] / [P(R = 0 | A, y) / P(R = 1 | A, y)]  <=  Gamma.

By Bayes' rule the ratio in the middle is the density of B among rows without the test, over that among rows with it:
the weight of a donor. So in each row without the test, weights of its M donors are between 1 / Gamma and Gamma, and
their mean is 1. Of a value v that depends on the donor, the least mean has Gamma on the smallest values and 1 / Gamma
on all others; where the mean weight is 1, the former are a share of 1 / (Gamma + 1) (Dorn and Guo 2023):

    least mean of v  =  1/M (Gamma * (sum of the M / (Gamma + 1) smallest)  +  1/Gamma * (sum of all others)).

At Gamma = 1 it is the mean. Rows whose tests were made have the same value in all copies, which no weight moves.

Tan (2006), A distributional approach for causal inference using propensity scores, JASA 101. Dorn and Guo (2023), Sharp
sensitivity analysis for inverse propensity weighting via quantile balancing, JASA 118.
"""

from __future__ import annotations

import math

import numpy as np
from attrs import field, frozen

from costframe.core.arrays import F8
from costframe.core.checks import check_number

MOST_ODDS = 10.0  # beyond which a search ends
_HALVINGS = 40


def _ascend(values: F8) -> F8:
    return np.sort(np.asarray(values, np.float64), axis=1)


@frozen(eq=False)
class HiddenSuspicion:
    """Values of n rows in M completed copies, float64 (n, M), whose sum over rows is a mean, a score, or a difference.

    Copies have donors of the reading "label".
    """

    values: F8 = field(repr=False, converter=_ascend)

    @property
    def expected(self) -> float:
        """The sum without hidden suspicion."""
        return float(self.values.mean(axis=1).sum())

    def lowest(self, odds: float) -> float:
        """Return the least sum that a hidden suspicion of this strength, >= 1, leaves possible."""
        return _lowest(self.values, odds)

    def interval(self, odds: float) -> tuple[float, float]:
        """Return the least and the greatest sum that a hidden suspicion of this strength leaves possible."""
        return _lowest(self.values, odds), -_lowest(-self.values[:, ::-1], odds)

    def odds_until(self, threshold: float = 0.0) -> float:
        """Return the strength from which on the sum may be as low as a threshold; infinity if it is above `MOST_ODDS`.

        The least sum falls with the strength, so that halving an interval of its logarithm finds it.
        """
        if self.expected <= threshold:
            return 1.0
        if self.lowest(MOST_ODDS) > threshold:
            return math.inf
        low, high = 0.0, math.log(MOST_ODDS)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.lowest(math.exp(middle)) <= threshold else (middle, high)
        return math.exp(high)


def _lowest(ascending: F8, odds: float) -> float:
    """Return the least sum over rows of weighted means of values, (n, M), that ascend in each row."""
    odds = float(check_number("odds", odds, low=1.0))
    copies = ascending.shape[1]
    whole, part = divmod(copies / (odds + 1), 1)
    first = int(whole)
    smallest = ascending[:, :first].sum() + part * ascending[:, min(first, copies - 1)].sum()
    return float((odds * smallest + (ascending.sum() - smallest) / odds) / copies)
