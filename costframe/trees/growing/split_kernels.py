"""The best split of every column, before prices.

It computes running sums, then the scores of all thresholds, then the best of them, for the columns of a group at once.
A bin without rows splits a leaf like the bin before it, and the lower of equals wins. It sorts categories first, and
then splits them like numbers.
"""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel, kernel_apart
from costframe.trees.growing.category_kernels import list_categories, sort_categories
from costframe.trees.growing.histogram_kernels import add_up, used_cells
from costframe.trees.growing.room import BEST_SET, BIN, LEFT, LINE, MISSING_LEFT
from costframe.trees.growing.score_kernels import (
    add_missing,
    find_best,
    find_best_bounded,
    find_ends,
    may_exceed,
    raise_scores,
    score_bins,
    score_leaf,
)

__all__ = ["find_splits"]

_ROUNDING = 1e-12  # a gain below this share of the parent's score is rounding


@kernel
def _list_cells(
    sums: NDArray[np.int64], n_bins: int, named: bool, count_bits: int, units: NDArray[np.float64],
    cells: NDArray[np.int64], running: NDArray[np.int64],
) -> int:  # fmt: skip
    """List a column's bins, sorted if they are categories, with their running sums; return how many there are.

    `sums` are those of its words, int64 (B, 1 or 2). Written: `cells`, int64 (256,), and `running`, int64 (2, 256).
    """
    n_cells = n_bins
    if named:
        n_cells = sort_categories(sums, n_bins, count_bits, units, cells)
    else:
        for at in range(n_bins):
            cells[at] = at
    for word in range(sums.shape[1]):
        total = 0
        for at in range(n_cells):
            total += sums[cells[at], word]
            running[word, at] = total
    return n_cells


@kernel
def _least_score(prices: NDArray[np.float64], worth: float, first: int, lanes: int, parent: float) -> float:
    """Return the score that a split in a group needs to be worth as much as another one, or 0 without prices."""
    if prices.shape[1] == 0:
        return 0.0
    lowest = prices[0, first]
    for k in range(first + 1, min(first + lanes, prices.shape[1])):
        lowest = min(lowest, prices[0, k])
    return float(parent + 2 * (worth + lowest))


@kernel_apart
def _score_group(
    cells: NDArray[np.int64], n_cells: int, total: NDArray[np.int64], count_bits: int, units: NDArray[np.float64],
    limits: NDArray[np.float64], with_hessians: bool, least: float, running: NDArray[np.int64],
    scores: NDArray[np.float64], ends: NDArray[np.int64],
) -> bool:  # fmt: skip
    """Write the running sums of a group, its scores as `raise_scores` does, and where they begin and end, by way.

    Missing values go right first, then left. If no score can reach the least one, return False instead.
    """
    missing, n_words, bits = cells[cells.shape[0] - LINE :], 2 if with_hessians else 1, scores.view(np.int64)
    mask, min_rows = (1 << count_bits) - 1, int(limits[1])
    ways, needed = 2 if missing.any() else 1, least <= 0
    add_up(cells, n_cells, running[0])
    for way in range(ways):
        if way == 1:
            add_missing(running[0], n_cells, missing, running[1])
        begin, end = find_ends(running[way], n_cells, n_words, total[0] & mask, mask, min_rows)
        ends[way, 0], ends[way, 1] = begin, end
        needed = needed or may_exceed(
            running[way], begin, end, total, count_bits, units, limits, with_hessians, least
        )  # fmt: skip
    for way in range(ways if needed else 0):
        begin, end = ends[way, 0], ends[way, 1]
        score_bins(running[way], begin, end, total, count_bits, units, limits, with_hessians, scores[way])
        raise_scores(bits[way], begin, end, LINE // n_words)
    return bool(needed)


@kernel
def _best_of_lane(
    scores: NDArray[np.float64], ends: NDArray[np.int64], lanes: int, lane: int, ways: int, least: float
) -> tuple[float, int, int]:
    """Return a column's first largest score above `least` by bin, then by way; bin -1 if there is none."""
    best, at, best_way, bits = least, -1, 0, scores.view(np.int64)
    for way in range(ways):
        begin, end = ends[way, 0], ends[way, 1]
        if begin < end and scores[way, lanes * (end - 1) + lane] >= best:
            score, cell = scores[way, lanes * (end - 1) + lane], find_best(bits[way], begin, end, lanes, lane)
            if score > best or cell < at:
                best, at, best_way = score, cell, way
    return best, at, best_way


@kernel_apart
def find_splits(
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
    prices: NDArray[np.float64],
    worth: NDArray[np.float64],
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
    histogram : int64 (groups, B, 8, 1) or (groups, B, 4, 2)
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
        Least and largest output of a child, in units of gradients over hessians; infinite without signs.
    prices : float64 (2, k) or (2, 0)
        The least price that each column may have later, and its present price, in the unit of gains. If given, a gain
        may be -inf if another column is worth more at any price to come.
    worth : float64 (1,)
        The largest worth of a split at present prices so far, 0 at first; written if there are prices.
    gain, best : float64 (d,), int64 (d, 4 or 8)
        Written at `columns`, as in `Room`; the gain is -inf if no split is possible or has worth.
    """
    lanes, n_words, last = histogram.shape[2], histogram.shape[3], histogram.shape[1] - 1
    running, scores, ends = np.empty((2, LINE * 256), np.int64), np.empty((2, LINE * 256)), np.empty((2, 2), np.int64)
    listed, cells, sums = np.zeros((2, 256), np.int64), np.empty(256, np.int64), np.zeros((2, 2), np.int64)
    bounded, pruned, scored = signs.shape[0] > 0, prices.shape[1] > 0, False
    h_all = total[1] * units[1] if n_words == 2 else np.float64(total[0] & ((1 << count_bits) - 1))
    weight = h_all + limits[0]  # without any, no child meets the limits either
    parent = score_leaf((total[0] >> count_bits) * units[0], weight, bounds) if weight > 0 else 0.0
    for k in range(columns.shape[0]):
        column, group, lane = columns[k], k // lanes, k % lanes
        named = categorical.shape[0] > 0 and categorical[column]
        listing = named or bounded
        if lane == 0 and not bounded:
            least = _least_score(prices, worth[0], k, lanes, parent)
            scored = _score_group(
                histogram[group].ravel(), used_cells(n_bins, group, lanes), total, count_bits, units, limits,
                n_words == 2, least, running, scores, ends,
            )  # fmt: skip
        if not (scored or listing):
            gain[column] = -np.inf
            continue
        for word in range(n_words):
            sums[1, word] = histogram[group, last, lane, word]
        ways = 2 if sums[1, 0] != 0 else 1  # sums of words are not zero, as they count rows
        if listing:
            n_cells = _list_cells(histogram[group, :, lane], n_bins[k], named, count_bits, units, cells, listed)
            score, at, way = find_best_bounded(
                listed, n_cells, sums[1], ways, total, count_bits, units, limits,
                int(signs[column]) if bounded else 0, bounds, n_words == 2, parent,
            )  # fmt: skip
        else:
            score, at, way = _best_of_lane(scores, ends, lanes, lane, ways, parent)
        better = 0.5 * (score - parent)
        if at < 0 or not better > _ROUNDING * abs(parent):
            gain[column] = -np.inf
            continue
        gain[column] = better
        if pruned:
            worth[0] = max(worth[0], better - prices[1, k])
        for word in range(n_words):
            left = listed[word, at] if listing else running[0, LINE * at + n_words * lane + word]
            sums[0, word] = left + way * sums[1, word]
        best[column, BIN], best[column, LEFT], best[column, LEFT + 1] = at, sums[0, 0], sums[0, 1]
        h_left = sums[0, 1] * units[1] if n_words == 2 else np.float64(sums[0, 0] & ((1 << count_bits) - 1))
        missing_left = bool(way == 1 if ways == 2 else h_left >= h_all - h_left)
        best[column, MISSING_LEFT] = missing_left
        if named:
            best[column, BIN] = cells[at]
            list_categories(cells, at + 1, n_cells, missing_left, best[column, BEST_SET:])
