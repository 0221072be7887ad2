"""Compiled walks through the nodes of trees: the features on the way to each node, their number and their price."""

import numpy as np

from costframe.core.jit import F8, I4, I8, U8, kernel
from costframe.core.learners.row_nodes import FRESH_AT, NEARER_AT, STEPS_AT


@kernel
def mark_paths(parent: I8, feature: I4, masks: U8) -> None:
    """Set the features tested on the path to each node, as bits; parents come before their children."""
    for node in range(parent.shape[0]):
        if parent[node] != node:
            f = feature[parent[node]]
            for w in range(masks.shape[1]):
                masks[node, w] = masks[parent[node], w]
            masks[node, f >> 6] |= np.uint64(1) << np.uint64(f & 63)


@kernel
def price_paths(parent: I8, feature: I4, split: F8, spent: F8) -> None:
    """Set the price of the comparisons on the path to each node; parents come before their children."""
    for node in range(parent.shape[0]):
        if parent[node] != node:
            spent[node] = spent[parent[node]] + split[feature[parent[node]]]


@kernel
def count_paths(parent: I8, feature: I4, counts: I8, n_features: int) -> None:
    """Set the number of features tested on the path to each node, in time linear in the nodes."""
    n_nodes = parent.shape[0]
    left, right = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    for node in range(n_nodes):
        if parent[node] != node:
            right[parent[node]] = node
    for node in range(n_nodes - 1, -1, -1):
        if parent[node] != node:
            left[parent[node]] = node
    times, stack = np.zeros(n_features, np.int64), np.empty(n_nodes + 2, np.int64)
    for root in range(n_nodes):
        if parent[root] != root:
            continue
        stack[0], size, distinct = root, 1, 0
        while size > 0:
            node = stack[size - 1]
            if node < 0:  # both ways below have been taken
                f = feature[-1 - node]
                times[f] -= 1
                distinct -= 1 if times[f] == 0 else 0
                size -= 1
                continue
            counts[node] = distinct
            f = feature[node]
            if f < 0:
                size -= 1
                continue
            stack[size - 1] = -1 - node
            distinct += 1 if times[f] == 0 else 0
            times[f] += 1
            stack[size], stack[size + 1] = left[node], right[node]
            size += 2


@kernel
def look_below(counts: I8, word: I8, reads: I8) -> None:
    """Set the bits for look-ahead and `StepLayout.reads` from the number of features tested on the way to each node."""
    shortest = np.zeros(word.shape[0], np.int64)
    for v in range(word.shape[0] - 1, -1, -1):  # children come after their parents
        if word[v] >> STEPS_AT != 0:
            left = v + (word[v] >> STEPS_AT)
            nearer = np.int64(shortest[left + 1] < shortest[left])
            shortest[v] = 1 + shortest[left + nearer]
            reads[v] = np.int64(1) << (word[v] & 63) | reads[left] | reads[left + 1]
            word[v] |= (counts[left] - counts[v]) << FRESH_AT | nearer << NEARER_AT
