"""Compiled sums over sets of rows, kept as bits: weights of sets, prices of learners, rows that read a feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    B1 = NDArray[np.bool_]
    F8 = NDArray[np.float64]
    I4 = NDArray[np.int32]
    I8 = NDArray[np.int64]
    U8 = NDArray[np.uint64]

__all__ = ["note_reads", "price_offers", "weigh_sets"]

BYTE = np.uint64(255)


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
