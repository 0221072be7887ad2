"""What a leaf and two children take off the loss, between bounds of their outputs; infinite ones are none."""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["child_value", "score_children", "score_leaf"]


@kernel
def score_leaf(gradient: float, weight: float, bounds: NDArray[np.float64]) -> float:
    """Return twice what the best output between the bounds takes off the loss: G^2/weight unless one of them is it."""
    if bounds[0] * weight <= -gradient <= bounds[1] * weight:
        return gradient * gradient / weight
    value = float(bounds[0] if -gradient < bounds[0] * weight else bounds[1])
    return -(2.0 * gradient * value + weight * value * value)


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
def score_children(
    word: int,
    hessian_word: int,
    total: NDArray[np.int64],
    count_bits: int,
    units: NDArray[np.float64],
    limits: NDArray[np.float64],
    bounds: NDArray[np.float64],
    sign: int,
    with_hessians: bool,
) -> float:
    """Return the scores of both children together, for the words that go left.

    -inf if they break the limits; or, where there is a `sign`, the order of their outputs.
    """
    mask = (1 << count_bits) - 1
    n_left, n_all = word & mask, total[0] & mask
    g_left = (word >> count_bits) * units[0]
    g_right = ((total[0] - word) >> count_bits) * units[0]
    h_left = hessian_word * units[1] if with_hessians else np.float64(n_left)
    h_right = (total[1] * units[1] if with_hessians else np.float64(n_all)) - h_left
    a, b = h_left + limits[0], h_right + limits[0]
    if n_left < limits[1] or n_all - n_left < limits[1] or h_left < limits[2] or h_right < limits[2]:
        return -np.inf
    if not min(a, b) > 0:
        return -np.inf
    if sign != 0:
        below = min(max(-g_left / a, bounds[0]), bounds[1])
        above = min(max(-g_right / b, bounds[0]), bounds[1])
        if sign * (above - below) < 0:
            return -np.inf
    return score_leaf(g_left, a, bounds) + score_leaf(g_right, b, bounds)
