"""Scores of thresholds from sums of gradients and hessians, and the best of them.

With bounds or an order of outputs, it scores one pair of children at a time: `find_best_bounded` is the general case,
and the quick loops that without bounds.
"""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["child_value", "find_best", "find_best_bounded", "score_bins", "score_leaf"]


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
def score_bins(
    running: NDArray[np.int64],
    sums: NDArray[np.float64],
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

    Sums of gradients and of hessians are whole numbers of units below 2^53, so no digit depends on the order.
    `scores` is (2, 256), one row for each way of missing values.
    """
    mask = (1 << count_bits) - 1
    l2, min_rows, min_hessian = limits[0], np.int64(limits[1]), limits[2]
    extra_word, n_all = extra[0], total[0] & mask
    g_all, g_extra = (total[0] >> count_bits) * units[0], (extra[0] >> count_bits) * units[0]
    h_all = total[1] * units[1] if with_hessians else np.float64(n_all)
    h_extra = extra[1] * units[1] if with_hessians else np.float64(extra[0] & mask)
    most_rows = n_all - min_rows
    for cell in range(n_cells):
        n_left = (running[0, cell] + extra_word) & mask
        g_left, h_left = sums[0, cell] + g_extra, sums[1, cell] + h_extra
        g_right, h_right = g_all - g_left, h_all - h_left
        a, b = h_left + l2, h_right + l2
        enough = (n_left >= min_rows) & (n_left <= most_rows)
        enough &= (h_left >= min_hessian) & (h_right >= min_hessian) & (a > 0) & (b > 0)
        a, b = (a, b) if enough else (1.0, 1.0)
        scores[way, cell] = g_left * g_left / a + g_right * g_right / b if enough else -1.0


@kernel
def find_best(
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
