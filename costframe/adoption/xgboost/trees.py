"""xgboost's trees, one by one, as tables.

xgboost rounds a value to float32. A comparison is `value < condition`, and NaN goes the node's default way. A test of
categories sends the categories that the node holds to the right, all other values to the left, and NaN the default way;
a value counts without its fraction, and numbers that are negative or 2^24 and more are no category.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from costframe.adoption.documents import DocumentPart
from costframe.adoption.thresholds import float32_less
from costframe.adoption.trees import tabulate_tree
from costframe.core.arrays import B1, F8, I8, U8
from costframe.core.errors import BankError
from costframe.core.learners.tree_table import PLAIN, WHOLE_FLOAT32, TreeTable

_TREE_FIELDS = (
    "base_weights", "categories", "categories_nodes", "categories_segments", "categories_sizes", "default_left", "id",
    "leaf_child_counts", "leaf_weights", "left_children", "loss_changes", "parents", "right_children",
    "split_conditions", "split_indices", "split_type", "sum_hessian", "tree_param",
)  # fmt: skip
_PARAM = ("num_deleted", "num_feature", "num_nodes", "num_roots", "size_leaf_vector")
_NO_CATEGORY = 2**24
_MOST = 2**31 - 1


@frozen
class TreeReader:
    """Reads trees of one model."""

    names: tuple[str, ...]  # names of the columns, for errors
    n_scores: int  # outputs of the model: a tree has one output or all
    # for columns whose categories are numbers, by position: the number that each code in the trees stands for.
    # None for texts beyond ASCII: with pandas, xgboost counts their characters as bytes and saves them cut
    numbers: Mapping[int, F8 | None] = field(factory=dict)

    def read(self, tree: DocumentPart) -> TreeTable:
        """Return the table of one tree; refuse arrays that do not describe one."""
        left = tree.only(*_TREE_FIELDS).get("left_children").wholes(low=-1, high=_MOST)
        n_nodes, leaf = len(left), left < 0
        tree.get("tree_param").only(*_PARAM).get("num_nodes").whole(n_nodes, n_nodes)
        right = tree.get("right_children").wholes(n_nodes, low=-1, high=_MOST)
        order = _order_nodes(left, right, tree)
        column = np.where(leaf, -1, tree.get("split_indices").wholes(n_nodes, high=_MOST * 2 + 1))
        if (column[order] >= len(self.names)).any():
            raise tree.refuse(f"splits a feature beyond the {len(self.names)} of the model")
        condition = read_float32(tree.get("split_conditions"), n_nodes, finite=False)
        threshold = float32_less(condition)
        default = tree.get("default_left").wholes(n_nodes, high=1).astype(np.bool_)
        position = np.full(n_nodes, -1, np.int32)
        position[order] = np.arange(len(order))
        sets, missing_left, reading = self._categories(tree, column, threshold, default, order)
        outputs = self._outputs(tree, condition, right, leaf)
        try:  # `_order_nodes` has checked the nodes
            return tabulate_tree(
                leaf[order],
                column[order],
                threshold[order],
                missing_left[order],
                position[left][order],
                position[np.where(leaf, 0, right)][order],
                outputs[order],
                {int(position[node]): members for node, members in sets.items()},
                reading=reading[order],
                grown=True,
            )
        except BankError as error:
            raise tree.refuse(str(error)) from error

    def _categories(
        self, tree: DocumentPart, column: I8, threshold: F8, default: B1, order: I8
    ) -> tuple[dict[int, F8], B1, U8]:
        """Return each node's categories that go right, the missing ways, and readings; threshold becomes NaN there.

        Categories go against the missing way, which therefore is left; where the default is right, NaN is one of them.
        """
        sets: dict[int, F8] = {}
        missing_left, reading = default.copy(), np.full(len(default), PLAIN, np.uint8)
        kind = tree.get("split_type").wholes(len(default), high=1) if tree.has("split_type") else np.zeros(len(default))
        inner = order[column[order] >= 0]
        self._check_encoded(tree, column[inner], kind[inner] == 1)
        split = inner[kind[inner] == 1].tolist()
        held = _read_sets(tree, len(default)) if split else {}
        for node in split:
            if node not in held:
                raise tree.refuse(f"node {node} tests for categories, 'categories_nodes' does not list it")
            numbers, missing_left[node] = self.numbers.get(int(column[node])), True
            members = _decode_members(held[node], numbers)
            members = members if default[node] else np.append(members, np.nan)
            threshold[node] = np.nan
            if not len(members):  # nothing goes right
                threshold[node] = np.inf
            else:
                sets[node], reading[node] = members, WHOLE_FLOAT32 if numbers is None else PLAIN
        return sets, missing_left, reading

    def _check_encoded(self, tree: DocumentPart, column: I8, tests: B1) -> None:
        """Refuse tests of columns whose categories are unknown, and comparisons where they are numbers."""
        for f in [f for f in set(column.tolist()) if f in self.numbers]:
            if self.numbers[f] is None:
                raise tree.refuse(
                    f"splits the feature {self.names[f]!r}, whose categories are not all ASCII; xgboost saves "
                    "such names of pandas cut short. Rename them, or train on numbers in their place"
                )
            if (column[~tests] == f).any():
                raise tree.refuse(f"compares the feature {self.names[f]!r}, whose categories are numbers")

    def _outputs(self, tree: DocumentPart, condition: NDArray[np.float32], right: I8, leaf: B1) -> F8:
        """Return the outputs of each leaf in float32 precision: float64 (nodes, K)."""
        width = tree.get("tree_param").get("size_leaf_vector").whole()
        if width <= 1:  # zero in xgboost 1
            return condition.astype(np.float64)[:, None]
        if width != self.n_scores:
            raise tree.refuse(f"has {width} outputs, expected 1 or {self.n_scores}")
        if not tree.has("leaf_weights"):  # before 3.1 each node holds its own outputs
            outputs = read_float32(tree.get("base_weights"), len(leaf) * width, finite=False)
            return outputs.astype(np.float64).reshape(-1, width)
        weights = tree.get("leaf_weights")
        vectors = read_float32(weights, int(leaf.sum()) * width).astype(np.float64).reshape(-1, width)
        place = np.where(leaf, right, 0)  # a leaf's right child is the number of its outputs
        if ((place < 0) | (place >= len(vectors))).any():
            raise weights.refuse("a leaf's outputs are not among them")
        return np.asarray(vectors[place])


def read_float32(part: DocumentPart, length: int, *, finite: bool = True) -> NDArray[np.float32]:
    """Return a list of numbers in float32; too large ones are infinite."""
    with np.errstate(over="ignore"):
        numbers = part.reals(length, finite=finite).astype(np.float32)
    if finite and not np.isfinite(numbers).all():
        raise part.refuse("expected finite numbers, got some beyond float32")
    return numbers


def _read_sets(tree: DocumentPart, n_nodes: int) -> dict[int, I8]:
    """Return the categories that the file lists for each node."""
    categories = tree.get("categories").wholes(high=_MOST)
    nodes = tree.get("categories_nodes").wholes(high=n_nodes - 1)
    first = tree.get("categories_segments").wholes(len(nodes), high=len(categories))
    size = tree.get("categories_sizes").wholes(len(nodes), high=len(categories))
    if (first + size > len(categories)).any() or size.sum() > len(categories) or (np.diff(nodes) <= 0).any():
        raise tree.refuse(f"its nodes do not share its {len(categories)} categories among them, in order")
    return {
        node: categories[begin : begin + count]
        for node, begin, count in zip(nodes.tolist(), first.tolist(), size.tolist(), strict=True)
    }


def _decode_members(codes: I8, numbers: F8 | None) -> F8:
    """Return the values that stand for codes, ascending; codes that no value can have are left out."""
    if numbers is None:
        return np.unique(codes[codes < _NO_CATEGORY]).astype(np.float64)
    return np.unique(numbers[codes[codes < len(numbers)]])


def _order_nodes(left: I8, right: I8, tree: DocumentPart) -> I8:
    """Return the nodes reachable from the root: as they are, if parents come first and all are, else breadth first."""
    inner = np.flatnonzero(left >= 0)
    children = np.concatenate([left[inner], right[inner]])
    if not len(left) or ((children < 1) | (children >= len(left))).any():
        raise tree.refuse("its nodes do not form a tree")
    ordered = (np.minimum(left[inner], right[inner]) > inner).all()
    if ordered and len(children) == len(left) - 1 and (np.bincount(children, minlength=len(left))[1:] == 1).all():
        return np.arange(len(left))
    levels, reached = [np.zeros(1, np.int64)], 1
    while len(levels[-1]):
        inner = levels[-1][left[levels[-1]] >= 0]
        levels.append(np.concatenate([left[inner], right[inner]]))
        reached += len(levels[-1])
        if reached > len(left):
            raise tree.refuse("its nodes do not form a tree")
    order: I8 = np.concatenate(levels)
    if len(np.unique(order)) < len(order):
        raise tree.refuse("its nodes do not form a tree")
    return order
