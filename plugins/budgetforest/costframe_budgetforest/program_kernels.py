"""Compiled steps of the pruning program: its purchases, its dual, and prunings that keep the other trees."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from costframe.plugin import F8, I4, I8, U1, kernel

F4 = NDArray[np.float32]

SMALLEST = 1e-5  # share, so that it can grow again


class Nodes(NamedTuple):
    """All trees' nodes; parents come before their children."""

    tree_first: I8  # (trees + 1,)
    parent: I8  # -1 at roots
    left: I8
    right: I8  # -1 at leaves
    error: F8  # of a leaf there
    fixed: F8  # price of a test there that no other tree shares
    item_first: I8
    item: I4  # that a test buys first on its way
    up: I8  # the nearest node above that buys an item, or -1


class Purchases(NamedTuple):
    """All pairs of a row and an item, row by row, and in each the nodes that buy it, one of a tree."""

    first: I8  # (pairs + 1,)
    row: I4
    item: I4
    node: I4  # (entries,)


@kernel
def list_items(parent: I8, feature: I4, priced: U1, need_first: I8, need: I8, first: I8, item: I4) -> int:
    """Set the priced items that each test buys first on its way, and return their number; count if `item` is empty.

    Items are the d features, then the resources.
    """
    d, found = need_first.shape[0] - 1, 0
    mark = np.full(priced.shape[0], -1, np.int64)
    for node in range(parent.shape[0]):
        first[node] = found
        f = feature[node]
        if f >= 0:
            above = parent[node]
            while above >= 0:
                g = feature[above]
                mark[g] = node
                for at in range(need_first[g], need_first[g + 1]):
                    mark[d + need[at]] = node
                above = parent[above]
            for at in range(need_first[f] - 1, need_first[f + 1]):
                k = f if at < need_first[f] else d + need[at]
                if mark[k] != node and priced[k] != 0:
                    if item.shape[0] > 0:
                        item[found] = k
                    found += 1
    first[parent.shape[0]] = found
    return found


@kernel
def count_entries(leaves: I8, nodes: Nodes, n_items: int) -> tuple[int, int]:
    """Return the numbers of entries and of pairs of `Purchases`; leaves are (n, trees)."""
    entries, pairs, mark = 0, 0, np.full(n_items, -1, np.int64)
    for i in range(leaves.shape[0]):
        for t in range(leaves.shape[1]):
            node = nodes.up[leaves[i, t]]
            while node >= 0:
                for at in range(nodes.item_first[node], nodes.item_first[node + 1]):
                    entries += 1
                    if mark[nodes.item[at]] != i:
                        mark[nodes.item[at]] = i
                        pairs += 1
                node = nodes.up[node]
    return entries, pairs


@kernel
def fill_entries(leaves: I8, nodes: Nodes, n_items: int, found: Purchases) -> None:
    """Set the entries, sorted by row and item."""
    count, place = np.zeros(n_items, np.int64), np.zeros(n_items, np.int64)
    pair, entry = 0, 0
    for i in range(leaves.shape[0]):
        count[:] = 0
        for t in range(leaves.shape[1]):
            node = nodes.up[leaves[i, t]]
            while node >= 0:
                for at in range(nodes.item_first[node], nodes.item_first[node + 1]):
                    count[nodes.item[at]] += 1
                node = nodes.up[node]
        for k in range(n_items):
            if count[k] > 0:
                found.first[pair], found.row[pair], found.item[pair] = entry, i, k
                place[k] = entry
                entry += count[k]
                pair += 1
        for t in range(leaves.shape[1]):
            node = nodes.up[leaves[i, t]]
            while node >= 0:
                for at in range(nodes.item_first[node], nodes.item_first[node + 1]):
                    k = nodes.item[at]
                    found.node[place[k]] = node
                    place[k] += 1
                node = nodes.up[node]
    found.first[pair] = entry


@kernel
def climb(share: F4, kept: U1, factor: float, bought: Purchases, weight: F8, price: F8, load: F8) -> None:
    """Multiply the shares of kept tests by a factor, let those of each pair sum to one, and sum up what nodes pay.

    Entry e pays weight * price * share[e] of its pair.
    """
    load[:] = 0.0
    for g in range(bought.row.shape[0]):
        begin, end = bought.first[g], bought.first[g + 1]
        total = 0.0
        for e in range(begin, end):
            if kept[bought.node[e]] != 0:
                share[e] *= factor
            total += share[e]
        scale = 1.0 / total
        whole = weight[bought.row[g]] * price[bought.item[g]]
        for e in range(begin, end):
            load[bought.node[e]] += share[e] * scale * whole
            share[e] = max(share[e] * scale, SMALLEST)


@kernel
def prune(nodes: Nodes, load: F8, first: int, last: int, value: F8, kept: U1) -> None:
    """Set the least sum of errors and prices below each node from `first` to `last`, and the tests worth keeping."""
    for node in range(last - 1, first - 1, -1):
        value[node], kept[node] = nodes.error[node], 0
        if nodes.left[node] >= 0:
            below = value[nodes.left[node]] + value[nodes.right[node]] + nodes.fixed[node] + load[node]
            if below < value[node]:
                value[node], kept[node] = below, 1
    for node in range(first, last):
        if nodes.parent[node] >= 0 and kept[nodes.parent[node]] == 0:
            kept[node] = 0


@kernel
def price_levels(level: U1, bought: Purchases, weight: F8, price: F8, sums: F8) -> None:
    """Add the price of each pair to the sum of its highest level."""
    for g in range(bought.row.shape[0]):
        highest = level[0] - level[0]
        for e in range(bought.first[g], bought.first[g + 1]):
            highest = max(highest, level[bought.node[e]])
        sums[highest] += weight[bought.row[g]] * price[bought.item[g]]


@kernel
def _count_tree(leaves: I8, t: int, nodes: Nodes, kept: U1, count: I4, change: int) -> None:
    """Change how many trees buy each item for each row, by the purchases of one tree."""
    for i in range(leaves.shape[0]):
        node = nodes.up[leaves[i, t]]
        while node >= 0:
            if kept[node] != 0:
                for at in range(nodes.item_first[node], nodes.item_first[node + 1]):
                    count[i, nodes.item[at]] += change
            node = nodes.up[node]


@kernel
def count_buyers(leaves: I8, nodes: Nodes, kept: U1, count: I4) -> None:
    """Count the trees that buy each item for each row: (n, items)."""
    for t in range(leaves.shape[1]):
        _count_tree(leaves, t, nodes, kept, count, 1)


@kernel
def prune_one_by_one(leaves: I8, nodes: Nodes, weight: F8, price: F8, kept: U1, count: I4, load: F8, value: F8) -> None:
    """Prune each tree at its best, given the purchases of all others."""
    for t in range(leaves.shape[1]):
        _count_tree(leaves, t, nodes, kept, count, -1)
        first, last = nodes.tree_first[t], nodes.tree_first[t + 1]
        load[first:last] = 0.0
        for i in range(leaves.shape[0]):
            node = nodes.up[leaves[i, t]]
            while node >= 0:
                for at in range(nodes.item_first[node], nodes.item_first[node + 1]):
                    if count[i, nodes.item[at]] == 0:
                        load[node] += weight[i] * price[nodes.item[at]]
                node = nodes.up[node]
        prune(nodes, load, first, last, value, kept)
        _count_tree(leaves, t, nodes, kept, count, 1)


@kernel
def count_labels(leaves: I8, parent: I8, y: I8, weight: F8, counts: F8) -> None:
    """Sum up the weights of rows by node and class."""
    for t in range(leaves.shape[1]):
        for i in range(leaves.shape[0]):
            counts[leaves[i, t], y[i]] += weight[i]
    for node in range(parent.shape[0] - 1, -1, -1):
        if parent[node] >= 0:
            counts[parent[node]] += counts[node]


@kernel
def inherit(parent: I8, total: F8, shares: F8) -> None:
    """Give nodes without rows the class shares of the node above."""
    for node in range(parent.shape[0]):
        if parent[node] >= 0 and total[node] <= 0.0:
            shares[node] = shares[parent[node]]
