"""Compiled loops over marks of what rows have paid for: one bit an item (feature or resource) and row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["count_marks", "mark_rows", "price_marks", "weigh_marks"]

BITS = 64
ONE = np.uint64(1)


@kernel
def count_marks(marks: NDArray[np.uint64], rows: NDArray[np.int32], counts: NDArray[np.float64]) -> None:
    """Set counts[64 w + b] to the number of rows that have bit b of word w."""
    local = np.empty(BITS, np.uint64)
    for w in range(marks.shape[1]):
        local[:] = np.uint64(0)
        for i in range(rows.shape[0]):
            word = marks[rows[i], w]
            for b in range(BITS):
                local[b] += (word >> np.uint64(b)) & ONE
        for b in range(BITS):
            counts[w * BITS + b] = np.float64(local[b])


@kernel
def weigh_marks(
    marks: NDArray[np.uint64], rows: NDArray[np.int32], weight: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """Set sums[64 w + b] to the weight of the rows that have bit b of word w."""
    sums[:] = 0.0
    for i in range(rows.shape[0]):
        row = rows[i]
        for w in range(marks.shape[1]):
            word = marks[row, w]
            for b in range(BITS):
                sums[w * BITS + b] += weight[row] * np.float64((word >> np.uint64(b)) & ONE)


@kernel
def mark_rows(marks: NDArray[np.uint64], rows: NDArray[np.int32], items: NDArray[np.uint64]) -> None:
    """Mark the items in all rows."""
    for i in range(rows.shape[0]):
        for w in range(items.shape[0]):
            marks[rows[i], w] |= items[w]


@kernel
def price_marks(
    marks: NDArray[np.uint64],
    rows: NDArray[np.int32],
    items: NDArray[np.uint64],
    cost: NDArray[np.float64],
    n_features: int,
    per_row: NDArray[np.float64],
    new_features: NDArray[np.float64],
) -> None:
    """Mark items[i] in rows[i]; set what the newly marked ones cost, and how many features are among them."""
    for i in range(rows.shape[0]):
        total, features = 0.0, 0.0
        for w in range(marks.shape[1]):
            new = items[i, w] & ~marks[rows[i], w]
            marks[rows[i], w] |= new
            for b in range(BITS):
                if (new >> np.uint64(b)) & ONE:
                    total += cost[w * BITS + b]
                    features += 1.0 if w * BITS + b < n_features else 0.0
        per_row[i] = total
        new_features[i] = features
