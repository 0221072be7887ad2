"""Contributions of trees: the changes of the expected output on a row's path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.caps.fallbacks import ExpectedOutputs
from costframe.core.learners.node_layout import tree_leaves

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from costframe.core.caps.expected_outputs import Expected
    from costframe.core.caps.fallbacks import Fallbacks
    from costframe.core.explanations.contributions import Contributions
    from costframe.core.learners.bank import WeakLearnerBank

_CELLS = 1 << 22  # of a table of rows and trees


def add_paths(
    bank: WeakLearnerBank,
    weights: Mapping[int, NDArray[np.float64]],
    expected: Expected | Fallbacks,
    X: NDArray[np.float64],
    rows: NDArray[np.int64],
    found: Contributions,
) -> None:
    """Add the contributions of trees, given the weights of their outputs, float64 (K_t, K), by learner."""
    if not weights:
        return
    trees = bank.trees.restrict(bank.index[list(weights)].astype(np.int64))
    outputs = weighted_outputs(bank, weights, expected)
    parent, base = np.full(trees.n_nodes, -1), trees.first[trees.tree_of_node]
    inner = np.flatnonzero(trees.feature >= 0)
    parent[base[inner] + trees.left[inner]] = inner
    parent[base[inner] + trees.right[inner]] = inner
    steps = np.where(parent[:, None] >= 0, outputs - outputs[parent], 0.0)
    squares, feature = (steps * steps).sum(axis=1), trees.feature[parent]
    found.base[rows] += outputs[trees.first[:-1]].sum(axis=0)
    values, sums = found.values.reshape(-1), found.squares.reshape(-1)
    n_parts, width = found.values.shape[1:]
    chunk = max(1, _CELLS // len(trees))
    for begin in range(0, len(rows), chunk):
        some = rows[begin : begin + chunk]
        node = (trees.first[:-1] + tree_leaves(trees, X[some], 1)).ravel()
        row = np.repeat(some * n_parts, len(trees))
        while len(node := node[live := parent[node] >= 0]):  # one step per level of the deepest tree
            row = row[live]
            cell = row + feature[node]
            np.add.at(sums, cell, squares[node])
            for k in range(width):
                np.add.at(values, cell * width + k, steps[node, k])
            node = parent[node]


def weighted_outputs(
    bank: WeakLearnerBank, weights: Mapping[int, NDArray[np.float64]], expected: Expected | Fallbacks
) -> NDArray[np.float64]:
    """Return the weighted expected outputs of the nodes of some trees, tree by tree: float64 (nodes, K)."""
    table, known = bank.trees, ExpectedOutputs(bank, expected)
    width = next(iter(weights.values())).shape[1]
    parts = []
    for t, weight in weights.items():
        tree = bank.index[t]
        at = known.value[table.first[tree] : table.first[tree + 1]]
        total = np.zeros((len(at), width))
        for j, k in np.argwhere(weight):
            total[:, k] += weight[j, k] * known.values[at + j]
        parts.append(total)
    return np.concatenate(parts)
