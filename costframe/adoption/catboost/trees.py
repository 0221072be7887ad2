"""CatBoost's models: features, numbered splits and trees, and the tables of these.

A symmetric tree tests the same split at all nodes of a level, also where an earlier split on the way has decided it:
these nodes are left out, and a row reaches the same leaf.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.adoption.thresholds import float32_at_most
from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import AdoptionError, quote_names
from costframe.core.learners.tree_table import TreeTable

FLOAT, CATEGORICAL = "float", "categorical"
DEEPEST = 16  # levels of a symmetric tree, CatBoost's own limit
_UNLISTED = 2**16  # columns that a model may have beside those that its file lists


@frozen
class Feature:
    """A column of the rows: its number there, its number among features of its kind, and its name ("" if none)."""

    kind: str
    column: int
    index: int
    name: str

    @property
    def title(self) -> str:
        """Name in errors and in default names of columns."""
        return self.name or f"f{self.column}"


@frozen(eq=False)
class SplitGroup:
    """The splits of one feature, in their order."""

    feature: Feature | None  # None if the splits cannot be adopted; then `reason` says why
    values: F8  # (splits,): borders of numbers, ascending, or hashes of categories, distinct
    nan_right: bool = False  # whether a border lets NaN pass like infinity
    reason: str = ""


@frozen(eq=False)
class Splits:
    """All splits of a model by number: groups of numbers first, then categories."""

    # column, index (splits,): of the feature; -1 if the split cannot be adopted
    column: I8
    index: I8
    value: F8  # (splits,): border, or hash of the category that goes right
    categorical: B1  # (splits,)
    threshold: F8  # (splits,): largest double that goes left; NaN for categories
    missing_left: B1  # (splits,): whether NaN goes left
    reasons: tuple[tuple[int, str], ...]  # first number of each group that cannot be adopted, ascending, and why

    @classmethod
    def of(cls, groups: Sequence[SplitGroup], where: str) -> Splits:
        """Assign numbers to the splits of groups; refuse borders that do not ascend, and categories that repeat."""
        for group in groups:
            _check_group(group, where)
        sizes = np.array([len(group.values) for group in groups], np.int64)
        first = np.cumsum(sizes) - sizes

        def each(values: list[Any], dtype: type[np.generic]) -> NDArray[Any]:
            return np.repeat(np.array(values, dtype), sizes)

        value = np.concatenate([np.empty(0), *(group.values for group in groups)])
        categorical = each(
            [group.feature is not None and group.feature.kind == CATEGORICAL for group in groups], np.bool_
        )
        # NaN like infinity does not pass a border that is infinite itself
        missing_left = ~each([group.nan_right for group in groups], np.bool_) | (value == np.inf)
        return cls(
            each([-1 if group.feature is None else group.feature.column for group in groups], np.int64),
            each([-1 if group.feature is None else group.feature.index for group in groups], np.int64),
            value,
            categorical,
            np.where(categorical, np.nan, float32_at_most(value)),
            missing_left,
            tuple(
                (at, group.reason) for at, group in zip(first.tolist(), groups, strict=True) if group.feature is None
            ),
        )

    def __len__(self) -> int:
        """Count the splits."""
        return len(self.column)

    def check_used(self, used: NDArray[np.integer[Any]], where: str) -> None:
        """Refuse a split number that does not exist, or whose split cannot be adopted."""
        if used.size and (used.min() < 0 or used.max() >= len(self)):
            raise AdoptionError(f"{where}: a tree has a split beyond the {len(self):,} of its features")
        for split in used[self.column[used] < 0][:1]:
            reason = next(reason for first, reason in reversed(self.reasons) if first <= split)
            raise AdoptionError(f"{where}: {reason}")


def ctr_reason(names: Iterable[str]) -> str:
    """Return why splits by target statistics of categorical features cannot be adopted."""
    return (
        f"it splits by statistics of the target (CTR) of {quote_names(names)}, which cannot be adopted; train it with "
        "one_hot_max_size at or above the number of categories"
    )


def _check_group(group: SplitGroup, where: str) -> None:
    if group.feature is None:
        return
    named = f"{where}: feature {group.feature.title!r}"
    if group.feature.column < 0:
        raise AdoptionError(f"{named}: expected a column of 0 or more, got {group.feature.column}")
    if group.feature.kind == CATEGORICAL:
        if len(np.unique(group.values)) < len(group.values):
            raise AdoptionError(f"{named} has a category twice")
    elif not (group.values[1:] >= group.values[:-1]).all() or np.isnan(group.values[:1]).any():
        raise AdoptionError(f"{named}: expected ascending borders")


@frozen(eq=False)
class SymmetricForest:
    """Trees with one split for all nodes of a level; bit l of a leaf's number is the way at level l."""

    depth: I8  # (trees,)
    split: I8  # (sum of depths,): number of the split of each level, from the root
    outputs: F8  # (sum of 2^depth, K)

    def __len__(self) -> int:
        """Count the trees."""
        return len(self.depth)


@frozen(eq=False)
class Forest:
    """Trees of any form."""

    first: I8  # (trees + 1,): position of each tree's root
    # left, right, split (nodes,): children, counted from the root, and the number of the split; -1 at leaves
    left: NDArray[np.integer[Any]]
    right: NDArray[np.integer[Any]]
    split: NDArray[np.integer[Any]]
    leaf: NDArray[np.integer[Any]]  # (nodes,): row of a leaf in `outputs`; -1 at other nodes
    outputs: F8  # (leaves, K)

    def __len__(self) -> int:
        """Count the trees."""
        return len(self.first) - 1


@frozen(eq=False)
class CatBoostModel:
    """A CatBoost model; output k is scale * (sum of the trees' output k) + bias[k]."""

    where: str  # name of the model in errors
    features: tuple[Feature, ...]  # in the order of their columns
    splits: Splits
    trees: SymmetricForest | Forest
    scale: float
    bias: F8  # (K,)
    link: str
    classes: NDArray[Any] | None  # (classes,): labels of a classifier's classes
    cut: float | None  # raw value above which a row is of class 1 of two

    def __attrs_post_init__(self) -> None:
        columns = [feature.column for feature in self.features]
        if any(one >= other for one, other in pairwise(columns)):
            raise AdoptionError(f"{self.where}: two features are at the same column")
        if not columns or columns[0] < 0 or columns[-1] >= len(columns) + _UNLISTED:
            raise AdoptionError(
                f"{self.where}: expected the columns of features to be 0 or more, and at most {_UNLISTED:,} others, "
                f"got {columns[0] if columns else 'no feature'} to {columns[-1] if columns else 'none'}"
            )

    @property
    def n_columns(self) -> int:
        """Number of columns of the rows."""
        return self.features[-1].column + 1

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of all columns, f0, f1, ... for those without; None if no column has one."""
        names = [f"f{column}" for column in range(self.n_columns)]
        for feature in self.features:
            names[feature.column] = feature.title
        return tuple(names) if any(feature.name for feature in self.features) else None


def tabulate(trees: SymmetricForest | Forest, splits: Splits, scale: float) -> TreeTable:
    """Return the table of trees, each with all outputs, times a factor."""
    forest = trees if isinstance(trees, Forest) else _expand(trees, splits)
    inner, width = forest.split >= 0, forest.outputs.shape[1]
    split = forest.split[inner]
    named = np.zeros(len(inner), np.bool_)
    named[inner] = splits.categorical[split]

    with np.errstate(over="ignore", invalid="ignore"):  # infinite outputs and NaN are refused by the table
        outputs = scale * forest.outputs.ravel()

    def place(values: NDArray[Any], otherwise: Any) -> NDArray[Any]:
        return _spread(values[split], inner, otherwise)

    return TreeTable(
        forest.first,
        place(splits.column, -1),
        place(splits.threshold, np.nan),
        place(splits.missing_left, False),
        forest.left,
        forest.right,
        np.full(len(forest.first) - 1, width),
        np.where(inner, -1, forest.leaf * width),
        outputs,
        named.astype(np.int32),
        splits.value[forest.split[named]],
    )


def _spread(values: NDArray[Any], where: B1, otherwise: Any) -> NDArray[Any]:
    """Return values at the places of a mask, and another value elsewhere."""
    spread = np.full(len(where), otherwise, values.dtype)
    spread[where] = values
    return spread


def _expand(trees: SymmetricForest, splits: Splits) -> Forest:
    """Return the trees node by node, each with its nodes level by level."""
    leaves = 1 << trees.depth
    first_split, first_leaf = np.cumsum(trees.depth) - trees.depth, np.cumsum(leaves) - leaves
    count, parts = np.zeros(len(trees.depth), np.int64), []
    for depth in np.unique(trees.depth).tolist():
        of = np.flatnonzero(trees.depth == depth)
        levels = trees.split[first_split[of][:, None] + np.arange(depth)]
        kept, left, right = _prune(levels, splits)
        node = np.arange(kept.shape[1])
        inner = node < 2**depth - 1
        level = np.frexp(node[inner] + 1)[1] - 1
        split, leaf = np.full(kept.shape, -1, np.int32), np.full(kept.shape, -1, np.int32)
        split[:, inner] = levels[:, level]
        leaf[:, ~inner] = first_leaf[of][:, None] + np.arange(2**depth)
        count[of] = kept.sum(axis=1)
        tree = np.broadcast_to(of[:, None], kept.shape)
        parts.append([each[kept] for each in (tree, left, right, split, leaf)])
    tree, *nodes = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(tree, kind="stable")
    left, right, split, leaf = (each[order] for each in nodes)
    return Forest(np.append(0, np.cumsum(count)), left, right, split, leaf, trees.outputs)


def _prune(levels: I8, splits: Splits) -> tuple[B1, NDArray[np.int32], NDArray[np.int32]]:
    """Return the nodes to keep of trees of one depth, and the children of each, counted among the kept ones.

    `levels` is int64 (trees, depth), the results are (trees, 2^(depth + 1) - 1). Level l has the nodes from 2^l - 1,
    and bit j of a node's place in its level is the way at level j.
    """
    n_trees, depth = levels.shape
    width = 2 ** (depth + 1) - 1
    child = [np.full((n_trees, width), -1, np.int32) for _ in range(2)]
    target = np.tile(np.arange(width, dtype=np.int32), (n_trees, 1))  # the node that stands for each
    for level in reversed(range(depth)):
        here, below = _nodes(level), _nodes(level + 1)
        low, high = np.split(target[:, below], 2, axis=1)
        child[0][:, here], child[1][:, here] = low, high
        goes_left, goes_right = _decided(levels, level, splits)
        target[:, here] = np.where(goes_left, low, np.where(goes_right, high, target[:, here]))
    kept = np.zeros((n_trees, width), np.bool_)
    kept[:, 0] = True
    for level in range(depth):
        tree, node = np.nonzero(kept[:, _nodes(level)])
        node += 2**level - 1
        for side in child:
            kept[tree, side[tree, node]] = True
    number = np.cumsum(kept, axis=1, dtype=np.int32) - 1
    left, right = (np.where(side < 0, -1, np.take_along_axis(number, side, axis=1)) for side in child)
    return kept, left, right


def _nodes(level: int) -> slice:
    return slice(2**level - 1, 2 ** (level + 1) - 1)


def _decided(levels: I8, level: int, splits: Splits) -> tuple[B1, B1]:
    """Return which nodes of a level all rows pass left, and right: bool (trees, 2^level) each.

    NaN takes part: it goes the way of the smallest or of the largest numbers at all borders of a feature.
    """
    n_trees, place = len(levels), np.arange(2**level)
    goes = np.zeros((2, n_trees, 2**level), np.bool_)
    this = levels[:, level]
    for earlier in range(level):
        that = levels[:, earlier]
        went_right = place >> earlier & 1 == 1
        same = splits.column[this] == splits.column[that]
        named, value, known = splits.categorical[this], splits.value[this], splits.value[that]
        below = same & np.where(named, value == known, value >= known)  # left there, so left here
        above = same & np.where(named, value == known, value <= known)  # right there, so right here
        other = same & named & (value != known)  # another category
        goes[0] |= np.where(went_right, other[:, None], below[:, None])
        goes[1] |= went_right & above[:, None]
    return goes[0], goes[1]
