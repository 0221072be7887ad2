"""The finished tree: arrays, outputs, and the leaf of every row."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import attrs
import numpy as np

from costframe.core.learners.tree_table import TreeTable
from costframe.core.threads import run_parallel
from costframe.trees.binning.category_bins import tested_categories

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from costframe.trees.binning.bin_mapper import BinMapper
    from costframe.trees.growing.leaf import Leaf

__all__ = ["GrowingNodes", "GrownTree", "LeafRows", "label_leaves", "route"]

_ROWS_WORTH_THREADS = 80_000
_ROWS_PER_PART = 16_384


@attrs.frozen(eq=False)
class GrownTree:
    """One tree of one output.

    Parameters
    ----------
    feature : int32 (nodes,)
        Column that an inner node tests; -1 at a leaf.
    threshold : float64 (nodes,)
        `x <= threshold` goes left. NaN where categories are tested for.
    missing_left : bool (nodes,)
        Whether missing values go left.
    left, right : int32 (nodes,)
        Children; -1 at leaves.
    outputs : float64 (nodes,)
        -G/(H+l2) of the training rows at leaves; 0 at inner nodes.
    leaf_of_row : int32 (n,)
        The node in which each training row ends, whether the tree was grown on it or not.
    categories : mapping of int to float64 (any,)
        The categories that go against the missing way, of each node that tests for some.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    outputs: NDArray[np.float64]
    leaf_of_row: NDArray[np.int32]
    categories: Mapping[int, NDArray[np.float64]] = attrs.field(factory=dict)

    @cached_property
    def table(self) -> TreeTable:
        """The tree, ready for a bank."""
        return TreeTable.grown(
            self.feature, self.threshold, self.missing_left, self.left, self.right, self.outputs, self.categories
        )

    @property
    def n_leaves(self) -> int:
        """Leaves; one if the tree is a constant."""
        return (len(self.feature) + 1) // 2

    def add_to(self, scores: NDArray[np.float64], step: float = 1.0) -> None:
        """Add `step` times the tree's output to the score of every training row, float64 (n,), in place."""
        from costframe.trees.growing.partition_kernels import add_outputs

        add_outputs(self.outputs, self.leaf_of_row, float(step), scores)


@attrs.define(eq=False)
class GrowingNodes:
    """The nodes of a growing tree, in the order of their creation."""

    feature: list[int] = attrs.field(factory=lambda: [-1])
    bin: list[int] = attrs.field(factory=lambda: [0])
    missing_left: list[bool] = attrs.field(factory=lambda: [False])
    left: list[int] = attrs.field(factory=lambda: [-1])
    right: list[int] = attrs.field(factory=lambda: [-1])
    left_bins: dict[int, NDArray[np.bool_]] = attrs.field(factory=dict)  # (256,), of tests for categories

    def split(
        self, node: int, feature: int, bin_: int, missing_left: bool, left_bins: NDArray[np.bool_] | None = None
    ) -> int:
        """Turn a leaf into an inner node, and return its left child; the right one is the next."""
        if left_bins is not None:
            self.left_bins[node] = left_bins
        self.feature[node], self.bin[node], self.missing_left[node] = feature, bin_, missing_left
        child = len(self.feature)
        self.left[node], self.right[node] = child, child + 1
        self.feature += [-1, -1]
        self.bin += [0, 0]
        self.missing_left += [False, False]
        self.left += [-1, -1]
        self.right += [-1, -1]
        return child

    def finish(self, mapper: BinMapper, outputs: NDArray[np.float64], leaf_of_row: NDArray[np.int32]) -> GrownTree:
        """Make arrays of it."""
        thresholds = [
            mapper.thresholds[feature][cell] if feature >= 0 and not mapper.categorical[feature] else 0.0
            for feature, cell in zip(self.feature, self.bin, strict=True)
        ]
        categories = {
            node: tested_categories(left, mapper.thresholds[self.feature[node]], missing_left=self.missing_left[node])
            for node, left in self.left_bins.items()
        }
        for node in categories:
            thresholds[node] = np.nan
        return GrownTree(
            np.array(self.feature, np.int32),
            np.array(thresholds),
            np.array(self.missing_left, np.bool_),
            np.array(self.left, np.int32),
            np.array(self.right, np.int32),
            outputs,
            leaf_of_row,
            categories,
        )

    def left_by_bin(self) -> NDArray[np.bool_]:
        """Bool (nodes, 256): whether a row of each bin goes left; nothing that means anything at leaves."""
        left = np.arange(256) <= np.array(self.bin)[:, np.newaxis]
        left[:, 255] = self.missing_left
        for node, bins in self.left_bins.items():
            left[node] = bins
        return left


class LeafRows(NamedTuple):
    """Where the rows of each leaf lie among those that a tree was grown on, by place.

    Attributes
    ----------
    node, begin, n_rows : int32, int64, int64 (leaves,)
    """

    node: NDArray[np.int32]
    begin: NDArray[np.int64]
    n_rows: NDArray[np.int64]

    @classmethod
    def of(cls, leaves: Sequence[Leaf]) -> LeafRows:
        """Read it from leaves in the order of their rows."""
        node = np.array([leaf.node for leaf in leaves], np.int32)
        begin = np.array([leaf.begin for leaf in leaves], np.int64)
        return cls(node, begin, np.array([leaf.count for leaf in leaves], np.int64))


def label_leaves(
    leaves: LeafRows,
    rows: NDArray[np.int32],
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64] | None,
    leaf_of_row: NDArray[np.int32],
    *,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Write the leaf of every row, and return float64 (leaves, 2): sums of gradients and hessians.

    Unlike those in packed form, on which splits are decided, these sums are of the gradients as they came.
    """
    from costframe.trees.growing.partition_kernels import label_rows, sum_leaves

    node, begin, count = leaves
    end = begin + count
    n_parts = n_threads if len(rows) >= _ROWS_WORTH_THREADS else 1
    share = np.cumsum(end - begin) * n_parts // (len(rows) + 1)  # parts of the leaves hold about as many rows each
    n_nodes = int(node.max()) + 1

    def label(part: int) -> None:
        here = slice(*np.searchsorted(share, [part, part + 1]).tolist())
        label_rows(rows, begin[here], end[here], node[here], leaf_of_row)

    def add_up(first: int) -> NDArray[np.float64]:
        here, sums = slice(first, first + _ROWS_PER_PART), np.empty((n_nodes, 2))
        weights = np.empty(0) if hessians is None else hessians[here]
        sum_leaves(leaf_of_row[here], gradients[here], weights, sums)
        return sums

    run_parallel(label, range(n_parts), n_threads)
    parts = run_parallel(add_up, range(0, len(leaf_of_row), _ROWS_PER_PART), n_threads if n_parts > 1 else 1)
    total = parts[0]
    for sums in parts[1:]:  # part after part, whatever the threads
        total += sums
    return total[node]


def route(bins: NDArray[np.uint8], nodes: GrowingNodes, leaf_of_row: NDArray[np.int32], *, n_threads: int = 1) -> None:
    """Send the rows that the tree was not grown on, whose leaf is still negative, through it."""
    from costframe.trees.growing.category_kernels import route_by_sets
    from costframe.trees.growing.partition_kernels import route_rows

    feature, left, right = (np.array(each, np.int32) for each in (nodes.feature, nodes.left, nodes.right))
    cells, missing_left = np.array(nodes.bin, np.uint8), np.array(nodes.missing_left, np.bool_)
    by_bin = nodes.left_by_bin() if nodes.left_bins else None

    def route_part(first: int) -> None:
        here = slice(first, first + _ROWS_PER_PART)
        if by_bin is not None:
            route_by_sets(bins[here], feature, by_bin, left, right, leaf_of_row[here])
            return
        route_rows(bins[here], feature, cells, missing_left, left, right, leaf_of_row[here])

    run_parallel(route_part, range(0, len(bins), _ROWS_PER_PART), n_threads)
