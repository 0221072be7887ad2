"""The best split of every column, before prices.

It computes running sums, then the scores of all thresholds without a branch, so that the compiler does several at once,
then the best of them. A bin without rows splits a leaf like the bin before it, and the lower of equals wins: so in
leaves of few rows, it scans only the first bin and bins with rows. It sorts categories first, and then splits them like
numbers.
"""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel, kernel_using
from costframe.trees.growing import category_kernels, score_kernels
from costframe.trees.growing.category_kernels import mark_left, sort_categories
from costframe.trees.growing.room import BEST_SET, BIN, LEFT, MISSING_LEFT
from costframe.trees.growing.score_kernels import find_best, find_best_bounded, score_bins, score_leaf

__all__ = ["find_splits"]

_ROUNDING = 1e-12  # a gain below this share of the parent's score is rounding
_using = kernel_using(category_kernels, score_kernels)


@kernel
def _list_filled(histogram: NDArray[np.int64], k: int, n_bins: int, cells: NDArray[np.int64]) -> int:
    """List and count the first bin of the k-th column and its bins with rows."""
    cells[0], n_cells = 0, 1
    for cell in range(1, n_bins):
        cells[n_cells] = cell  # always: a branch would be mispredicted
        n_cells += int(histogram[k, cell, 0] != 0)  # sums of words are not zero, as they count rows
    return n_cells


@kernel
def _add_up(
    histogram: NDArray[np.int64], k: int, n_bins: int, count_bits: int, units: NDArray[np.float64],
    running: NDArray[np.int64], sums: NDArray[np.float64],
) -> None:  # fmt: skip
    """Write the k-th column's sums of words up to each bin, included, and those of gradients and hessians.

    `running` and `sums` are (2, 256). Processors turn integers into doubles one by one: so this is not in `score_bins`.
    """
    word, hessian_word, gradient_unit, hessian_unit = 0, 0, units[0], units[1]
    if histogram.shape[2] == 1:
        mask = (1 << count_bits) - 1
        for cell in range(n_bins):
            word += histogram[k, cell, 0]
            running[0, cell] = word
            sums[0, cell] = (word >> count_bits) * gradient_unit
            sums[1, cell] = np.float64(word & mask)
    else:
        for cell in range(n_bins):
            word += histogram[k, cell, 0]
            hessian_word += histogram[k, cell, 1]
            running[0, cell] = word
            running[1, cell] = hessian_word
            sums[0, cell] = (word >> count_bits) * gradient_unit
            sums[1, cell] = hessian_word * hessian_unit


@kernel
def _add_up_listed(
    histogram: NDArray[np.int64], k: int, cells: NDArray[np.int64], n_cells: int, count_bits: int,
    units: NDArray[np.float64], running: NDArray[np.int64], sums: NDArray[np.float64],
) -> None:  # fmt: skip
    """Do the same for listed bins, in their order."""
    word, hessian_word, with_hessians, mask = 0, 0, histogram.shape[2] == 2, (1 << count_bits) - 1
    for at in range(n_cells):
        word += histogram[k, cells[at], 0]
        running[0, at] = word
        sums[0, at], sums[1, at] = (word >> count_bits) * units[0], np.float64(word & mask)
        if with_hessians:
            hessian_word += histogram[k, cells[at], 1]
            running[1, at] = hessian_word
            sums[1, at] = hessian_word * units[1]


@_using
def find_splits(  # noqa: C901, PLR0912 - one loop, in the order of the work
    histogram: NDArray[np.int64],
    n_bins: NDArray[np.int64],
    columns: NDArray[np.int64],
    categorical: NDArray[np.bool_],
    total: NDArray[np.int64],
    count_bits: int,
    units: NDArray[np.float64],
    limits: NDArray[np.float64],
    signs: NDArray[np.int8],
    bounds: NDArray[np.float64],
    gain: NDArray[np.float64],
    best: NDArray[np.int64],
) -> None:
    """Find the best split of one leaf on each of some columns.

    The gain is 1/2 [G_l^2/(H_l+l2) + G_r^2/(H_r+l2) - G_p^2/(H_p+l2)], or that of the outputs clipped to their bounds.
    Ties go to the lowest bin (of categories to the shortest prefix), then to missing right. If the leaf has no missing
    values, these go with the child of the larger hessian, on a tie left. Categories without rows in the leaf go the way
    of missing values.

    Parameters
    ----------
    histogram : int64 (k, B, 1 or 2)
        Sums of words per bin, as written by `fill_histogram`.
    n_bins, columns : int64 (k,)
        Number of bins of each column without the missing bin, and the column's number.
    categorical : bool (d,) or (0,)
        Features whose bins are categories; (0,) if there are none.
    total : int64 (2,)
        Sums of words of the leaf.
    count_bits : int
        Low bits of a first word that count rows.
    units : float64 (2,)
        Units of gradients and of hessians.
    limits : float64 (3,)
        l2, and the least rows and hessian of a child.
    signs : int8 (d,) or (0,)
        1 if outputs must not fall from left to right, -1 if they must not rise; (0,) without bounds.
    bounds : float64 (2,)
        Least and largest output of a child, in units of gradients over hessians; read if there are signs.
    gain, best : float64 (d,), int64 (d, 4 or 8)
        Written at `columns`, as in `Room`; the gain is -inf if no split is possible or has worth.
    """
    with_hessians, last = histogram.shape[2] == 2, histogram.shape[1] - 1
    running, nothing, missing = np.zeros((2, 256), np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    cells, scores, sums = np.empty(256, np.int64), np.empty((2, 256)), np.empty((2, 256))
    bits = scores.view(np.int64)
    g_all = (total[0] >> count_bits) * units[0]
    n_all = total[0] & ((1 << count_bits) - 1)
    h_all = total[1] * units[1] if with_hessians else np.float64(n_all)
    weight = h_all + limits[0]
    bounded = signs.shape[0] > 0
    parent = g_all * g_all / weight if weight > 0 else 0.0  # without weight, no child meets the limits either
    if bounded and weight > 0:
        parent = score_leaf(g_all, weight, bounds)
    for k in range(columns.shape[0]):
        column = columns[k]
        named = categorical.shape[0] > 0 and categorical[column]
        n_cells, listed = n_bins[k], named or (not bounded and 2 * n_all < n_bins[k])
        if listed:
            if named:
                n_cells = sort_categories(histogram, k, n_bins[k], count_bits, units, cells)
            else:
                n_cells = _list_filled(histogram, k, n_bins[k], cells)
            _add_up_listed(histogram, k, cells, n_cells, count_bits, units, running, sums)
        else:
            _add_up(histogram, k, n_bins[k], count_bits, units, running, sums)
        some_missing = histogram[k, last, 0] != 0
        if some_missing:
            for word in range(histogram.shape[2]):
                missing[word] = histogram[k, last, word]
        ways = 2 if some_missing else 1
        if bounded:
            score, at, way = find_best_bounded(
                running, n_cells, missing, ways, total, count_bits, units, limits,
                int(signs[column]), bounds, with_hessians, parent,
            )  # fmt: skip
        else:
            score_bins(running, sums, n_cells, nothing, total, count_bits, units, limits, with_hessians, 0, scores)
            if some_missing:
                score_bins(running, sums, n_cells, missing, total, count_bits, units, limits, with_hessians, 1, scores)
            score, at, way = find_best(scores, bits, n_cells, ways, parent)
        better = 0.5 * (score - parent)
        if at < 0 or not better > _ROUNDING * abs(parent):
            gain[column] = -np.inf
            continue
        gain[column] = better
        best[column, BIN] = cells[at] if listed else at
        for word in range(2):
            best[column, LEFT + word] = running[word, at] + way * missing[word]
        n_left = best[column, LEFT] & ((1 << count_bits) - 1)
        h_left = best[column, LEFT + 1] * units[1] if with_hessians else np.float64(n_left)
        missing_left = bool(way == 1 if some_missing else h_left >= h_all - h_left)
        best[column, MISSING_LEFT] = missing_left
        if named:
            mark_left(cells, at + 1, n_cells, missing_left, best[column, BEST_SET:])
