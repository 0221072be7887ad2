"""Compiled sums of prices: of the features that rows acquire, of sets of rows; and leaves of a tree.

Sets of features or rows are bits in words of 64.
"""

from __future__ import annotations

import numpy as np

from costframe.core.jit import B1, F8, I4, I8, U8, kernel

BYTE = np.uint64(255)


@kernel
def price_rows(
    masks: U8, cost: F8, resource_mask: U8, resource_cost: F8, weight: F8, per_row: F8, features: F8, resources: F8
) -> None:
    """Add the cost of each row's features, bits in `masks`, and of their resources to `per_row`.

    Add the weights of the rows that bought each feature and resource to `features` and `resources`.
    """
    for i in range(masks.shape[0]):
        total = 0.0
        for u in range(cost.shape[0]):
            bought = np.float64((masks[i, u >> 6] >> np.uint64(u & 63)) & np.uint64(1))
            total += bought * cost[u]
            features[u] += bought * weight[i]
        for r in range(resource_cost.shape[0]):
            needed = np.uint64(0)
            for w in range(masks.shape[1]):
                needed |= masks[i, w] & resource_mask[r, w]
            if needed != 0:
                total += resource_cost[r]
                resources[r] += weight[i]
        per_row[i] += total


@kernel
def find_leaves(
    X: F8, feature: I4, threshold: F8, missing_left: B1, left: I4, right: I4, category_first: I8, categories: F8,
    leaves: I8,
) -> None:  # fmt: skip
    """Set the leaf of each row in one tree; a node with categories sends them against its missing way.

    For a tree that is used once, this is faster than a layout with codes.
    """
    for i in range(X.shape[0]):
        node = 0
        while feature[node] >= 0:
            value = X[i, feature[node]]
            begin, end = category_first[node], category_first[node + 1]
            if begin < end:
                at = begin + np.searchsorted(categories[begin:end], value)
                goes_left = missing_left[node] != (at < end and categories[at] == value)
            else:
                goes_left = missing_left[node] if np.isnan(value) else value <= threshold[node]
            node = left[node] if goes_left else right[node]
        leaves[i] = node


@kernel
def _weight(word: np.uint64, place: int, mass: F8) -> float:
    """Return the weight of the rows in one word; `place` is that of its first byte."""
    total = 0.0
    for byte in range(8):
        total += mass[place + byte, np.int64((word >> np.uint64(8 * byte)) & BYTE)]
    return total


@kernel
def weigh_sets(sets: U8, mass: F8, found: F8) -> None:
    """Set found[i] to the weight of the rows in set i; see `SampledPrices.mass`."""
    for i in range(sets.shape[0]):
        total = 0.0
        for w in range(sets.shape[1]):
            if sets[i, w] != 0:
                total += _weight(sets[i, w], 8 * w, mass)
        found[i] = total


@kernel
def price_offers(first: I8, output: I8, price: F8, reads: U8, paid: U8, mass: F8, offers: F8) -> None:
    """Add the unpaid prices of each output to its offer; the entries of group g begin at first[g]."""
    for g in range(price.shape[0]):
        if price[g] == 0.0:
            continue
        for entry in range(first[g], first[g + 1]):
            due = 0.0
            for w in range(reads.shape[1]):
                fresh = reads[entry, w] & ~paid[g, w]
                if fresh != 0:
                    due += _weight(fresh, 8 * w, mass)
            offers[output[entry]] += price[g] * due


@kernel
def _note_tree(leaf: I4, base: int, parent: I8, feature: I4, entry: I8, reads: U8) -> None:
    """Set the bits of the rows that read each feature in one tree; feature f has the entry entry[f]."""
    come = np.zeros((parent.shape[0], reads.shape[1]), np.uint64)
    for i in range(leaf.shape[0]):
        come[leaf[i] - base, i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    for node in range(parent.shape[0] - 1, -1, -1):
        for w in range(reads.shape[1]):
            if feature[node] >= 0:
                reads[entry[feature[node]], w] |= come[node, w]
            if node > 0:
                come[parent[node] - base, w] |= come[node, w]


@kernel
def note_reads(
    leaves: I4, root: I8, parent: I8, feature: I4, tree: I8, first: I8, group: I8, needs: B1, reads: U8
) -> None:
    """Set the bits of the rows that read each feature of a tree, and that need each resource, for all trees.

    Row i ends at node leaves[i, t] of tree t, whose nodes begin at root[t], parents before their children. Learner l
    is tree tree[l], or not a tree if that is negative; its entries begin at first[l]: one of its own, then all features
    that it tests, and their resources.
    Groups are the learners, the features, and the resources, in this order.
    """
    n_learners, n_features = tree.shape[0], needs.shape[0]
    entry_of = np.empty(n_features, np.int64)
    for learner in range(n_learners):
        if tree[learner] < 0:
            continue
        middle = begin = first[learner] + 1
        while middle < first[learner + 1] and group[middle] < n_learners + n_features:
            entry_of[group[middle] - n_learners] = middle
            middle += 1
        base, end = root[tree[learner]], root[tree[learner] + 1]
        _note_tree(leaves[:, tree[learner]], base, parent[base:end], feature[base:end], entry_of, reads)
        for entry in range(begin, middle):
            f = group[entry] - n_learners
            for other in range(middle, first[learner + 1]):
                if needs[f, group[other] - n_learners - n_features]:
                    for w in range(reads.shape[1]):
                        reads[other, w] |= reads[entry, w]
