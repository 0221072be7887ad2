"""Sums that depend neither on the order of rows nor on how they are dealt into parts: sums of whole numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.workers import ALONE, Workers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["exact_mean", "exact_sum", "exact_units", "to_grid"]

_UNIT = 1126  # every double is a whole number of 2^-1126, also the smallest
_LIMB = 26  # bits; sums of 2^27 limbs are exact doubles
_PART = 2**24  # values at a time


def exact_units(values: NDArray[np.float64]) -> int:
    """Return the exact sum of finite doubles, (n,), in units of 2^-1126; sums of parts add up."""
    total = 0
    for begin in range(0, len(values), _PART):
        mantissa, exponent = np.frexp(values[begin : begin + _PART])
        whole, shift = np.ldexp(mantissa, 53).astype(np.int64), exponent - 53 + _UNIT
        lowest = int(shift.min(initial=0))
        for bits, limb in ((0, whole & (2**_LIMB - 1)), (_LIMB, whole >> _LIMB)):
            sums = np.bincount(shift - lowest, limb)
            total += sum(int(sums[at]) << (bits + lowest + at) for at in np.flatnonzero(sums).tolist())
    return total


def exact_sum(values: NDArray[np.float64], workers: Workers = ALONE) -> float:
    """Return the sum of finite doubles, (n,), of all workers, rounded once; infinite if no double is so large."""
    units = sum(workers.gather(exact_units(values)))
    try:
        return units / (1 << _UNIT)
    except OverflowError:
        return math.inf if units > 0 else -math.inf


def exact_mean(
    values: NDArray[np.float64], weight: NDArray[np.float64] | None = None, workers: Workers = ALONE
) -> float:
    """Return the (weighted) mean of finite doubles, (n,); products with weights are rounded one by one."""
    if weight is None:
        return exact_sum(values, workers) / int(workers.sum(np.array([len(values)]))[0])
    return exact_sum(values * weight, workers) / exact_sum(weight, workers)


def to_grid(values: NDArray[np.float64], workers: Workers = ALONE) -> NDArray[np.float64]:
    """Round doubles >= 0, (n,), to a grid on which every sum of some of all workers' is exact in any order."""
    largest = float(workers.max(np.array([values.max(initial=0.0)]))[0])
    if not 0.0 < largest < math.inf:
        return values
    bits = min(53 - int(workers.sum(np.array([len(values)]))[0]).bit_length(), 52)
    unit = math.ldexp(1.0, max(math.frexp(largest)[1] - bits, -1022))
    return np.rint(values / unit) * unit
