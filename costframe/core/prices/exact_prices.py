"""Exact sums of prices and caps, which are the decimal numbers that people write for them.

So features of 0.1 and 0.2 fit into a cap of 0.3, and nothing is lost beside a price of a billion. A sum that no double
holds is rounded up, once: a cost that is within a cap was paid within the cap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import count

import numpy as np
from attrs import frozen

from costframe.core.arrays import F8

__all__ = ["ExactPrices", "as_multiples", "exact", "left_of", "rounded_up"]

WHOLE = 2**53  # up to here doubles hold all whole numbers
_FEW_DIGITS = 10**15  # up to here each quotient by a power of ten is the double that people write for it
_TEN = 10**22  # the largest power of ten that is a double
_MOST = 2**38  # multiples of a unit in one number: thousands of them add up exactly


@lru_cache(1 << 10)
def exact(number: float) -> Fraction:
    """Return the decimal number that people write for a double."""
    return Fraction(repr(float(number)))


def rounded_up(above: int, below: int) -> float:
    """Return the least double that is written as a number not below a quotient; infinity if there is none."""
    try:
        quotient = above / below
    except OverflowError:
        return math.inf
    return quotient if exact(quotient) >= Fraction(above, below) else math.nextafter(quotient, math.inf)


def left_of(cap: float, spent: float) -> float:
    """Return what a cap leaves to a row that has spent some of it."""
    left = max(Fraction(0), exact(cap) - exact(spent))
    nearest = float(left)
    return nearest if exact(nearest) <= left else math.nextafter(nearest, 0.0)


def as_multiples(numbers: F8) -> tuple[Fraction, F8]:
    """Write numbers >= 0 as multiples of a unit: their greatest common divisor, or else the largest / 2^38."""
    distinct, place = np.unique(numbers, return_inverse=True)
    values = [exact(number) for number in distinct.tolist()]
    bottom = math.lcm(*(value.denominator for value in values))
    unit = Fraction(math.gcd(*(int(value * bottom) for value in values)), bottom) or Fraction(1)
    unit = max(unit, max(values, default=unit) / _MOST)
    return unit, np.array([round(value / unit) for value in values], np.float64)[place]


@frozen(eq=False)
class ExactPrices:
    """Prices as whole numbers of 1 / `per_unit`, a power of ten, of the money."""

    per_unit: int
    cost: list[int]  # (d,)
    resource_cost: list[int]  # (R,)
    learner: int  # of a unit of e_t
    split: int  # of a unit of comparisons; see `PriceArrays.comparisons`
    reuse: int  # of a further use
    resource_round: list[int]  # (R,): of a further round

    @classmethod
    def of(
        cls, cost: F8, resource_cost: F8, learner: Fraction, split: Fraction,
        reuse: float, resource_round: F8,
    ) -> ExactPrices:  # fmt: skip
        """Find the unit of prices."""
        costs, resources, rounds = (
            [exact(price) for price in prices.tolist()] for prices in (cost, resource_cost, resource_round)
        )
        others = [learner, split, exact(reuse)]
        bottom = math.lcm(*(price.denominator for price in (*costs, *resources, *others, *rounds)))
        per_unit = next(ten for ten in (10**digits for digits in count()) if ten % bottom == 0)
        whole = [[int(price * per_unit) for price in prices] for prices in (costs, resources, others, rounds)]
        evaluating = dict(zip(("learner", "split", "reuse"), whole[2], strict=True))
        return cls(per_unit, whole[0], whole[1], **evaluating, resource_round=whole[3])

    def money(self, units: int) -> float:
        """Return a sum in money, rounded up."""
        return units / self.per_unit if self._is_double(units) else rounded_up(units, self.per_unit)

    def are_doubles(self) -> bool:
        """Return whether each sum of prices of features and resources is the number that people write for a double."""
        return self._is_double(sum(self.cost) + sum(self.resource_cost))

    def _is_double(self, units: int) -> bool:
        return units <= _FEW_DIGITS and self.per_unit <= _TEN

    def evaluated(self, weight: float, comparisons: float, again: float) -> int:
        """Return the price of learners, of comparisons and of further uses, all counted in their units."""
        return self.learner * int(weight) + self.split * int(comparisons) + self.reuse * int(again)

    def limit(self, cap: float) -> int | float:
        """Return the largest sum within a cap; infinity without a cap."""
        return math.inf if math.isinf(cap) else math.floor(exact(cap) * self.per_unit)

    @cached_property
    def parts(self) -> list[tuple[int, F8, F8]]:
        """Prices of features and resources digit by digit, so that sums of the digits of any set are exact doubles.

        Each entry has the value of the digit, and the digits of features, (d,), and of resources, (R,).
        """
        base = WHOLE >> (len(self.cost) + len(self.resource_cost)).bit_length()
        factor, costs, resources = 1, self.cost, self.resource_cost
        digits_by_factor: list[tuple[int, F8, F8]] = []
        while not digits_by_factor or any(costs) or any(resources):
            digits = [np.array([price % base for price in prices], np.float64) for prices in (costs, resources)]
            digits_by_factor.append((factor, digits[0], digits[1]))
            costs, resources = ([price // base for price in prices] for prices in (costs, resources))
            factor *= base
        return digits_by_factor

    def per_row(self, digits: Sequence[F8], *counts: tuple[int, F8 | None]) -> F8:
        """Add up what rows bought, by the digits of `parts`, and prices times whole counts; round up: (rows,)."""
        counted = [(price, number) for price, number in counts if price and number is not None]
        if len(digits) == 1 and self.per_unit <= _TEN:
            units = digits[0]
            for price, number in counted:
                units = units + min(price, WHOLE) * number
            if units.max(initial=0.0) <= _FEW_DIGITS and all(price < WHOLE for price, _ in counted):
                return units / float(self.per_unit)
        values = [(factor, column) for (factor, _, _), column in zip(self.parts, digits, strict=True)] + counted
        columns = [(factor, column.astype(np.int64).tolist()) for factor, column in values]
        totals = [
            sum([factor * row for (factor, _), row in zip(columns, cells, strict=True)])
            for cells in zip(*(column for _, column in columns), strict=True)
        ]
        money = {units: self.money(units) for units in set(totals)}
        return np.array([money[units] for units in totals], np.float64)
