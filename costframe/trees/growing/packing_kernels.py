"""Rounding gradients to integers."""

import math

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["absolute_sum", "pack_gradients", "pack_hessians", "scale_for", "sum_words"]


@kernel
def absolute_sum(values: NDArray[np.float64]) -> float:
    """Sum of absolute values, in four lanes that do not wait for each other."""
    a = b = c = d = 0.0
    whole = values.shape[0] // 4 * 4
    for at in range(0, whole, 4):
        a += abs(values[at])
        b += abs(values[at + 1])
        c += abs(values[at + 2])
        d += abs(values[at + 3])
    for at in range(whole, values.shape[0]):
        a += abs(values[at])
    return (a + b) + (c + d)


@kernel
def pack_gradients(gradients: NDArray[np.float64], scale: float, count_bits: int, words: NDArray[np.int64]) -> None:
    """Write the gradient, in units of 1/scale, above `count_bits` bits of a one."""
    for row in range(gradients.shape[0]):
        words[row, 0] = (np.int64(np.rint(gradients[row] * scale)) << count_bits) + 1


@kernel
def pack_hessians(hessians: NDArray[np.float64], scale: float, words: NDArray[np.int64]) -> None:
    """Write the hessian, in units of 1/scale."""
    for row in range(hessians.shape[0]):
        words[row, 1] = np.int64(np.rint(hessians[row] * scale))


@kernel
def sum_words(words: NDArray[np.int64], rows: NDArray[np.int32]) -> tuple[int, int]:
    """Add up the first words of some rows, and the second ones if there are any."""
    first, second = 0, 0
    for row in rows:
        first += words[row, 0]
        if words.shape[1] == 2:
            second += words[row, 1]
    return first, second


@kernel
def scale_for(values: NDArray[np.float64], bits: int) -> float:
    """Return the largest power of two that keeps every sum of rounded values below 2^bits; 1 if all are zero."""
    total = 0.0
    for value in values:
        total += abs(value)
    if total == 0.0:
        return 1.0
    room = math.ldexp(1.0, bits) - values.shape[0] / 2
    share, exponent = math.frexp(total)
    return math.ldexp(1.0, math.frexp(room / share)[1] - 1 - exponent)
