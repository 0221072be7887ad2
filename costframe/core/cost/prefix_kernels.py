"""Compiled walk of rows through one tree, with the price of the features they acquire on the path."""

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

__all__ = ["follow_tree", "note_paths"]

ONE = np.uint64(1)


@kernel
def note_paths(feature: I4, left: I4, right: I4, split: F8, masks: U8, spent: F8, uses: F8) -> None:
    """Set for each node the features tested on the path to it, as bits, their number, and the price of the comparisons.

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
def _leaf(
    row: F8, feature: I4, threshold: F8, missing_left: B1, left: I4, right: I4, category_first: I8, categories: F8
) -> int:
    """Return the leaf of a row; a node with categories sends them against its missing way."""
    node = 0
    while feature[node] >= 0:
        value = row[feature[node]]
        begin, end = category_first[node], category_first[node + 1]
        if begin < end:
            at = begin + np.searchsorted(categories[begin:end], value)
            goes_left = missing_left[node] != (at < end and categories[at] == value)
        else:
            goes_left = missing_left[node] if np.isnan(value) else value <= threshold[node]
        node = left[node] if goes_left else right[node]
    return node


@kernel
def follow_tree(
    X: F8, feature: I4, threshold: F8, missing_left: B1, left: I4, right: I4, category_first: I8, categories: F8,
    node_masks: U8, node_values: F8, cost: F8, resource_masks: U8, resource_cost: F8, masks: U8, bought: F8,
    leaves: I4, values: F8,
) -> bool:  # fmt: skip
    """Find the leaf of each row, and update the price of rows that acquire a feature; return True if any row does.

    Parameters
    ----------
    X : float64 (rows, d)
    feature, threshold, missing_left, left, right, category_first, categories
        The tree.
    node_masks, node_values : uint64 (nodes, words), float64 (nodes,)
        Features tested on the path to each node, as bits, and the values of leaves.
    cost, resource_masks, resource_cost : float64 (d,), uint64 (R, words), float64 (R,)
        Prices, and the features that need each resource.
    masks, bought : uint64 (rows, words), float64 (rows,)
        Features that each row has acquired, and their price with resources; changed.
    leaves, values : int32 (rows,), float64 (rows,)
        Output: the leaf of each row, and its value.
    """
    some = False
    for i in range(X.shape[0]):
        node = _leaf(X[i], feature, threshold, missing_left, left, right, category_first, categories)
        leaves[i], values[i] = node, node_values[node]
        new = False
        for w in range(masks.shape[1]):
            new |= (node_masks[node, w] & ~masks[i, w]) != 0
            masks[i, w] |= node_masks[node, w]
        if not new:
            continue
        some, total = True, 0.0
        for u in range(cost.shape[0]):  # all in order, to round like a report
            total += np.float64((masks[i, u >> 6] >> np.uint64(u & 63)) & ONE) * cost[u]
        for r in range(resource_cost.shape[0]):
            needed = np.uint64(0)
            for w in range(masks.shape[1]):
                needed |= masks[i, w] & resource_masks[r, w]
            if needed != 0:
                total += resource_cost[r]
        bought[i] = total
    return some
