"""Tables of trees: all trees of a bank in flat arrays of fixed width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import Factory, field, fields, frozen
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import B1, F8, I8, U8, frozen_array, frozen_flags, frozen_floats
from costframe.core.errors import BankError, brief, format_count
from costframe.engine import constants

TREE, COLUMN, OPAQUE = constants("tree_kind", "column_kind", "opaque_kind")  # kinds of weak learners
MOST_NODES, MOST_COLUMNS, MOST_RANKS = constants("most_nodes", "most_columns", "most_ranks")  # of words of nodes
# Readings of a value before a node tests it.
PLAIN, ZERO_MISSING, WHOLE, WHOLE_FLOAT32 = constants("plain", "zero_missing", "whole", "whole_float32")
TINY = 1.0000000180025095e-35  # float32(1e-35): LightGBM takes numbers up to here for zero
SHARED_WORDS = 16  # of bits, for each of the tests for categories that share a code column
_SMALL = 2**17  # nodes and categories that fit, whatever they are


def _int32(values: ArrayLike) -> NDArray[np.int32]:
    return frozen_array(values, np.int32)


def _int64(values: ArrayLike) -> I8:
    return frozen_array(values, np.int64)


def _uint8(values: ArrayLike) -> U8:
    return frozen_array(values, np.uint8)


@frozen(eq=False, repr=False)
class TreeTable:
    """Binary decision trees: a row goes left iff its value is at most the threshold, NaN where `missing_left` says.

    A node with categories tests for them instead: a value equal to one of them goes against the missing way, and any
    other value, an unknown category or NaN, goes the missing way. NaN may itself be one of the categories.

    Parameters
    ----------
    first : int64 (trees + 1,)
        Position of each tree's first node, its root, in the node arrays.
    feature : int32 (nodes,)
        Column that an inner node tests; -1 at a leaf.
    threshold : float64 (nodes,)
        `x <= threshold` goes left; no value passes NaN, which nodes with categories must have. Ignored at leaves.
    missing_left : bool (nodes,)
        Whether NaN goes left. Ignored at leaves.
    left, right : int32 (nodes,)
        Children, counted from the tree's first node and larger than their parent; -1 at leaves.
    width : int32 (trees,)
        Number of outputs K_t of each tree.
    value : int64 (nodes,)
        Position of the first of a leaf's `width` outputs in `values`; -1 at inner nodes.
    values : float64 (any,)
        Outputs of all leaves.
    category_count : int32 (nodes,)
        Number of categories of a node; zero by default, at leaves and at comparisons of numbers.
    categories : float64 (sum of category_count,)
        Categories of all nodes, node by node: ascending within a node, finite but for a NaN at the end.
    reading : uint8 (nodes,)
        Foreign libraries' readings of a value x before the test; PLAIN, the default, changes nothing. ZERO_MISSING
        reads |x| <= float32(1e-35) as NaN. For categories only, WHOLE cuts the fraction off, and WHOLE_FLOAT32 does so
        after rounding x to float32 and reads a negative number as no category.

    Raises
    ------
    BankError
        If the arrays do not describe trees; the text names the first wrong tree and node.
    """

    first: I8 = field(converter=_int64)
    feature: NDArray[np.int32] = field(converter=_int32)
    threshold: F8 = field(converter=frozen_floats)
    missing_left: B1 = field(converter=frozen_flags)
    left: NDArray[np.int32] = field(converter=_int32)
    right: NDArray[np.int32] = field(converter=_int32)
    width: NDArray[np.int32] = field(converter=_int32)
    value: I8 = field(converter=_int64)
    values: F8 = field(converter=frozen_floats)
    category_count: NDArray[np.int32] = field(
        converter=_int32, default=Factory(lambda self: np.zeros(len(self.feature)), takes_self=True)
    )
    categories: F8 = field(converter=frozen_floats, default=())
    reading: U8 = field(converter=_uint8, default=Factory(lambda self: np.zeros(len(self.feature)), takes_self=True))

    def __attrs_post_init__(self) -> None:
        _check_trees(self)

    def __repr__(self) -> str:
        """Count trees and nodes; the arrays would fill pages."""
        return brief(self, format_count(len(self), "tree"), format_count(self.n_nodes, "node"))

    def __len__(self) -> int:
        """Count the trees."""
        return len(self.first) - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return len(self.feature)

    @property
    def tree_of_node(self) -> I8:
        """Tree of each node: int64 (nodes,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    @property
    def category_first(self) -> I8:
        """Position of each node's first category in `categories`: int64 (nodes + 1,)."""
        first = np.zeros(len(self.category_count) + 1, np.int64)
        if len(self.categories):
            np.cumsum(self.category_count, out=first[1:])
        return first

    @classmethod
    def empty(cls) -> TreeTable:
        """Make a table without trees."""
        none = np.empty(0)
        return cls([0], none, none, none, none, none, none, none, none)

    @classmethod
    def single(
        cls,
        feature: ArrayLike,
        threshold: ArrayLike,
        missing_left: ArrayLike,
        left: ArrayLike,
        right: ArrayLike,
        outputs: ArrayLike,
        categories: Mapping[int, ArrayLike] | None = None,
        *,
        reading: ArrayLike = PLAIN,
        grown: bool = False,
    ) -> TreeTable:
        """Make the table of one tree; if it was `grown`, with arrays of the table's types, check its outputs only.

        `outputs` is float64 (nodes,) or (nodes, K), used at leaves; `categories` maps nodes to their categories,
        and `reading` is one for all nodes, or one for each.
        """
        sets = {node: np.asarray(values, np.float64) for node, values in sorted((categories or {}).items())}
        values = np.asarray(outputs, np.float64)
        values = values.reshape(len(values), -1)
        leaf, count = (np.asarray(feature) < 0).nonzero()[0], np.zeros(len(values), np.int32)
        value = np.full(len(values), -1)
        value[leaf] = np.arange(len(leaf)) * values.shape[1]
        if sets:
            count[list(sets)] = [len(members) for members in sets.values()]
        arrays: dict[str, Any] = {
            "first": np.array([0, len(values)]),
            "feature": feature,
            "threshold": threshold,
            "missing_left": missing_left,
            "left": left,
            "right": right,
            "width": np.array([values.shape[1]], np.int32),
            "value": value,
            "values": values[leaf].ravel(),
            "category_count": count,
            "categories": np.concatenate([np.empty(0), *sets.values()]) if sets else np.empty(0),
            "reading": np.full(len(values), reading, np.uint8),
        }
        if not grown:
            return cls(**arrays)
        table = cls._of_checked(arrays)
        _check_values(table)
        return table

    @classmethod
    def _of_checked(cls, arrays: dict[str, NDArray[Any]]) -> TreeTable:
        """Make a table of arrays that describe trees and have its types; it checks sizes only, and copies nothing."""
        table = cls.__new__(cls)
        for name, array in arrays.items():
            view = array.view()
            view.setflags(write=False)
            object.__setattr__(table, name, view)
        _check_sizes(table)
        return table

    @classmethod
    def concatenate(cls, tables: Sequence[TreeTable]) -> TreeTable:
        """Join the trees of several tables, in order."""
        if not tables:
            return cls.empty()
        joined = {
            attribute.name: np.concatenate([getattr(table, attribute.name) for table in tables])
            for attribute in fields(cls)
        }
        n_nodes, n_outputs = np.array([(table.n_nodes, len(table.values)) for table in tables]).T
        nodes, outputs = np.cumsum(n_nodes) - n_nodes, np.cumsum(n_outputs) - n_outputs
        first = [table.first[1:] + at for table, at in zip(tables, nodes, strict=True)]
        joined["first"] = np.concatenate([np.zeros(1, np.int64), *first])
        joined["value"] += np.where(joined["value"] < 0, 0, np.repeat(outputs, n_nodes))
        return cls._of_checked(joined)

    def restrict(self, trees: Sequence[int] | I8) -> TreeTable:
        """Keep the given trees, in the given order; refuse numbers of no tree."""
        trees = np.asarray(trees, np.int64)
        if ((trees < 0) | (trees >= len(self))).any():
            raise BankError(f"trees: expected numbers below {len(self)}, got {trees.tolist()}")
        if np.array_equal(trees, np.arange(len(self))):
            return self
        sizes = np.diff(self.first)[trees]
        first = np.concatenate([[0], np.cumsum(sizes)])
        nodes = np.repeat(self.first[trees] - first[:-1], sizes) + np.arange(first[-1])
        leaf = self.feature[nodes] < 0
        widths = np.repeat(self.width[trees], sizes)
        begin = np.cumsum(np.where(leaf, widths, 0)) - widths
        counts = self.category_count[nodes]
        of_nodes = ("feature", "threshold", "missing_left", "left", "right", "reading")
        return self._of_checked({
            **{name: getattr(self, name)[nodes] for name in of_nodes},
            "first": first,
            "width": self.width[trees],
            "value": np.where(leaf, begin, -1),
            "values": self.values[ranges(self.value[nodes][leaf], widths[leaf])],
            "category_count": counts,
            "categories": self.categories[ranges(self.category_first[:-1][nodes], counts)],
        })  # fmt: skip

    def remap_features(self, columns: NDArray[np.int32]) -> TreeTable:
        """Return the same trees with column `columns[f]` in place of column f; refuse negative ones that trees test."""
        feature = np.where(self.feature < 0, -1, columns[self.feature]) if self.n_nodes else self.feature
        _refuse(self, (self.feature >= 0) & (feature < 0), "tests a negative column")
        arrays = {attribute.name: getattr(self, attribute.name) for attribute in fields(TreeTable)}
        return self._of_checked(arrays | {"feature": feature.astype(np.int32)})

    def node_levels(self) -> NDArray[np.int32]:
        """Return the number of comparisons before each node: int32 (nodes,)."""
        level = np.zeros(self.n_nodes, np.int32)
        current, positions = self.first[:-1], self.node_positions
        while len(current):  # one step per level of the deepest tree
            current = current[self.feature[current] >= 0]
            base = current - positions[current]
            level_here = level[current] + 1
            below, above = base + self.left[current], base + self.right[current]
            level[below] = level_here
            level[above] = level_here
            current = np.concatenate([below, above])
        return level

    @property
    def node_positions(self) -> I8:
        """Return each node's number within its tree: int64 (nodes,)."""
        return np.arange(self.n_nodes) - np.repeat(self.first[:-1], np.diff(self.first))


def ranges(first: I8, count: NDArray[np.int32]) -> I8:
    """Return consecutive numbers from first[0], `count[0]` of them, then from first[1], ...: int64 (sum of count,)."""
    before = np.cumsum(count, dtype=np.int64) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()))


def _check_trees(table: TreeTable) -> None:
    """Refuse arrays that do not describe trees, and name the first wrong tree and node."""
    _check_shapes(table)
    _check_nodes(table)
    _check_categories(table)
    _check_sizes(table)


def _check_values(table: TreeTable) -> None:
    """Refuse outputs that are not finite."""
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
    _check_values(table)


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


def _check_sizes(table: TreeTable) -> None:
    """Refuse trees whose nodes do not fit the words of `node_layout`: before anybody lays them out, and all alike."""
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


def _count_distinct(feature: I8, values: F8, size: int = 0) -> I8:
    """Count the distinct values of each feature: int64 (at least size,); NaNs differ."""
    order = np.lexsort((values, feature))
    first, second = order[:-1], order[1:]
    fresh = np.append(True, (feature[first] != feature[second]) | (values[first] != values[second]))[: len(order)]
    return np.bincount(feature[order][fresh], minlength=size)


def _refuse_many(count: int, most: int, what: str) -> None:
    if count >= most:
        raise BankError(f"trees: expected fewer than {most:,} {what}, got {count:,}")


def _refuse(table: TreeTable, bad: B1, what: str) -> None:
    if bad.any():
        node = int(np.argmax(bad))
        tree = int(np.searchsorted(table.first, node, side="right")) - 1
        raise BankError(f"tree {tree}, node {node - int(table.first[tree])}: {what}")
