"""Sums that depend neither on the order of rows nor on how they are dealt into parts: sums of whole numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from costframe import engine
from costframe.core.workers import ALONE, Workers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["exact_digits", "exact_mean", "exact_sum", "from_digits", "on_grid", "to_grid"]


def exact_digits(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the sum of doubles, (n,), digit by digit: int64 (DIGITS + 3,); digits of parts add up."""
    sums = np.zeros(engine.DIGITS + 3, np.int64)
    engine.add_exactly(np.ascontiguousarray(values, np.float64), sums)
    return sums


def from_digits(sums: NDArray[np.int64]) -> float:
    """Return a sum of `exact_digits` rounded once; infinite if no double is so large."""
    return float(engine.round_digits(sums))


def exact_sum(values: NDArray[np.float64], workers: Workers = ALONE) -> float:
    """Return the sum of doubles, (n,), of all workers, rounded once."""
    return from_digits(workers.sum(exact_digits(values)))


def exact_mean(
    values: NDArray[np.float64], weight: NDArray[np.float64] | None = None, workers: Workers = ALONE
) -> float:
    """Return the (weighted) mean of finite doubles, (n,); products with weights are rounded one by one."""
    if weight is None:
        return exact_sum(values, workers) / workers.count_all(len(values))
    return exact_sum(values * weight, workers) / exact_sum(weight, workers)


def to_grid(values: NDArray[np.float64], workers: Workers = ALONE) -> NDArray[np.float64]:
    """Round doubles >= 0, (n,), to a grid on which every sum of some of all workers' is exact in any order."""
    return on_grid(values, workers)[0]


def on_grid(values: NDArray[np.float64], workers: Workers = ALONE) -> tuple[NDArray[np.float64], float]:
    """Return values of `to_grid`, and the power of two whose multiples they are; 1 if all are zero or some infinite."""
    largest = workers.largest(values.max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return values, 1.0
    bits = min(53 - workers.count_all(len(values)).bit_length(), 52)
    unit = math.ldexp(1.0, max(math.frexp(largest)[1] - bits, -1022))
    return np.rint(values / unit) * unit, unit
