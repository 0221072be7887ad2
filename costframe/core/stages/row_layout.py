"""A stage tree laid out for single rows: few arrays, for each costs time at the door of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from costframe.core.learners.node_layout import STEPS_AT, STEPS_BITS
from costframe.core.learners.tree_table import TREE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.node_layout import NodeLayout
    from costframe.core.learners.tree_table import TreeTable


class RowLayout(NamedTuple):
    """The parts of a `StageLayout` that a single row needs, and the values that nodes compare."""

    # (nodes, 5): steps to the left child, 0 at leaves; column of X; whether NaN goes left; first category, and last + 1
    node: NDArray[np.int64]
    threshold: NDArray[np.float64]  # (nodes,)
    category: NDArray[np.float64]
    use: NDArray[np.int64]  # (L, 5): whether it is a tree; place; first of payload; first target, and last + 1
    fill: NDArray[np.float64]  # (L,)
    target: NDArray[np.int64]
    payload: NDArray[np.float64]
    stage: NDArray[np.int64]  # (stages, 4): first use, and last + 1; below; above
    stage_value: NDArray[np.float64]  # (stages, 1 + K): threshold, intercept


def lay_out_row(
    nodes: NodeLayout, table: TreeTable, used: NDArray[np.int64], use: tuple[NDArray[Any], ...], **parts: NDArray[Any]
) -> RowLayout:
    """Lay out a stage tree whose nodes are those of a table; `use` has the columns of `RowLayout.use`."""
    at, categories = nodes.origin, table.category_first
    steps = (nodes.word >> STEPS_AT & STEPS_BITS).astype(np.int64)
    column = np.append(used, 0)[nodes.feature]
    node = np.stack([steps, column, table.missing_left[at], categories[at], categories[at + 1]], axis=1)
    kind, *others = use
    return RowLayout(
        node=node,
        threshold=table.threshold[at],
        category=np.array(table.categories),
        use=np.stack([kind == TREE, *others], axis=1).astype(np.int64),
        **parts,
    )
