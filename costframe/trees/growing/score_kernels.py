"""Scores of thresholds from sums of gradients and hessians, and the best of them.

With bounds, an order of outputs or categories, it scores one pair of children at a time: `find_best_bounded` is the
general case. Otherwise it computes the scores of all thresholds of a group of columns without a branch, so that the
compiler does several at once.
"""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel
from costframe.trees.growing.room import LINE

__all__ = [
    "add_missing",
    "child_value",
    "find_best",
    "find_best_bounded",
    "find_ends",
    "may_exceed",
    "raise_scores",
    "score_bins",
    "score_leaf",
]

_MARGIN = 1e-12  # far above the rounding of a score, far below a difference that matters for speed
_NEAR = 8  # bins: looking for their ends more closely takes longer than scoring them
_TINY = 1e-280  # far above the rounding of subnormal numbers
_LARGE = 1e300  # a larger product may have overflown


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
def score_leaf(gradient: float, weight: float, bounds: NDArray[np.float64]) -> float:
    """Return twice the decrease of the loss by the best output between the bounds: G^2/weight if it is inside."""
    if bounds[0] * weight <= -gradient <= bounds[1] * weight:
        return gradient * gradient / weight
    value = float(bounds[0] if -gradient < bounds[0] * weight else bounds[1])
    return -(2.0 * gradient * value + weight * value * value)


@kernel
def _score(
    n_left: int, g_left: float, h_left: float, g_all: float, h_all: float, min_rows: int, most_rows: int,
    min_hessian: float, l2: float,
) -> float:  # fmt: skip
    """Return G_l^2/(H_l+l2) + G_r^2/(H_r+l2), or -1 if it breaks the limits; without a branch."""
    g_right, h_right = g_all - g_left, h_all - h_left
    a, b = h_left + l2, h_right + l2
    enough = (n_left >= min_rows) & (n_left <= most_rows)
    enough &= (h_left >= min_hessian) & (h_right >= min_hessian) & (a > 0) & (b > 0)
    a, b = (a, b) if enough else (1.0, 1.0)
    return g_left * g_left / a + g_right * g_right / b if enough else -1.0


@kernel
def add_missing(running: NDArray[np.int64], n_cells: int, missing: NDArray[np.int64], more: NDArray[np.int64]) -> None:
    """Add the missing bin of a group to its running sums."""
    for cell in range(np.uint64(n_cells)):
        for at in range(np.uint64(LINE)):
            more[cell * np.uint64(LINE) + at] = running[cell * np.uint64(LINE) + at] + missing[at]


@kernel
def _first_cell(running: NDArray[np.int64], n_cells: int, n_words: int, mask: int, least: int, all_: bool) -> int:
    """Return about the first bin with so many rows to the left in any column of a group, or in all of them.

    It is at most a few bins lower, or higher for all of them.
    """
    low, high = 0, n_cells
    while high - low > _NEAR:
        middle = (low + high) // 2
        fewest = most = running[LINE * middle] & mask
        for at in range(LINE * middle + n_words, LINE * (middle + 1), n_words):
            count = running[at] & mask
            fewest, most = min(fewest, count), max(most, count)
        if (fewest if all_ else most) >= least:
            high = middle
        else:
            low = middle + 1
    return high if all_ else low


@kernel
def find_ends(
    running: NDArray[np.int64], n_cells: int, n_words: int, n_all: int, mask: int, min_rows: int
) -> tuple[int, int]:
    """Return a first bin and an end, between which are all bins that keep the limit of rows in any column."""
    begin = _first_cell(running, n_cells, n_words, mask, min_rows, False)
    return begin, _first_cell(running, n_cells, n_words, mask, n_all - min_rows + 1, True)


@kernel
def _falls_short(g_left: float, g_right: float, a: float, b: float, score: float) -> bool:
    """Return whether G_l^2/a + G_r^2/b is certainly less than a score, without a division, which takes longest."""
    least = score * (a * b)
    return (g_left * g_left * b + g_right * g_right * a + _TINY < least) & (least <= _LARGE)


@kernel
def may_exceed(
    running: NDArray[np.int64], begin: int, end: int, total: NDArray[np.int64], count_bits: int,
    units: NDArray[np.float64], limits: NDArray[np.float64], with_hessians: bool, score: float,
) -> bool:  # fmt: skip
    """Return whether a group's scores from `begin` to `end` may reach a score; False is certain."""
    mask, min_rows, l2, many = (1 << count_bits) - 1, int(limits[1]), limits[0], np.int64(0)
    most_rows, gradient_unit, hessian_unit = (total[0] & mask) - min_rows, units[0], units[1]
    g_all, score = (total[0] >> count_bits) * gradient_unit, score * (1 - _MARGIN)
    if with_hessians:
        h_all, lanes, one = total[1] * hessian_unit, LINE // 2, np.uint64(1)
        for at in range(np.uint64(lanes * begin), np.uint64(lanes * end)):
            n_left, g_left = running[at << one] & mask, (running[at << one] >> count_bits) * gradient_unit
            h_left = running[(at << one) + one] * hessian_unit
            less = _falls_short(g_left, g_all - g_left, h_left + l2, (h_all - h_left) + l2, score)
            many |= np.int64((n_left >= min_rows) & (n_left <= most_rows) & (not less))
    else:
        h_all = np.float64(total[0] & mask)
        for at in range(np.uint64(LINE * begin), np.uint64(LINE * end)):
            n_left, g_left = running[at] & mask, (running[at] >> count_bits) * gradient_unit
            h_left = np.float64(n_left)
            less = _falls_short(g_left, g_all - g_left, h_left + l2, (h_all - h_left) + l2, score)
            many |= np.int64((n_left >= min_rows) & (n_left <= most_rows) & (not less))
    return bool(many != 0)


@kernel
def score_bins(
    running: NDArray[np.int64], begin: int, end: int, total: NDArray[np.int64], count_bits: int,
    units: NDArray[np.float64], limits: NDArray[np.float64], with_hessians: bool, scores: NDArray[np.float64],
) -> None:  # fmt: skip
    """Write G_l^2/(H_l+l2) + G_r^2/(H_r+l2) for a group's bins from `begin` to `end`, or -1 if it breaks the limits.

    `scores` has one entry for each bin and column.
    """
    mask, min_rows, l2, min_hessian = (1 << count_bits) - 1, int(limits[1]), limits[0], limits[2]
    n_all, gradient_unit, hessian_unit = total[0] & mask, units[0], units[1]
    most_rows, g_all, h_all = n_all - min_rows, (total[0] >> count_bits) * gradient_unit, np.float64(n_all)
    if with_hessians:
        h_all, lanes, one = total[1] * hessian_unit, LINE // 2, np.uint64(1)
        for at in range(np.uint64(lanes * begin), np.uint64(lanes * end)):
            word, h_left = running[at << one], running[(at << one) + one] * hessian_unit
            scores[at] = _score(
                word & mask, (word >> count_bits) * gradient_unit, h_left, g_all, h_all, min_rows, most_rows,
                min_hessian, l2,
            )  # fmt: skip
    else:
        for at in range(np.uint64(LINE * begin), np.uint64(LINE * end)):
            n_left, g_left = running[at] & mask, (running[at] >> count_bits) * gradient_unit
            scores[at] = _score(
                n_left, g_left, np.float64(n_left), g_all, h_all, min_rows, most_rows, min_hessian, l2
            )  # fmt: skip


@kernel
def raise_scores(bits: NDArray[np.int64], begin: int, end: int, lanes: int) -> None:
    """Replace the scores of a group's bins by the largest one up to each bin, column by column.

    `bits` is the memory of scores as whole numbers, which have the same order and are quicker to compare.
    """
    if lanes == LINE:
        for at in range(np.uint64(LINE * (begin + 1)), np.uint64(LINE * end)):
            bits[at] = max(bits[at], bits[at - np.uint64(LINE)])
    else:
        for at in range(np.uint64(LINE // 2 * (begin + 1)), np.uint64(LINE // 2 * end)):
            bits[at] = max(bits[at], bits[at - np.uint64(LINE // 2)])


@kernel
def find_best(bits: NDArray[np.int64], begin: int, end: int, lanes: int, lane: int) -> int:
    """Return the first bin of a column's largest score, from those of `raise_scores`."""
    highest, low, high = bits[lanes * (end - 1) + lane], begin, end - 1
    while low < high:
        middle = (low + high) // 2
        if bits[lanes * middle + lane] == highest:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def find_best_bounded(
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
    """Do the work of `score_bins` and `find_best`, for outputs between bounds, in the order of the sign.

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
            score = score_leaf(g_left, a, bounds) + score_leaf(g_right, b, bounds)
            if score > best:
                best, at, best_way = score, cell, way
    return best, at, best_way
