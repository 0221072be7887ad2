"""The best split of every column, before prices.

It computes running sums, then the scores of all thresholds without a branch, so that the compiler does several at once,
then the best of them. A bin without rows splits a leaf like the bin before it, and the lower of equals wins: so in
leaves of few rows, it scans only the first bin and bins with rows. It sorts categories first, and then splits them like
numbers.

With bounds or an order of outputs, it scores one pair of children at a time: `_best_bounded` is the general case, and
the quick loop that without bounds.
"""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel, kernel_using
from costframe.trees.growing import category_kernels
from costframe.trees.growing.category_kernels import mark_left, sort_categories
from costframe.trees.growing.room import BEST_SET, BIN, LEFT, MISSING_LEFT

__all__ = ["child_value", "find_splits"]

_ROUNDING = 1e-12  # a gain below this share of the parent's score is rounding
_using = kernel_using(category_kernels)


@kernel
def child_value(
    sums: NDArray[np.int64],
    count_bits: int,
    units: NDArray[np.float64],
    l2: float,
    bounds: NDArray[np.float64],
    n_words: int,
) -> float:
    """Return the best output of rows with these sums of words, between the bounds."""
    hessian = sums[1] * units[1] if n_words == 2 else np.float64(sums[0] & ((1 << count_bits) - 1))
    weight = hessian + l2
    value = -((sums[0] >> count_bits) * units[0]) / weight if weight > 0 else 0.0
    return float(min(max(value, bounds[0]), bounds[1]))


@kernel
def _score_leaf(gradient: float, weight: float, bounds: NDArray[np.float64]) -> float:
    """Return twice the decrease of the loss by the best output between the bounds: G^2/weight if it is inside."""
    if bounds[0] * weight <= -gradient <= bounds[1] * weight:
        return gradient * gradient / weight
    value = float(bounds[0] if -gradient < bounds[0] * weight else bounds[1])
    return -(2.0 * gradient * value + weight * value * value)


@kernel
def _list_filled(histogram: NDArray[np.int64], k: int, n_bins: int, cells: NDArray[np.int64]) -> int:
    """List and count the first bin of the k-th column and its bins with rows."""
    cells[0], n_cells = 0, 1
    for cell in range(1, n_bins):
        cells[n_cells] = cell  # always: a branch would be mispredicted
        n_cells += int(histogram[k, cell, 0] != 0)  # sums of words are not zero, as they count rows
    return n_cells


@kernel
def _add_up(histogram: NDArray[np.int64], k: int, n_bins: int, running: NDArray[np.int64]) -> None:
    """Write the k-th column's sums of words up to each bin, included; `running` is (2, 256)."""
    word, hessian_word = 0, 0
    if histogram.shape[2] == 1:
        for cell in range(n_bins):
            word += histogram[k, cell, 0]
            running[0, cell] = word
    else:
        for cell in range(n_bins):
            word += histogram[k, cell, 0]
            hessian_word += histogram[k, cell, 1]
            running[0, cell] = word
            running[1, cell] = hessian_word


@kernel
def _add_up_listed(
    histogram: NDArray[np.int64], k: int, cells: NDArray[np.int64], n_cells: int, running: NDArray[np.int64]
) -> None:
    """Do the same for listed bins, in their order."""
    word, hessian_word = 0, 0
    for at in range(n_cells):
        word += histogram[k, cells[at], 0]
        running[0, at] = word
        if histogram.shape[2] == 2:
            hessian_word += histogram[k, cells[at], 1]
            running[1, at] = hessian_word


@kernel
def _score(
    running: NDArray[np.int64],
    n_cells: int,
    extra: NDArray[np.int64],
    total: NDArray[np.int64],
    count_bits: int,
    units: NDArray[np.float64],
    limits: NDArray[np.float64],
    with_hessians: bool,
    way: int,
    scores: NDArray[np.float64],
) -> None:
    """Write G_l^2/(H_l+l2) + G_r^2/(H_r+l2) for each bin, with `extra` on the left, or -1 if it breaks the limits.

    `scores` is (2, 256), one row for each way of missing values.
    """
    mask = (1 << count_bits) - 1
    gradient_unit, hessian_unit = units[0], units[1]
    l2, min_rows, min_hessian = limits[0], np.int64(limits[1]), limits[2]
    total_word, extra_word, extra_hessian = total[0], extra[0], extra[1]
    n_all = total_word & mask
    h_all = total[1] * hessian_unit if with_hessians else np.float64(n_all)
    for cell in range(n_cells):
        word = running[0, cell] + extra_word
        n_left = word & mask
        g_left = (word >> count_bits) * gradient_unit
        g_right = ((total_word - word) >> count_bits) * gradient_unit
        h_left = (running[1, cell] + extra_hessian) * hessian_unit if with_hessians else np.float64(n_left)
        h_right = h_all - h_left
        a, b = h_left + l2, h_right + l2
        enough = (n_left >= min_rows) & (n_all - n_left >= min_rows)
        enough &= (h_left >= min_hessian) & (h_right >= min_hessian) & (a > 0) & (b > 0)
        a, b = (a, b) if enough else (1.0, 1.0)
        scores[way, cell] = g_left * g_left / a + g_right * g_right / b if enough else -1.0


@kernel
def _best(
    scores: NDArray[np.float64], bits: NDArray[np.int64], n_cells: int, ways: int, least: float
) -> tuple[float, int, int]:
    """Find the first largest score above `least` by bin, then by way; bin -1 if there is none.

    `bits` is the same memory as whole numbers, which have the same order and are quicker to compare.
    """
    highest = np.int64(-1)
    for way in range(ways):
        for cell in range(n_cells):
            highest = max(highest, bits[way, cell])
    for cell in range(n_cells):
        for way in range(ways):
            if bits[way, cell] == highest:
                best = scores[way, cell]
                return best, cell if best > least else -1, way
    return least, -1, 0


@kernel
def _best_bounded(
    running: NDArray[np.int64],
    n_cells: int,
    missing: NDArray[np.int64],
    ways: int,
    total: NDArray[np.int64],
    count_bits: int,
    units: NDArray[np.float64],
    limits: NDArray[np.float64],
    sign: int,
    bounds: NDArray[np.float64],
    with_hessians: bool,
    least: float,
) -> tuple[float, int, int]:
    """Do the work of `_score` and `_best`, for outputs between bounds, in the order of the sign.

    The last bin separates missing values from all others, without an order.
    """
    best, at, best_way = least, -1, 0
    mask = (1 << count_bits) - 1
    n_all = total[0] & mask
    h_all = total[1] * units[1] if with_hessians else np.float64(n_all)
    for cell in range(n_cells):
        kept = sign if cell < n_cells - 1 else 0
        for way in range(ways):
            word, hessian_word = running[0, cell] + way * missing[0], running[1, cell] + way * missing[1]
            n_left = word & mask
            g_left, g_right = (word >> count_bits) * units[0], ((total[0] - word) >> count_bits) * units[0]
            h_left = hessian_word * units[1] if with_hessians else np.float64(n_left)
            h_right = h_all - h_left
            a, b = h_left + limits[0], h_right + limits[0]
            if min(n_left, n_all - n_left) < limits[1] or min(h_left, h_right) < limits[2] or not min(a, b) > 0:
                continue
            if kept != 0:
                below = min(max(-g_left / a, bounds[0]), bounds[1])
                above = min(max(-g_right / b, bounds[0]), bounds[1])
                if kept * (above - below) < 0:
                    continue
            score = _score_leaf(g_left, a, bounds) + _score_leaf(g_right, b, bounds)
            if score > best:
                best, at, best_way = score, cell, way
    return best, at, best_way


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
    cells, scores = np.empty(256, np.int64), np.empty((2, 256))
    bits = scores.view(np.int64)
    g_all = (total[0] >> count_bits) * units[0]
    n_all = total[0] & ((1 << count_bits) - 1)
    h_all = total[1] * units[1] if with_hessians else np.float64(n_all)
    weight = h_all + limits[0]
    bounded = signs.shape[0] > 0
    parent = g_all * g_all / weight if weight > 0 else 0.0  # without weight, no child meets the limits either
    if bounded and weight > 0:
        parent = _score_leaf(g_all, weight, bounds)
    for k in range(columns.shape[0]):
        column = columns[k]
        named = categorical.shape[0] > 0 and categorical[column]
        n_cells, listed = n_bins[k], named or (not bounded and 2 * n_all < n_bins[k])
        if listed:
            if named:
                n_cells = sort_categories(histogram, k, n_bins[k], count_bits, units, cells)
            else:
                n_cells = _list_filled(histogram, k, n_bins[k], cells)
            _add_up_listed(histogram, k, cells, n_cells, running)
        else:
            _add_up(histogram, k, n_bins[k], running)
        some_missing = histogram[k, last, 0] != 0
        if some_missing:
            for word in range(histogram.shape[2]):
                missing[word] = histogram[k, last, word]
        ways = 2 if some_missing else 1
        if bounded:
            score, at, way = _best_bounded(
                running, n_cells, missing, ways, total, count_bits, units, limits,
                int(signs[column]), bounds, with_hessians, parent,
            )  # fmt: skip
        else:
            _score(running, n_cells, nothing, total, count_bits, units, limits, with_hessians, 0, scores)
            if some_missing:
                _score(running, n_cells, missing, total, count_bits, units, limits, with_hessians, 1, scores)
            score, at, way = _best(scores, bits, n_cells, ways, parent)
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
