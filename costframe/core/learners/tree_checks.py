"""Checks of tables of trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.errors import BankError
from costframe.core.learners.readings import WHOLE, WHOLE_FLOAT32, ZERO_MISSING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.tree_table import TreeTable

MOST_NODES, MOST_COLUMNS, MOST_RANKS = 2**22, 2**18, 2**23 - 1  # what the words of `node_layout` hold
SHARED_WORDS = 16  # of bits, for each of the tests for categories that share a code column
_SMALL = 2**17  # nodes and categories that fit, whatever they are


def check_trees(table: TreeTable) -> None:
    """Refuse arrays that do not describe trees, and name the first wrong tree and node.

    Raises
    ------
    BankError
    """
    _check_shapes(table)
    _check_nodes(table)
    _check_categories(table)
    check_sizes(table)


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
    for name in ("feature", "threshold", "missing_left", "left", "right", "value", "category_count", "reading"):
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
    _refuse(table, ~leaf & (table.value >= 0), "is a test and has outputs")
    check_values(table)


def _check_categories(table: TreeTable) -> None:
    count, categories = table.category_count, table.categories
    _refuse(table, table.reading > WHOLE_FLOAT32, "has an unknown reading")
    _refuse(table, (table.reading >= WHOLE) & (count == 0), "reads categories and has none")
    _refuse(table, (table.reading == ZERO_MISSING) & (count > 0), "reads zero as missing and tests for categories")
    _refuse(table, (count < 0) | ((count > 0) & (table.feature < 0)), "is no test and has categories")
    if categories.shape != (int(count.sum(dtype=np.int64)),):
        raise BankError(f"trees: 'categories' must have shape ({int(count.sum())},), got {categories.shape}")
    if not len(categories):
        return
    _refuse(table, (count > 0) & ~np.isnan(table.threshold), "has both categories and a threshold")
    node = np.repeat(np.arange(table.n_nodes), count)
    descending = np.append(False, (node[1:] == node[:-1]) & ~(categories[1:] > categories[:-1]))
    last = np.append(node[1:] != node[:-1], True)
    odd = ~np.isfinite(categories) & ~(np.isnan(categories) & last)
    wrong = np.bincount(node, weights=descending & ~np.isnan(categories) | odd, minlength=table.n_nodes)
    _refuse(table, wrong > 0, "must have categories that are finite and ascending, but for a NaN at the end")


def check_sizes(table: TreeTable) -> None:
    """Refuse trees whose nodes do not fit the words of `node_layout`: before anybody lays them out, and all alike.

    Raises
    ------
    BankError
    """
    _refuse_many(int(np.diff(table.first).max(initial=0)), MOST_NODES, "nodes in one tree")
    if table.n_nodes + len(table.categories) < _SMALL:
        return
    named, feature = table.category_count > 0, table.feature.astype(np.int64)
    numeric = np.flatnonzero((feature >= 0) & ~named)
    columns = len(np.unique(8 * feature[numeric] + 2 * table.reading[numeric] + table.missing_left[numeric]))
    if np.bincount(feature[numeric]).max(initial=0) >= MOST_RANKS:
        cuts = _count_distinct(feature[numeric], table.threshold[numeric])
        _refuse_many(int(cuts.max()), MOST_RANKS, "thresholds of one feature")
    tests = np.bincount(feature[named])
    of_category = np.repeat(feature[named], table.category_count[named])
    given = np.bincount(of_category, minlength=len(tests))
    known = _count_distinct(of_category, table.categories, len(tests))
    words = tests + np.minimum(tests * (known // 64), SHARED_WORDS * tests + 4 * given)
    shared = np.where(known // 64 > SHARED_WORDS, 1 + given // (32 * SHARED_WORDS), 0)
    _refuse_many(columns + int(((tests > 0) + shared).sum()), MOST_COLUMNS, "ways to test features")
    _refuse_many(int(words.sum()), MOST_RANKS, "words for tests of categories")


def _count_distinct(feature: NDArray[np.int64], values: NDArray[np.float64], size: int = 0) -> NDArray[np.int64]:
    """Count the distinct values of each feature: int64 (at least size,); NaNs differ."""
    order = np.lexsort((values, feature))
    first, second = order[:-1], order[1:]
    fresh = np.append(True, (feature[first] != feature[second]) | (values[first] != values[second]))[: len(order)]
    return np.bincount(feature[order][fresh], minlength=size)


def _refuse_many(count: int, most: int, what: str) -> None:
    if count >= most:
        raise BankError(f"trees: expected fewer than {most:,} {what}, got {count:,}")


def _refuse(table: TreeTable, bad: NDArray[np.bool_], what: str) -> None:
    if bad.any():
        node = int(np.argmax(bad))
        tree = int(np.searchsorted(table.first, node, side="right")) - 1
        raise BankError(f"tree {tree}, node {node - int(table.first[tree])}: {what}")
