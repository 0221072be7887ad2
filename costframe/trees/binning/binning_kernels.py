"""The bin of every value, and the values of columns with few distinct values."""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["bin_rows", "choose_cuts", "collect_distinct", "mark_unknown", "tabulate"]

_STRIP = 256  # rows at a time, so that the cache holds them
_SLOTS = 1024  # of a hash table: a power of two, four times the most values of a column
_EMPTY = 255
_MISSING = 255
STEPS = 512  # of a table: twice the most thresholds


@kernel
def _step_of(value: float, low: float, scale: float) -> int:
    """Return the entry of a value in a table of equal steps; it never falls as values rise. NaN has the first."""
    at = (value - low) * scale
    at = at if at > 0.0 else 0.0  # noqa: FURB136 - NaN becomes zero
    return int(at if at < STEPS - 1.0 else STEPS - 1.0)  # noqa: FURB136


@kernel
def tabulate(
    thresholds: NDArray[np.float64],
    ranges: NDArray[np.float64],
    certain: NDArray[np.uint8],
    windows: NDArray[np.int64],
) -> None:
    """Make tables of equal steps for `bin_rows`.

    Parameters
    ----------
    thresholds : float64 (d, 256)
        Ascending, padded with +inf or NaN.
    ranges : float64 (d, 2)
        Written: the lowest finite threshold, and steps per unit.
    certain : uint8 (d, 512)
        Written: a number of thresholds certainly below all values of a step; others below them are the next ones.
    windows : int64 (d,)
        Written: the most others.
    """
    inside = np.empty(STEPS, np.int64)
    for feature in range(thresholds.shape[0]):
        limits, count, first, last = thresholds[feature], 0, -1, -1
        for at in range(limits.shape[0]):
            if limits[at] < np.inf:
                count = at + 1
                if limits[at] > -np.inf:
                    first, last = (at if first < 0 else first), at
        low, scale = 0.0, 0.0
        if last > first:
            low, scale = limits[first], STEPS / (limits[last] - limits[first])
        scale = scale if scale < np.inf else 0.0  # of subnormal ranges
        ranges[feature, 0], ranges[feature, 1] = low, scale
        inside[:] = 0
        for at in range(count):
            inside[_step_of(limits[at], low, scale)] += 1
        window, below = 0, 0
        for step in range(STEPS):
            window = max(window, inside[step])
        for step in range(STEPS):
            certain[feature, step] = min(below, limits.shape[0] - window)  # the search stays inside
            below += inside[step]
        windows[feature] = window


@kernel
def bin_rows(
    X: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    ranges: NDArray[np.float64],
    certain: NDArray[np.uint8],
    windows: NDArray[np.int64],
    bins: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    first: int,
) -> None:
    """Write into `bins` the number of thresholds below each value, and 255 for NaN.

    A look-up leaves few thresholds to a binary search without branches, in which several rows advance at once.

    Parameters
    ----------
    X : float64 (n, d)
        Values, row after row.
    thresholds, ranges, certain, windows
        As `tabulate` reads and writes them.
    bins : uint8 (n, d)
        Written, row after row.
    columns : uint8 (d, more rows)
        Written too, column after column, from place `first` on.
    """
    values, below, one = np.empty(_STRIP, np.float64), np.empty(_STRIP, np.uint64), np.uint64(1)
    for begin in range(0, X.shape[0], _STRIP):
        size = min(_STRIP, X.shape[0] - begin)
        for feature in range(X.shape[1]):
            limits, known, window = thresholds[feature], certain[feature], np.uint64(windows[feature])
            low, scale = ranges[feature, 0], ranges[feature, 1]
            for at in range(size):
                values[at] = X[begin + at, feature]
                below[at] = known[np.uint64(_step_of(values[at], low, scale))]
            while window > one:
                half = window >> one
                for at in range(size):
                    below[at] += half * np.uint64(limits[below[at] + half - one] < values[at])
                window -= half
            if window == one:
                for at in range(size):
                    below[at] += np.uint64(limits[below[at]] < values[at])
            for at in range(size):
                cell = np.uint8(below[at]) if values[at] == values[at] else np.uint8(_MISSING)  # only NaN differs
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
