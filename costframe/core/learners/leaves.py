"""Leaves of rows in trees laid out, and the codes of their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe import engine
from costframe.core.learners.node_layout import lay_out_nodes
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.node_layout import NodeLayout
    from costframe.core.learners.tree_table import TreeTable


def code_values(nodes: NodeLayout, X: NDArray[np.float64], used: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
    """Return the codes of the columns `used` of C-contiguous float64 rows: uint16 or uint32 (code columns, rows)."""
    codes = np.empty((len(nodes.column_missing), len(X)), nodes.column_missing.dtype)
    engine.code_rows(X, used, nodes.packed, codes)
    return codes


def layout_leaves(nodes: NodeLayout, X: NDArray[np.float64], leaves: NDArray[np.int32]) -> None:
    """Set leaves, int32 (rows, trees), to the layout's node at which each row of X, C-contiguous float64, ends."""
    engine.walk_leaves(code_values(nodes, X, np.arange(X.shape[1])), nodes.packed, leaves)


def tree_leaves(trees: TreeTable, X: NDArray[np.float64], n_jobs: int | None = None) -> NDArray[np.int32]:
    """Return each row's leaf in every tree: int32 (rows, trees), node numbers counted from the tree's root."""
    nodes = lay_out_nodes(trees, X.shape[1])
    found = np.empty((len(X), len(trees)), np.int32)

    def chunk(part: slice) -> None:
        layout_leaves(nodes, np.ascontiguousarray(X[part], np.float64), found[part])

    over_chunks(chunk, len(X), n_jobs)
    return trees.node_positions.astype(np.int32)[nodes.origin][found]
