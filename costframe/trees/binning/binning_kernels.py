"""The bin of every value, and the values of columns with few distinct values."""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["bin_rows", "collect_distinct", "mark_unknown"]

_STRIP = 256  # rows at a time, so that the cache holds them
_SLOTS = 1024  # of a hash table: a power of two, four times the most values of a column
_EMPTY = 255
_MISSING = 255


@kernel
def bin_rows(
    X: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    steps: NDArray[np.int64],
    bins: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    first: int,
) -> None:
    """Write into `bins` the number of thresholds below each value, and 255 for NaN.

    It is a binary search without branches, so that several rows advance at once.

    Parameters
    ----------
    X : float64 (n, d)
        Values, row after row.
    thresholds : float64 (d, 256)
        Ascending, padded with +inf.
    steps : int64 (d,)
        First step of each feature's search, a power of two or zero.
    bins : uint8 (n, d)
        Written, row after row.
    columns : uint8 (d, more rows)
        Written too, column after column, from place `first` on.
    """
    values, exceeded = np.empty(_STRIP, np.float64), np.empty(_STRIP, np.int64)
    for begin in range(0, X.shape[0], _STRIP):
        size = min(_STRIP, X.shape[0] - begin)
        for feature in range(X.shape[1]):
            limits, step = thresholds[feature], steps[feature]
            for at in range(size):
                values[at] = X[begin + at, feature]
                exceeded[at] = 0
            while step > 0:
                for at in range(size):
                    tried = exceeded[at] + step
                    exceeded[at] = tried if values[at] > limits[tried - 1] else exceeded[at]
                step >>= 1
            for at in range(size):
                cell = np.uint8(exceeded[at] if values[at] == values[at] else 255)  # only NaN differs from itself
                bins[begin + at, feature] = cell
                columns[feature, first + begin + at] = cell


@kernel
def mark_unknown(
    X: NDArray[np.float64],
    categories: NDArray[np.float64],
    features: NDArray[np.int64],
    bins: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    first: int,
) -> None:
    """Set the bins of values that are not categories to the missing bin.

    Parameters
    ----------
    X : float64 (n, d)
        Values, row after row.
    categories : float64 (d, 256)
        Categories of each feature, ascending, padded with NaN.
    features : int64 (k,)
        The categorical ones.
    bins, columns : uint8 (n, d), uint8 (d, more rows)
        As `bin_rows` wrote them.
    first : int
        Place of the first row in `columns`.
    """
    for row in range(X.shape[0]):
        for feature in features:
            cell = bins[row, feature]
            if cell != _MISSING and categories[feature, cell] != X[row, feature]:
                bins[row, feature] = _MISSING
                columns[feature, first + row] = _MISSING


@kernel
def _slot(bits: int) -> int:
    """Hash the bits of a double so that whole and other simple numbers spread."""
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
    """Collect the distinct values of each column, in order of appearance, without NaN.

    It hashes values, and stops at a column with too many.

    Parameters
    ----------
    X : float64 (n, d)
    bits : int64 (n, d)
        The same memory.
    values : float64 (d, limit)
        Written; at most 255 values per column.
    counts : int64 (d,)
        Written: the number of values, or `limit + 1` if more. It skips columns with more already.
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
