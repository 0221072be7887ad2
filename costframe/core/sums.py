"""Sums that depend neither on the order of rows nor, if exact, on how these are dealt into parts.

Exact sums are of whole numbers. Accurate ones have twice the digits of a double: rounded to doubles, they hardly ever
depend on the order, so iterations that enlarge small differences have the same result in any.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.workers import ALONE, Workers

_BITS = 20


def exact_digits(values: F8) -> I8:
    """Return the sum of doubles, (n,), digit by digit: int64 (DIGITS + 3,); digits of parts add up."""
    sums = np.zeros(engine.DIGITS + 3, np.int64)
    engine.add_exactly(np.ascontiguousarray(values, np.float64), sums)
    return sums


def from_digits(sums: I8) -> float:
    """Return a sum of `exact_digits` rounded once; infinite if no double is so large."""
    return float(engine.round_digits(sums))


def as_fraction(sums: I8) -> Fraction:
    """Return a sum of `exact_digits` of finite doubles as it is."""
    return Fraction(sum(int(digit) << (32 * place) for place, digit in enumerate(sums[: engine.DIGITS])), 1 << 1074)


def exact_squares(values: F8) -> tuple[F8, ...]:
    """Return three doubles for each one, (n,), at most 1e290, whose sum is its square, from halves of its digits."""
    high = values * (2.0**27 + 1.0)
    high = high - (high - values)
    low = values - high
    return high * high, 2.0 * high * low, low * low


def exact_sum(values: F8, workers: Workers = ALONE) -> float:
    """Return the sum of doubles, (n,), of all workers, rounded once."""
    if workers.count == 1:
        return float(engine.sum_exactly(np.ascontiguousarray(values, np.float64)))
    return from_digits(workers.sum(exact_digits(values)))


def exact_mean(values: F8, weight: F8 | None = None, workers: Workers = ALONE) -> float:
    """Return the (weighted) mean of finite doubles, (n,); products with weights are rounded one by one."""
    if weight is None:
        return exact_sum(values, workers) / workers.count_all(len(values))
    return exact_sum(values * weight, workers) / exact_sum(weight, workers)


def to_grid(values: F8, workers: Workers = ALONE) -> F8:
    """Round doubles >= 0, (n,), to a grid on which every sum of some of all workers' is exact in any order."""
    return on_grid(values, workers)[0]


def on_grid(values: F8, workers: Workers = ALONE) -> tuple[F8, float]:
    """Return values of `to_grid`, and the power of two whose multiples they are; 1 if all are zero or some infinite."""
    largest = workers.largest(values.max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return values, 1.0
    bits = min(53 - workers.count_all(len(values)).bit_length(), 52)
    unit = math.ldexp(1.0, max(math.frexp(largest)[1] - bits, -1022))
    return np.rint(values / unit) * unit, unit


class AccurateSums:
    """Sums over rows of products of C and M numbers, to which blocks of rows are added."""

    def __init__(self, n_left: int, n_right: int) -> None:
        self._high, self._low = np.zeros((n_right, n_left)), np.zeros((n_right, n_left))

    def add(self, left: F8, right: F8) -> None:
        """Add the products of numbers (n, C) and (n, M) of the same rows."""
        engine.add_products(np.ascontiguousarray(left), np.ascontiguousarray(right), self._high, self._low)

    def total(self) -> F8:
        """Return the sums: float64 (C, M)."""
        return np.ascontiguousarray((self._high + self._low).T)


def sum_products(left: F8, right: F8) -> F8:
    """Return left' right: float64 (C, M) for (n, C) and (n, M)."""
    sums = AccurateSums(left.shape[1], right.shape[1])
    sums.add(left, right)
    return sums.total()


def sum_over_rows(values: F8, weight: F8 | None = None) -> F8:
    """Return the sums of columns, (n, C), times weights (n,) if given: float64 (C,)."""
    factor = np.ones(len(values)) if weight is None else weight
    return sum_products(values, factor[:, np.newaxis])[:, 0]


def product(left: F8, weights: F8) -> F8:
    """Return left @ weights, (n, M) for (n, C) and (C, M); a row's numbers depend on no other row."""
    products = np.empty((len(left), weights.shape[1]))
    engine.score_rows(np.ascontiguousarray(left), np.ascontiguousarray(weights.T), products)
    return products


def coarse(values: F8) -> F8:
    """Round to a few digits: numbers that differ by the order of a sum become equal, hardly ever with an exception."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, _BITS)), exponent - _BITS))
