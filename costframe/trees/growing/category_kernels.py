"""Categorical features: the order of a leaf's categories for splits.

A leaf sorts categories by G / (H + SMOOTHING), the step of each category alone, and takes the best prefix of this
order: for a convex loss without smoothing and limits it is the best of all sets.
"""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["list_categories", "sort_categories"]

SMOOTHING = 10.0  # hessian added to each category in the order, as in scikit-learn and LightGBM


@kernel
def _merge(keys: NDArray[np.float64], a: NDArray[np.int64], b: NDArray[np.int64], begin: int, half: int) -> None:
    """Merge two sorted runs of `half` entries of a, from `begin` on, into b; the earlier of equal keys comes first."""
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
def sort_categories(
    sums: NDArray[np.int64], n_bins: int, count_bits: int, units: NDArray[np.float64], cells: NDArray[np.int64]
) -> int:
    """List a column's bins that have rows by ascending G / (H + SMOOTHING), and count them.

    `sums` are its sums of words, int64 (B, 1 or 2).
    """
    mask = (1 << count_bits) - 1
    count, keys = 0, np.empty(256)
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
    for at in range(count):
        cells[at] = a[at]
    return count


@kernel
def list_categories(
    cells: NDArray[np.int64], length: int, n_cells: int, missing_left: bool, left_bins: NDArray[np.int64]
) -> None:
    """Write the bins that go left, int64 (4,): the first listed ones, or all but the others if missing goes left."""
    left_bins[:] = -1 if missing_left else 0
    for at in range(length, n_cells) if missing_left else range(length):
        left_bins[cells[at] >> 6] ^= np.int64(1) << (cells[at] & 63)
