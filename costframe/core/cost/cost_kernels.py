"""Compiled sums of prices: of the features that rows acquire, of sets of rows; and leaves of a tree.

Sets of features or rows are bits in words of 64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import B1, F8, I4, I8, U1, U8, kernel
from costframe.core.learners.readings import PLAIN
from costframe.core.learners.row_kernels import read_cell
from costframe.core.prices.needs_kernels import ascend, bit_number, change_needed

if TYPE_CHECKING:
    from costframe.core.prices.needs import Needs

BYTE = np.uint64(255)
_ROWS = 256  # whose words and totals the nearest cache holds


@kernel
def _price_word(word: U8, columns: I8, cost: F8, weight: F8, acquired: B1, totals: F8, features: F8) -> None:
    """Note and price the features of a block's rows that have a bit in one word each; see `price_rows`.

    Each loop without branches works on several rows, or features, at once; none changes the order of a sum.
    """
    n_rows, n_features, first = word.shape[0], columns.shape[0], np.uint64(columns[0])
    side_by_side = columns[-1] - columns[0] == n_features - 1
    bits = np.uint64(1) << np.arange(n_features).astype(np.uint64)
    for u in range(n_features):
        bit, price = bits[u], cost[u]
        for i in range(n_rows):
            totals[i] += price if word[i] & bit != 0 else 0.0
    for i in range(n_rows):
        own, mass, flags = word[i], weight[i], acquired[i]
        for u in range(n_features):
            features[u] += mass if own & bits[u] != 0 else 0.0
        if side_by_side:
            for u in range(np.uint64(n_features)):
                flags[first + u] = own & bits[u] != 0
        else:
            for u in range(n_features):
                flags[columns[u]] = own & bits[u] != 0


@kernel
def price_rows(
    masks: U8, columns: I8, cost: F8, needs: Needs, resource_cost: F8, weight: F8,
    acquired: B1, per_row: F8, features: F8, resources: F8,
) -> None:  # fmt: skip
    """Add the cost of each row's features, bits in `masks` for some columns, and of their resources to `per_row`.

    Note these in `acquired`, which is False before. Add the weights of the rows that bought each feature and resource
    to `features` and `resources`. Sums are in the order of the features, then in that of the resources.
    """
    paid, found = np.zeros(resource_cost.shape[0], np.uint8), np.empty(resource_cost.shape[0], np.int64)
    word, totals = np.empty(_ROWS, np.uint64), np.empty(_ROWS)
    for start in range(0, masks.shape[0], _ROWS):
        end = min(masks.shape[0], start + _ROWS)
        totals[:] = 0.0
        for w in range(masks.shape[1]):
            own, some, any_bits = word[: end - start], slice(64 * w, min(64 * w + 64, cost.shape[0])), np.uint64(0)
            for i in range(start, end):
                own[i - start] = masks[i, w]
                any_bits |= masks[i, w]
            if any_bits != 0:
                _price_word(
                    own, columns[some], cost[some], weight[start:end], acquired[start:end], totals, features[some]
                )
        for i in range(start, end if needs.need.shape[0] else start):
            count = 0
            for w in range(masks.shape[1]):
                rest = masks[i, w]
                while rest != 0:
                    lowest = rest & (~rest + np.uint64(1))
                    count = change_needed(64 * w + bit_number(int(lowest)), needs, paid, 0, 1, found, count)
                    rest ^= lowest
            ascend(found, count, paid, 1)
            for at in range(count):
                totals[i - start] += resource_cost[found[at]]
                resources[found[at]] += weight[i]
                paid[found[at]] = 0
        for i in range(start, end):
            per_row[i] += totals[i - start]


@kernel
def _price_row(mask: U8, cost: F8, needs: Needs, resource_cost: F8, paid: U1, found: I8) -> float:
    """Return the price of a row's features and of their resources; `paid` (zeros) and `found` are room for these."""
    total, count = 0.0, 0
    for u in range(cost.shape[0]):
        if mask[u >> 6] >> np.uint64(u & 63) & np.uint64(1):
            total += cost[u]
            count = change_needed(u, needs, paid, 0, 1, found, count)
    ascend(found, count, paid, 1)
    for at in range(count):
        total += resource_cost[found[at]]
        paid[found[at]] = 0
    return total


@kernel
def pay_tree(
    X: F8, feature: I4, threshold: F8, missing_left: B1, left: I4, right: I4, category_first: I8, categories: F8,
    reading: U1, split: F8, learner: float, reuse: float, cost: F8, needs: Needs, resource_cost: F8,
    masks: U8, computed: F8, bought: F8, leaves: I8,
) -> bool:  # fmt: skip
    """Set the leaf of each row in one tree, and pay for it; return whether any row paid.

    A row adds the features on its path to its bits in `masks`, their price with resources is then in `bought`, and the
    price of learner, comparisons and uses is added to `computed`. A node with categories sends them against its missing
    way. For a tree that is used once, this is faster than a layout with codes.
    """
    path, paid_by_any = np.empty(feature.shape[0], np.int32), False
    paid, found = np.zeros(resource_cost.shape[0], np.uint8), np.empty(resource_cost.shape[0], np.int64)
    for i in range(X.shape[0]):
        node, depth, uses, spent, fresh = 0, 0, 0, 0.0, False
        while feature[node] >= 0:
            f = feature[node]
            bit = np.uint64(1) << np.uint64(f & 63)
            fresh |= masks[i, f >> 6] & bit == 0
            masks[i, f >> 6] |= bit
            spent += split[f]
            if reuse != 0:
                path[depth] = f
                uses += not (path[:depth] == f).any()
                depth += 1
            value = X[i, f]
            if reading[node] != PLAIN:
                value = read_cell(value, reading[node])
            begin, end = category_first[node], category_first[node + 1]
            if begin < end:
                at = begin + np.searchsorted(categories[begin:end], value)
                member = at < end and (categories[at] == value or (np.isnan(value) and np.isnan(categories[at])))
                goes_left = missing_left[node] != member
            else:
                goes_left = missing_left[node] if np.isnan(value) else value <= threshold[node]
            node = left[node] if goes_left else right[node]
        leaves[i] = node
        if fresh:
            bought[i] = _price_row(masks[i], cost, needs, resource_cost, paid, found)
        spent += learner + reuse * uses
        computed[i] += spent
        paid_by_any |= fresh or spent != 0.0
    return paid_by_any


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
def unite_sets(first: I4, output: I4, used: B1, sets: U8, found: U8) -> None:
    """Unite the sets of each group's entries whose output is used; the entries of group g begin at first[g]."""
    for g in range(found.shape[0]):
        for entry in range(first[g], first[g + 1]):
            if used[output[entry]]:
                found[g] |= sets[entry]


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
