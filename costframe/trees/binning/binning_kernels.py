"""The bin of every value, and the values of columns with few distinct values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel
from costframe.core.learners.code_kernels import count_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.cuts import Cuts

__all__ = ["bin_rows", "choose_cuts", "collect_distinct", "mark_unknown"]

_STRIP = 256  # rows at a time, so that the cache holds them
_SLOTS = 1024  # of a hash table: a power of two, four times the most values of a column
_EMPTY = 255
_MISSING = 255


@kernel
def bin_rows(
    X: NDArray[np.float64],
    cuts: Cuts,
    bins: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    first: int,
) -> None:
    """Write into `bins` the number of thresholds below each value, and 255 for NaN.

    Parameters
    ----------
    X : float64 (n, d)
        Values, row after row.
    cuts : Cuts
        The thresholds, at most 255 of each column.
    bins : uint8 (n, d)
        Written, row after row.
    columns : uint8 (d, more rows)
        Written too, column after column, from place `first` on.
    """
    value, below = np.empty(_STRIP, np.float64), np.empty(_STRIP, np.uint32)
    for begin in range(0, X.shape[0], _STRIP):
        size = min(_STRIP, X.shape[0] - begin)
        for feature in range(X.shape[1]):
            for at in range(size):
                value[at] = X[begin + at, feature]
            count_below(below, value, size, cuts, feature)
            for at in range(size):
                cell = np.uint8(below[at]) if value[at] == value[at] else np.uint8(_MISSING)  # only NaN differs
                bins[begin + at, feature] = cell
                columns[feature, first + begin + at] = cell


@kernel
def mark_unknown(
    X: NDArray[np.float64],
    categories: Cuts,
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
    categories : Cuts
        Of each feature.
    features : int64 (k,)
        The categorical ones.
    bins, columns : uint8 (n, d), uint8 (d, more rows)
        As `bin_rows` wrote them.
    first : int
        Place of the first row in `columns`.
    """
    for row in range(X.shape[0]):
        for feature in features:
            cell, known = bins[row, feature], categories.cut[categories.first[feature] : categories.first[feature + 1]]
            if cell != _MISSING and (cell >= known.shape[0] or known[cell] != X[row, feature]):
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


@kernel
def _count_values(ordered: NDArray[np.float64], values: NDArray[np.float64], masses: NDArray[np.float64]) -> int:
    """Set the distinct values of an ascending series, NaN at its end, and their masses; return their number."""
    found = 0
    for x in ordered:
        if np.isnan(x):
            break
        if found > 0 and values[found - 1] == x:
            masses[found - 1] += 1.0
        else:
            values[found], masses[found] = x, 1.0
            found += 1
    return found


@kernel
def _clip(masses: NDArray[np.float64], max_bins: int, times: int) -> float:
    """Clip masses to one bin's share, as often as it changes something, in place; return their sum."""
    for _ in range(times):
        whole, largest = masses.sum(), masses.max()
        if largest * max_bins <= whole:
            break
        for i in range(masses.shape[0]):
            masses[i] = min(masses[i] * max_bins, whole)
    return float(masses.sum())


@kernel
def _between(below: float, above: float) -> float:
    """Return a double t with `below <= t < above`, half-way if rounding and infinities allow."""
    middle = below / 2 + above / 2
    return middle if below <= middle < above else below


@kernel
def _cut_distinct(ordered: NDArray[np.float64], cuts: NDArray[np.float64], count: NDArray[np.int64]) -> bool:
    """Do the work of `choose_cuts` for one column, if no value is missing or repeated; else return False."""
    n, max_bins, rising = ordered.shape[0], cuts.shape[0], 0
    for at in range(n - 1):
        rising += int(ordered[at] < ordered[at + 1])
    if n <= max_bins or rising < n - 1:
        return False
    for k in range(1, max_bins):
        at = (k * n + max_bins - 1) // max_bins - 1  # the first one with max_bins * (at + 1) >= k * n
        cuts[k - 1] = _between(ordered[at], ordered[at + 1])
    cuts[max_bins - 1] = np.inf
    count[0] = max_bins
    return True


@kernel
def choose_cuts(
    ordered: NDArray[np.float64], clippings: int, cuts: NDArray[np.float64], counts: NDArray[np.int64]
) -> None:
    """Choose thresholds at quantiles for columns whose rows count once; see `thresholds.at_quantiles`.

    All sums are of whole numbers, so they are exact in any order.

    Parameters
    ----------
    ordered : float64 (k, n)
        Ascending values of each column, NaN at the end.
    clippings : int
        Times that heavy values are clipped to one bin's share.
    cuts : float64 (k, max_bins)
        Written.
    counts : int64 (k,)
        Written: the number of thresholds, with +inf as the last, or zero for a column with at most `max_bins` values.
    """
    max_bins = cuts.shape[1]
    values, masses = np.empty(ordered.shape[1]), np.empty(ordered.shape[1])
    for column in range(ordered.shape[0]):
        counts[column] = 0
        if _cut_distinct(ordered[column], cuts[column], counts[column : column + 1]):
            continue
        found = _count_values(ordered[column], values, masses)
        if found <= max_bins:
            continue
        whole = _clip(masses[:found], max_bins, clippings)
        cumulated, at, last = masses[0], 0, -1
        for k in range(1, max_bins):
            while cumulated * max_bins < k * whole:
                at += 1
                cumulated += masses[at]
            if last < at < found - 1:
                cuts[column, counts[column]] = _between(values[at], values[at + 1])
                counts[column] += 1
                last = at
        cuts[column, counts[column]] = np.inf
        counts[column] += 1
