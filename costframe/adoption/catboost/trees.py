"""CatBoost's trees of any form, and symmetric ones, node by node.

A symmetric tree tests the same split at all nodes of a level, also where an earlier split on the way has decided it:
these nodes are left out, and a row reaches the same leaf.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.adoption.catboost.splits import Splits
from costframe.core.arrays import B1, F8, I8

DEEPEST = 16  # levels of a symmetric tree, CatBoost's own limit


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
class NodeForest:
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


def expand(trees: SymmetricForest, splits: Splits) -> NodeForest:
    """Return the trees node by node, each with its nodes level by level."""
    leaves = 1 << trees.depth
    first_split, first_leaf = np.cumsum(trees.depth) - trees.depth, np.cumsum(leaves) - leaves
    count, parts = np.zeros(len(trees.depth), np.int64), []
    for depth in np.unique(trees.depth).tolist():
        of = np.flatnonzero(trees.depth == depth)
        levels = trees.split[first_split[of][:, None] + np.arange(depth)]
        stays, left, right = _prune(levels, splits)
        node = np.arange(stays.shape[1])
        inner = node < 2**depth - 1
        level = np.frexp(node[inner] + 1)[1] - 1
        split, leaf = np.full(stays.shape, -1, np.int32), np.full(stays.shape, -1, np.int32)
        split[:, inner] = levels[:, level]
        leaf[:, ~inner] = first_leaf[of][:, None] + np.arange(2**depth)
        count[of] = stays.sum(axis=1)
        tree = np.broadcast_to(of[:, None], stays.shape)
        parts.append([values[stays] for values in (tree, left, right, split, leaf)])
    tree, *nodes = (np.concatenate(values) for values in zip(*parts, strict=True))
    order = np.argsort(tree, kind="stable")
    left, right, split, leaf = (values[order] for values in nodes)
    return NodeForest(np.append(0, np.cumsum(count)), left, right, split, leaf, trees.outputs)


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
        nodes, below = _level_slice(level), _level_slice(level + 1)
        low, high = np.split(target[:, below], 2, axis=1)
        child[0][:, nodes], child[1][:, nodes] = low, high
        goes_left, goes_right = _find_decided(levels, level, splits)
        target[:, nodes] = np.where(goes_left, low, np.where(goes_right, high, target[:, nodes]))
    stays = np.zeros((n_trees, width), np.bool_)
    stays[:, 0] = True
    for level in range(depth):
        tree, node = np.nonzero(stays[:, _level_slice(level)])
        node += 2**level - 1
        for side in child:
            stays[tree, side[tree, node]] = True
    number = np.cumsum(stays, axis=1, dtype=np.int32) - 1
    left, right = (np.where(side < 0, -1, np.take_along_axis(number, side, axis=1)) for side in child)
    return stays, left, right


def _level_slice(level: int) -> slice:
    return slice(2**level - 1, 2 ** (level + 1) - 1)


def _find_decided(levels: I8, level: int, splits: Splits) -> tuple[B1, B1]:
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
