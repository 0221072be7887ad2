"""Sums of products, compiled: the scores of rows, and sums over rows as pairs of doubles, high + low."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    F8 = NDArray[np.float64]

__all__ = ["add_products", "score_rows"]

LANES = 8


@kernel
def score_rows(left: F8, weights: F8, found: F8) -> None:
    """Set `found`, (n, M), to left @ weights.T, for (n, C) and (M, C); the sum of a row depends on no other row."""
    n_columns = left.shape[1]
    whole = n_columns - n_columns % LANES
    lanes = np.empty(LANES)
    for i in range(left.shape[0]):
        row = left[i]
        for m in range(weights.shape[0]):
            weight = weights[m]
            lanes[:] = 0.0
            for c in range(0, whole, LANES):
                for lane in range(LANES):
                    lanes[lane] += row[c + lane] * weight[c + lane]
            for c in range(whole, n_columns):
                lanes[c - whole] += row[c] * weight[c]
            a = (lanes[0] + lanes[4]) + (lanes[1] + lanes[5])
            found[i, m] = a + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]))


@kernel
def add_products(left: F8, right: F8, high: F8, low: F8) -> None:
    """Add right.T @ left, for (n, M) and (n, C), to high + low, (M, C) each; `low` gets what `high` loses."""
    for i in range(left.shape[0]):
        row = left[i]
        for m in range(right.shape[1]):
            factor, above, below = right[i, m], high[m], low[m]
            if factor == 0.0:
                continue
            for c in range(row.shape[0]):
                product, before = row[c] * factor, above[c]
                after = before + product
                share = after - before
                below[c] += (before - (after - share)) + (product - share)
                above[c] = after
