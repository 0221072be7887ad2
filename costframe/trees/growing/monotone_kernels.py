"""The best threshold of every column where predictions must rise or fall with some of them."""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["find_monotone_splits"]

_ROUNDING = 1e-12  # a gain below this share of the parent's own score is rounding


@kernel
def _value(gradient: float, weight: float, bounds: NDArray[np.float64]) -> float:
    """Find the best value between the bounds."""
    return float(min(max(-gradient / weight, bounds[0]), bounds[1]))


@kernel
def _score(gradient: float, weight: float, value: float) -> float:
    """Return twice what the value takes off the loss; G^2/weight if it is the best without bounds."""
    return -(2.0 * gradient * value + weight * value * value)


@kernel
def _score_split(
    left: NDArray[np.int64],
    total: NDArray[np.int64],
    sign: int,
    count_bits: int,
    units: NDArray[np.float64],
    limits: NDArray[np.float64],
    bounds: NDArray[np.float64],
    with_hessians: bool,
) -> float:
    """Return the score of both children together; -inf if they break the limits, or the order of their values."""
    mask = (1 << count_bits) - 1
    n_left, n_all = left[0] & mask, total[0] & mask
    g_left = (left[0] >> count_bits) * units[0]
    g_right = ((total[0] - left[0]) >> count_bits) * units[0]
    h_left = left[1] * units[1] if with_hessians else np.float64(n_left)
    h_right = (total[1] * units[1] if with_hessians else np.float64(n_all)) - h_left
    a, b = h_left + limits[0], h_right + limits[0]
    if n_left < limits[1] or n_all - n_left < limits[1] or h_left < limits[2] or h_right < limits[2]:
        return -np.inf
    if not (a > 0 and b > 0):
        return -np.inf
    below, above = _value(g_left, a, bounds), _value(g_right, b, bounds)
    if sign * (above - below) < 0:
        return -np.inf
    return _score(g_left, a, below) + _score(g_right, b, above)


@kernel
def find_monotone_splits(
    histogram: NDArray[np.int64],
    n_bins: NDArray[np.int64],
    columns: NDArray[np.int64],
    total: NDArray[np.int64],
    count_bits: int,
    units: NDArray[np.float64],
    limits: NDArray[np.float64],
    signs: NDArray[np.int8],
    bounds: NDArray[np.float64],
    gain: NDArray[np.float64],
    bin_: NDArray[np.uint8],
    missing_left: NDArray[np.bool_],
    left: NDArray[np.int64],
) -> None:
    """Find the best split of one leaf on each of some columns; further arguments are those of `find_splits`.

    Parameters
    ----------
    signs : int8 (d,)
        1 where values must not fall from left to right, -1 where they must not rise. A split that tells missing values
        from all others has no such order.
    bounds : float64 (2,)
        Least and largest value of a child, in units of gradients over hessians.
    """
    with_hessians = histogram.shape[2] == 2
    words = histogram.shape[2]
    running, tried = np.zeros(2, np.int64), np.zeros(2, np.int64)
    g_all = (total[0] >> count_bits) * units[0]
    n_all = total[0] & ((1 << count_bits) - 1)
    h_all = total[1] * units[1] if with_hessians else np.float64(n_all)
    weight = h_all + limits[0]
    parent = _score(g_all, weight, _value(g_all, weight, bounds)) if weight > 0 else 0.0
    for k in range(columns.shape[0]):
        column = columns[k]
        running[:] = 0
        some_missing = histogram[k, 255, 0] != 0
        best = parent
        gain[column] = -np.inf
        for cell in range(n_bins[k]):
            running[:words] += histogram[k, cell]
            sign = int(signs[column]) if cell < n_bins[k] - 1 else 0
            for way in range(2 if some_missing else 1):
                tried[:] = running
                if way == 1:
                    tried[:words] += histogram[k, 255]
                score = _score_split(tried, total, sign, count_bits, units, limits, bounds, with_hessians)
                if score > best and 0.5 * (score - parent) > _ROUNDING * abs(parent):
                    best = score
                    gain[column] = 0.5 * (score - parent)
                    bin_[column] = cell
                    left[column] = tried
                    h_left = tried[1] * units[1] if with_hessians else np.float64(tried[0] & ((1 << count_bits) - 1))
                    missing_left[column] = way == 1 if some_missing else h_left >= h_all - h_left
