"""Checks of tables of trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.errors import BankError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.tree_table import TreeTable


def check_trees(table: TreeTable) -> None:
    """Refuse arrays that do not describe trees, and name the first wrong tree and node.

    Raises
    ------
    BankError
    """
    _check_shapes(table)
    _check_nodes(table)
    _check_categories(table)


def check_values(table: TreeTable) -> None:
    """Refuse outputs that are not finite.

    Raises
    ------
    BankError
    """
    if not np.isfinite(table.values).all():
        raise BankError("trees: 'values' must be finite, got NaN or infinity")


def _check_shapes(table: TreeTable) -> None:
    nodes = len(table.feature)
    if table.first.ndim != 1 or len(table.first) < 1 or table.first[0] != 0 or table.first[-1] != nodes:
        raise BankError(f"trees: 'first' must run from 0 to the number of nodes ({nodes}), got {table.first!r}")
    if (np.diff(table.first) < 1).any():
        raise BankError(f"tree {int(np.argmax(np.diff(table.first) < 1))}: has no node, expected at least a root")
    for name in ("feature", "threshold", "missing_left", "left", "right", "value", "category_count"):
        shape = getattr(table, name).shape
        if shape != (nodes,):
            raise BankError(f"trees: '{name}' must have shape ({nodes},), one entry a node, got {shape}")
    if table.width.shape != (len(table),) or (table.width < 1).any():
        raise BankError(f"trees: 'width' must hold one positive number a tree ({len(table)}), got {table.width!r}")


def _check_nodes(table: TreeTable) -> None:
    leaf = table.feature < 0
    size = np.repeat(np.diff(table.first), np.diff(table.first))
    position = table.node_positions
    width = np.repeat(table.width, np.diff(table.first))
    _refuse(table, table.feature < -1, "tests a negative column")
    for side in (table.left, table.right):
        _refuse(
            table, ~leaf & ((side <= position) | (side >= size)), "has a child that is not a later node of its tree"
        )
        _refuse(table, leaf & (side != -1), "is a leaf with a child")
    inner = np.flatnonzero(~leaf)
    base = inner - position[inner]
    parents = np.bincount(np.concatenate([base + table.left[inner], base + table.right[inner]]), minlength=len(leaf))
    _refuse(table, parents != (position > 0), "does not have exactly one parent")
    _refuse(table, leaf & ((table.value < 0) | (table.value > len(table.values) - width)), "has no outputs in 'values'")
    check_values(table)


def _check_categories(table: TreeTable) -> None:
    count, categories = table.category_count, table.categories
    _refuse(table, (count < 0) | ((count > 0) & (table.feature < 0)), "is no test and has categories")
    if categories.shape != (int(count.sum(dtype=np.int64)),):
        raise BankError(f"trees: 'categories' must have shape ({int(count.sum())},), got {categories.shape}")
    if not len(categories):
        return
    _refuse(table, (count > 0) & ~np.isnan(table.threshold), "has both categories and a threshold")
    node = np.repeat(np.arange(table.n_nodes), count)
    descending = np.append(False, (node[1:] == node[:-1]) & ~(categories[1:] > categories[:-1]))
    wrong = np.bincount(node, weights=descending | ~np.isfinite(categories), minlength=table.n_nodes)
    _refuse(table, wrong > 0, "must have categories that are finite and ascending")


def _refuse(table: TreeTable, bad: NDArray[np.bool_], what: str) -> None:
    if bad.any():
        node = int(np.argmax(bad))
        tree = int(np.searchsorted(table.first, node, side="right")) - 1
        raise BankError(f"tree {tree}, node {node - int(table.first[tree])}: {what}")
