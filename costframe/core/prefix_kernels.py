"""One tree walked straight from the values, and what its rows acquire on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    F8 = NDArray[np.float64]
    I4 = NDArray[np.int32]
    I8 = NDArray[np.int64]
    U8 = NDArray[np.uint64]
    B1 = NDArray[np.bool_]

__all__ = ["note_paths", "walk_tree"]

ONE = np.uint64(1)


@kernel
def note_paths(feature: I4, left: I4, right: I4, split: F8, masks: U8, spent: F8, uses: F8) -> None:
    """Set, for every node, the features tested on the way to it as bits, what they cost, and their number.

    Parents come before their children; the root's own entries are zero.
    """
    for node in range(feature.shape[0]):
        f = feature[node]
        if f < 0:
            continue
        word, bit = f >> 6, ONE << np.uint64(f & 63)
        again = (masks[node, word] & bit) != 0
        for child in (left[node], right[node]):
            masks[child] = masks[node]
            masks[child, word] |= bit
            spent[child] = spent[node] + split[f]
            uses[child] = uses[node] + (0.0 if again else 1.0)


@kernel
def walk_tree(
    X: F8, feature: I4, threshold: F8, missing_left: B1, left: I4, right: I4, category_first: I8, categories: F8,
    leaves: I4,
) -> None:  # fmt: skip
    """Set the node at which each row ends; a node with categories sends them against its missing way."""
    for row in range(X.shape[0]):
        node = 0
        while feature[node] >= 0:
            value = X[row, feature[node]]
            begin, end = category_first[node], category_first[node + 1]
            if begin < end:
                at = begin + np.searchsorted(categories[begin:end], value)
                goes_left = missing_left[node] != (at < end and categories[at] == value)
            else:
                goes_left = missing_left[node] if np.isnan(value) else value <= threshold[node]
            node = left[node] if goes_left else right[node]
        leaves[row] = node
