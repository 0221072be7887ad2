"""Tables of trees: all trees of a bank in flat arrays of fixed width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import Factory, evolve, field, fields, frozen

from costframe.core.errors import brief, format_count
from costframe.core.learners.readings import PLAIN
from costframe.core.learners.tree_checks import check_sizes, check_trees, check_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

TREE, COLUMN, OPAQUE = 0, 1, 2  # kinds of weak learners


def _frozen(values: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def _int32(values: ArrayLike) -> NDArray[np.int32]:
    return _frozen(values, np.int32)


def _int64(values: ArrayLike) -> NDArray[np.int64]:
    return _frozen(values, np.int64)


def _float64(values: ArrayLike) -> NDArray[np.float64]:
    return _frozen(values, np.float64)


def _bool(values: ArrayLike) -> NDArray[np.bool_]:
    return _frozen(values, np.bool_)


def _uint8(values: ArrayLike) -> NDArray[np.uint8]:
    return _frozen(values, np.uint8)


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

    first: NDArray[np.int64] = field(converter=_int64)
    feature: NDArray[np.int32] = field(converter=_int32)
    threshold: NDArray[np.float64] = field(converter=_float64)
    missing_left: NDArray[np.bool_] = field(converter=_bool)
    left: NDArray[np.int32] = field(converter=_int32)
    right: NDArray[np.int32] = field(converter=_int32)
    width: NDArray[np.int32] = field(converter=_int32)
    value: NDArray[np.int64] = field(converter=_int64)
    values: NDArray[np.float64] = field(converter=_float64)
    category_count: NDArray[np.int32] = field(
        converter=_int32, default=Factory(lambda self: np.zeros(len(self.feature)), takes_self=True)
    )
    categories: NDArray[np.float64] = field(converter=_float64, default=())
    reading: NDArray[np.uint8] = field(
        converter=_uint8, default=Factory(lambda self: np.zeros(len(self.feature)), takes_self=True)
    )

    def __attrs_post_init__(self) -> None:
        check_trees(self)

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
    def tree_of_node(self) -> NDArray[np.int64]:
        """Tree of each node: int64 (nodes,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    @property
    def category_first(self) -> NDArray[np.int64]:
        """Position of each node's first category in `categories`: int64 (nodes + 1,)."""
        return np.concatenate([[0], np.cumsum(self.category_count, dtype=np.int64)])

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
        leaf, count = np.asarray(feature) < 0, np.zeros(len(values), np.int32)
        if sets:
            count[list(sets)] = [len(each) for each in sets.values()]
        arrays: dict[str, Any] = {
            "first": np.array([0, len(values)]),
            "feature": feature,
            "threshold": threshold,
            "missing_left": missing_left,
            "left": left,
            "right": right,
            "width": np.array([values.shape[1]], np.int32),
            "value": np.where(leaf, (np.cumsum(leaf) - 1) * values.shape[1], -1),
            "values": values[leaf].ravel(),
            "category_count": count,
            "categories": np.concatenate([np.empty(0), *sets.values()]) if sets else np.empty(0),
            "reading": np.full(len(values), reading, np.uint8),
        }
        if not grown:
            return cls(**arrays)
        table = cls._of_checked(arrays)
        check_values(table)
        return table

    @classmethod
    def _of_checked(cls, arrays: dict[str, NDArray[Any]]) -> TreeTable:
        """Make a table of arrays that describe trees and have its types, without checks and copies."""
        table = cls.__new__(cls)
        for name, array in arrays.items():
            view = array.view()
            view.setflags(write=False)
            object.__setattr__(table, name, view)
        return table

    @classmethod
    def concatenate(cls, tables: Sequence[TreeTable]) -> TreeTable:
        """Join the trees of several tables, in order."""
        if not tables:
            return cls.empty()
        joined = {each.name: np.concatenate([getattr(table, each.name) for table in tables]) for each in fields(cls)}
        n_nodes, n_outputs = np.array([(table.n_nodes, len(table.values)) for table in tables]).T
        nodes, outputs = np.cumsum(n_nodes) - n_nodes, np.cumsum(n_outputs) - n_outputs
        first = [table.first[1:] + at for table, at in zip(tables, nodes, strict=True)]
        joined["first"] = np.concatenate([np.zeros(1, np.int64), *first])
        joined["value"] += np.where(joined["value"] < 0, 0, np.repeat(outputs, n_nodes))
        table = cls._of_checked(joined)
        check_sizes(table)
        return table

    def restrict(self, trees: Sequence[int] | NDArray[np.int64]) -> TreeTable:
        """Keep the given trees, in the given order."""
        trees = np.asarray(trees, np.int64)
        sizes = np.diff(self.first)[trees]
        first = np.concatenate([[0], np.cumsum(sizes)])
        nodes = np.repeat(self.first[trees] - first[:-1], sizes) + np.arange(first[-1])
        leaf = self.feature[nodes] < 0
        widths = np.repeat(self.width[trees], sizes)
        begin = np.cumsum(np.where(leaf, widths, 0)) - widths
        counts = self.category_count[nodes]
        return TreeTable(
            first,
            self.feature[nodes],
            self.threshold[nodes],
            self.missing_left[nodes],
            self.left[nodes],
            self.right[nodes],
            self.width[trees],
            np.where(leaf, begin, -1),
            self.values[ranges(self.value[nodes][leaf], widths[leaf])],
            counts,
            self.categories[ranges(self.category_first[:-1][nodes], counts)],
            self.reading[nodes],
        )

    def remap_features(self, columns: NDArray[np.int32]) -> TreeTable:
        """Return the same trees with column `columns[f]` in place of column f."""
        feature = np.where(self.feature < 0, -1, columns[self.feature]) if self.n_nodes else self.feature
        return evolve(self, feature=feature)

    def depths(self) -> NDArray[np.int32]:
        """Return the number of comparisons on the longest path of each tree: int32 (trees,)."""
        level = self.node_levels()
        return np.maximum.reduceat(level, self.first[:-1]).astype(np.int32) if len(self) else np.empty(0, np.int32)

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
    def node_positions(self) -> NDArray[np.int64]:
        """Return each node's number within its tree: int64 (nodes,)."""
        return np.arange(self.n_nodes) - np.repeat(self.first[:-1], np.diff(self.first))


def ranges(first: NDArray[np.int64], count: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return consecutive numbers from first[0], `count[0]` of them, then from first[1], ...: int64 (sum of count,)."""
    before = np.cumsum(count, dtype=np.int64) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()))
