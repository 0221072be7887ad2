"""Categorical features: the best set of categories.

Categories are sorted by G / (H + SMOOTHING), the step that each would take by itself, and the best set is taken among
the prefixes of that order: for a convex loss without smoothing and limits the best of all sets is one of them.
"""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel, kernel_using
from costframe.trees.growing import split_kernels
from costframe.trees.growing.split_kernels import score_children, score_leaf

__all__ = ["find_category_splits"]

SMOOTHING = 10.0  # hessian added to that of each category in the order, as scikit-learn and LightGBM have it
_ROUNDING = 1e-12  # a gain below this share of the parent's own score is rounding
_using = kernel_using(split_kernels)


@kernel
def _merge(keys: NDArray[np.float64], a: NDArray[np.int64], b: NDArray[np.int64], begin: int, half: int) -> None:
    """Merge two sorted runs of `half` entries of a, from `begin` on, into b; of equal keys the earlier comes first."""
    middle, end = min(begin + half, a.shape[0]), min(begin + 2 * half, a.shape[0])
    i, j = begin, middle
    for to in range(begin, end):
        if i < middle and (j >= end or keys[a[i]] <= keys[a[j]]):
            b[to] = a[i]
            i += 1
        else:
            b[to] = a[j]
            j += 1


@kernel
def _sorted_cells(
    sums: NDArray[np.int64], n_bins: int, count_bits: int, units: NDArray[np.float64], keys: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the bins that have rows by ascending G / (H + SMOOTHING), of equals the lowest first."""
    mask = (1 << count_bits) - 1
    count = 0
    cells = np.empty(n_bins, np.int64)
    for cell in range(n_bins):
        n_rows = sums[cell, 0] & mask
        if n_rows > 0:
            hessian = sums[cell, 1] * units[1] if sums.shape[1] == 2 else np.float64(n_rows)
            keys[cell] = (sums[cell, 0] >> count_bits) * units[0] / (hessian + SMOOTHING)
            cells[count] = cell
            count += 1
    a, b, half = cells[:count].copy(), cells[:count].copy(), 1
    while half < count:
        for begin in range(0, count, 2 * half):
            _merge(keys, a, b, begin, half)
        a, b, half = b, a, 2 * half
    return a


@_using
def _best_prefix(
    sums: NDArray[np.int64],
    cells: NDArray[np.int64],
    total: NDArray[np.int64],
    count_bits: int,
    units: NDArray[np.float64],
    limits: NDArray[np.float64],
    bounds: NDArray[np.float64],
    least: float,
    left: NDArray[np.int64],
) -> tuple[float, int, int]:
    """Find the first largest score above `least` by length, then by way; length 0 if there is none. Sets `left`."""
    best, length, best_way = least, 0, 0
    pairs = sums.shape[1] == 2
    last = sums.shape[0] - 1
    missing, missing_hessian = int(sums[last, 0]), int(sums[last, 1]) if pairs else 0
    ways = 2 if missing != 0 else 1
    word, hessian = 0, 0
    for at in range(cells.shape[0]):
        word += int(sums[cells[at], 0])
        hessian += int(sums[cells[at], 1]) if pairs else 0
        for way in range(ways):
            here, here_hessian = word + way * missing, hessian + way * missing_hessian
            score = score_children(here, here_hessian, total, count_bits, units, limits, bounds, 0, pairs)
            if score > best:
                best, length, best_way = score, at + 1, way
                left[0], left[1] = here, here_hessian
    return best, length, best_way


@kernel
def _mark_left(cells: NDArray[np.int64], length: int, missing_left: bool, left_bins: NDArray[np.uint64]) -> None:
    """Write the bins that go left: the prefix alone, or all but the rest where what is missing goes left."""
    left_bins[:] = ~np.uint64(0) if missing_left else np.uint64(0)
    for at in range(length, cells.shape[0]) if missing_left else range(length):
        left_bins[cells[at] >> 6] ^= np.uint64(1) << np.uint64(cells[at] & 63)


@_using
def find_category_splits(
    histogram: NDArray[np.int64],
    places: NDArray[np.int64],
    n_bins: NDArray[np.int64],
    columns: NDArray[np.int64],
    total: NDArray[np.int64],
    count_bits: int,
    units: NDArray[np.float64],
    limits: NDArray[np.float64],
    bounds: NDArray[np.float64],
    gain: NDArray[np.float64],
    missing_left: NDArray[np.bool_],
    left: NDArray[np.int64],
    left_bins: NDArray[np.uint64],
) -> None:
    """Find the best split of one leaf on each of some categorical columns.

    The gain is 1/2 [G_l^2/(H_l+l2) + G_r^2/(H_r+l2) - G_p^2/(H_p+l2)], or that of the values clipped to their bounds.
    What is missing is tried on both sides; where the leaf has no missing rows, missing goes with the child of the
    larger hessian, on a tie left. Categories that have no rows in the leaf go the missing way. Ties go to the shortest
    prefix, then to missing right.

    Parameters
    ----------
    histogram : int64 (k, B, 1 or 2)
        Sums of words per bin; the last is for missing values.
    places : int64 (c,)
        Which of the k columns are categorical.
    n_bins, columns, total, count_bits, units, limits
        As for `split_kernels.find_splits`.
    bounds : float64 (2,)
        Least and largest value of a child, in units of gradients over hessians; infinite where there are none.
    gain, missing_left : float64, bool (d,)
        Written at `columns[places]`; the gain is -inf where no split is allowed or worth anything.
    left : int64 (d, 2)
        Written likewise: sums of words that go left.
    left_bins : uint64 (d, 4)
        Written likewise: the set of bins that go left.
    """
    with_hessians = histogram.shape[2] == 2
    keys, sums_left = np.empty(256), np.zeros(2, np.int64)
    g_all, n_all = (total[0] >> count_bits) * units[0], total[0] & ((1 << count_bits) - 1)
    h_all = total[1] * units[1] if with_hessians else np.float64(n_all)
    weight = h_all + limits[0]
    parent = score_leaf(g_all, weight, bounds) if weight > 0 else 0.0
    for k in places:
        column = columns[k]
        cells = _sorted_cells(histogram[k], n_bins[k], count_bits, units, keys)
        best, length, way = _best_prefix(
            histogram[k], cells, total, count_bits, units, limits, bounds, parent, sums_left
        )
        better = 0.5 * (best - parent)
        if length == 0 or not better > _ROUNDING * abs(parent):
            gain[column] = -np.inf
            continue
        gain[column] = better
        left[column] = sums_left
        n_left = sums_left[0] & ((1 << count_bits) - 1)
        h_left = sums_left[1] * units[1] if with_hessians else np.float64(n_left)
        some_missing = histogram[k, histogram.shape[1] - 1, 0] != 0
        missing_left[column] = way == 1 if some_missing else h_left >= h_all - h_left
        _mark_left(cells, length, missing_left[column], left_bins[column])
