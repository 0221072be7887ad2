"""A stage tree laid out for single rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe import engine
from costframe.core.learners import node_layout
from costframe.core.learners.row_nodes import MISSING_LEFT_AT, NAMED_AT, READING_AT, STEPS_AT
from costframe.core.learners.tree_table import TREE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.node_layout import NodeLayout
    from costframe.core.learners.tree_table import TreeTable


@frozen(eq=False, slots=False)
class RowLayout:
    """The parts of a `StageLayout` that a single row needs."""

    word: NDArray[np.int64]  # (nodes,); see `row_nodes`; features are columns of X, and bits for look-ahead are 0
    threshold: NDArray[np.float64]  # (nodes,)
    span: NDArray[np.int64]  # (nodes, 2): first category, and last + 1; no rows if no node tests for categories
    category: NDArray[np.float64]
    use: NDArray[np.int64]  # (L, 5): whether it is a tree; place; first of payload; first target, and last + 1
    fill: NDArray[np.float64]  # (L,)
    target: NDArray[np.int64]
    payload: NDArray[np.float64]
    stage: NDArray[np.int64]  # (stages, 4): first use, and last + 1; below; above
    stage_value: NDArray[np.float64]  # (stages, 1 + K): threshold, intercept

    @cached_property
    def packed(self) -> engine.Struct:
        """The layout as the engine takes it."""
        return engine.Row.of(self)


def lay_out_row(
    nodes: NodeLayout, table: TreeTable, used: NDArray[np.int64], use: tuple[NDArray[Any], ...], **parts: NDArray[Any]
) -> RowLayout:
    """Lay out a stage tree whose nodes are those of a table; `use` has the columns of `RowLayout.use`."""
    at, first = nodes.origin, table.category_first
    steps = (nodes.word >> node_layout.STEPS_AT & node_layout.STEPS_BITS).astype(np.int64)
    named, missing_left = table.category_count[at] > 0, table.missing_left[at].astype(np.int64)
    word = steps << STEPS_AT | named.astype(np.int64) << NAMED_AT | missing_left << MISSING_LEFT_AT
    word |= table.reading[at].astype(np.int64) << READING_AT
    kind, *others = use
    return RowLayout(
        word=word | np.append(used, 0)[nodes.feature],
        threshold=table.threshold[at],
        span=np.stack([first[at], first[at + 1]], axis=1) if named.any() else np.empty((0, 2), np.int64),
        category=np.array(table.categories),
        use=np.stack([kind == TREE, *others], axis=1).astype(np.int64),
        **parts,
    )
