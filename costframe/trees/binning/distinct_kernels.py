"""Distinct values of columns that have few: by hashing, and no further once a column has too many."""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["collect_distinct"]

_STRIP = 256  # rows at a time, so that a row-major table is read from the cache
_SLOTS = 1024  # a power of two, four times as many as a column can hold
_EMPTY = 255


@kernel
def _slot(bits: int) -> int:
    """Fold the bits of a double, so that whole and other simple numbers spread."""
    bits ^= bits >> 32
    bits ^= bits >> 20
    return (bits ^ (bits >> 10)) & (_SLOTS - 1)


@kernel
def collect_distinct(
    X: NDArray[np.float64],
    bits: NDArray[np.int64],
    values: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> None:
    """Collect the distinct values of each column, in order of appearance; NaN is none.

    Parameters
    ----------
    X : float64 (n, d)
    bits : int64 (n, d)
        The same memory.
    values : float64 (d, limit)
        Written; at most 255 values a column.
    counts : int64 (d,)
        Written: how many there are, or `limit + 1` if more. A column that has more already is skipped.
    """
    limit = values.shape[1]
    slots = np.full((X.shape[1], _SLOTS), _EMPTY, np.uint8)
    last = np.full(X.shape[1], np.nan)  # equal values often follow each other
    for begin in range(0, X.shape[0], _STRIP):
        for column in range(X.shape[1]):
            if counts[column] > limit:
                continue
            for row in range(begin, min(begin + _STRIP, X.shape[0])):
                x = X[row, column]
                if x == last[column] or np.isnan(x):
                    continue
                last[column] = x
                slot = _slot(bits[row, column] if x != 0 else 0)  # zero has two signs
                while slots[column, slot] != _EMPTY and values[column, slots[column, slot]] != x:
                    slot = (slot + 1) & (_SLOTS - 1)
                if slots[column, slot] == _EMPTY:
                    if counts[column] == limit:
                        counts[column] += 1
                        break
                    slots[column, slot] = counts[column]
                    values[column, counts[column]] = x
                    counts[column] += 1
