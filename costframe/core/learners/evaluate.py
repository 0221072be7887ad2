"""Evaluation of learners on tables: codes of values, leaves of trees, outputs of banks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.learners.node_layout import lay_out_nodes
from costframe.core.learners.tree_table import COLUMN, TREE
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.learners.node_layout import NodeLayout
    from costframe.core.learners.tree_table import TreeTable

__all__ = ["bank_outputs", "code_values", "layout_leaves", "tree_leaves"]


def code_values(nodes: NodeLayout, X: NDArray[np.float64], used: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the codes of the columns `used` of C-contiguous float64 rows: uint32 (rows, code columns)."""
    from costframe.core.learners import kernels

    codes = np.empty((len(X), len(nodes.column_missing)), np.uint32)
    kernels.code_rows(X, used, nodes.cut_first, nodes.cut, nodes.column_first, nodes.column_missing, codes)
    known = nodes.categories
    if len(known.category):
        kernels.code_categories(X, used, known.first, known.category, known.column, codes)
    return codes


def layout_leaves(nodes: NodeLayout, X: NDArray[np.float64], leaves: NDArray[np.int32]) -> None:
    """Set leaves, int32 (rows, trees), to the layout's node at which each row of X, C-contiguous float64, ends."""
    from costframe.core.learners import kernels

    codes = code_values(nodes, X, np.arange(X.shape[1]))
    sets = nodes.categories.sets
    kernels.walk_leaves(codes, nodes.word, sets, nodes.root, nodes.depth, nodes.by_category, leaves)


def tree_leaves(trees: TreeTable, X: NDArray[np.float64], n_jobs: int | None = None) -> NDArray[np.int32]:
    """Return each row's leaf in every tree: int32 (rows, trees), node numbers counted from the tree's root."""
    nodes = lay_out_nodes(trees, X.shape[1])
    found = np.empty((len(X), len(trees)), np.int32)

    def chunk(part: slice) -> None:
        layout_leaves(nodes, np.ascontiguousarray(X[part], np.float64), found[part])

    over_chunks(chunk, len(X), n_jobs)
    return trees.node_positions.astype(np.int32)[nodes.origin][found]


def bank_outputs(bank: WeakLearnerBank, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the outputs of all learners: float64 (rows, sum of K_t)."""
    first = np.cumsum(bank.widths) - bank.widths
    outputs = np.empty((len(X), int(bank.widths.sum())))
    leaves = tree_leaves(bank.trees, X)
    for t in range(len(bank)):
        index, to = bank.index[t], slice(first[t], first[t] + bank.widths[t])
        if bank.kind[t] == TREE:
            at = bank.trees.value[bank.trees.first[index] + leaves[:, index].astype(np.int64)]
            outputs[:, to] = bank.trees.values[at[:, None] + np.arange(bank.widths[t])]
        elif bank.kind[t] == COLUMN:
            values = X[:, bank.column_feature[index]]
            outputs[:, first[t]] = np.where(np.isnan(values), bank.column_fill[index], values)
        else:
            outputs[:, to] = bank.opaques[index](X[:, list(bank.opaques[index].features)])
    return outputs
