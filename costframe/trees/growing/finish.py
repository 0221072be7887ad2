"""The finished tree: arrays, outputs, and the leaf of every row."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import attrs
import numpy as np

from costframe.core.learners.tree_table import TreeTable
from costframe.core.threads import run_parallel
from costframe.trees.binning.thresholds import going_left, tested_categories
from costframe.trees.growing.room import BEGIN, COUNT, LEAVES, NODE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.growing.room import Room

__all__ = ["GrownTree", "LeafRows", "finish_tree", "label_leaves"]

_ROWS_WORTH_THREADS = 80_000
_ROWS_PER_PART = 16_384
_OF_LEAVES = ((NODE, np.int32), (BEGIN, np.int64), (COUNT, np.int64))


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
        shape = self.feature, self.threshold, self.missing_left, self.left, self.right
        return TreeTable.single(*shape, self.outputs, self.categories, grown=True)

    @property
    def n_leaves(self) -> int:
        """Leaves; one if the tree is a constant."""
        return (len(self.feature) + 1) // 2

    def add_to(self, scores: NDArray[np.float64], step: float = 1.0) -> None:
        """Add `step` times the tree's output to the score of every training row, float64 (n,), in place."""
        from costframe.trees.growing.partition_kernels import add_outputs

        add_outputs(self.outputs, self.leaf_of_row, float(step), scores)


class LeafRows(NamedTuple):
    """Where the rows of each leaf lie among those that a tree was grown on, by place.

    Attributes
    ----------
    node, begin, n_rows : int32, int64, int64 (leaves,)
    """

    node: NDArray[np.int32]
    begin: NDArray[np.int64]
    n_rows: NDArray[np.int64]


def finish_tree(
    data: BinnedData,
    room: Room,
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64] | None,
    rows: NDArray[np.int32],
    l2: float,
    gradient_unit: float,
    *,
    everyone: bool,
    n_threads: int = 1,
) -> GrownTree:
    """Make a tree of what was grown.

    Parameters
    ----------
    data : BinnedData
    room : Room
    gradients, hessians : float64 (n,)
        As they came; hessians None: one each.
    rows : int32 (m,)
        As they were permuted; `everyone` says that they are all.
    l2 : float
    gradient_unit : float
        What bounds of outputs in the room are multiplied by.
    n_threads : int
    """
    count = int(room.state[LEAVES])
    made, slots = slice(0, 2 * count - 1), np.argsort(room.place[:count, BEGIN])
    feature, bins, missing, left, right = np.ascontiguousarray(room.nodes[made, :5].T).astype(np.int32)
    missing_left, inner = missing == 1, feature >= 0
    leaves = LeafRows(*(np.ascontiguousarray(room.place[slots, at].astype(kind)) for at, kind in _OF_LEAVES))
    leaf_of_row = np.full(len(data.bins), -1, np.int32)
    sums = label_leaves(leaves, rows, gradients, hessians, leaf_of_row, n_threads=n_threads)
    outputs, weight = np.zeros(len(feature)), sums[:, 1] + l2
    values = -sums[:, 0] / np.where(weight > 0, weight, np.inf)
    outputs[leaves.node] = np.clip(values, *(gradient_unit * room.numbers[slots, :2].T))
    mapper, tested = data.mapper, np.maximum(feature, 0)
    threshold = np.where(inner, mapper.padded[tested, bins], 0.0)
    categories, sets = {}, {}
    for node in np.flatnonzero(inner & mapper.categorical[tested]) if mapper.has_categories else ():
        sets[node], threshold[node] = going_left(room.node_set[node]), np.nan
        categories[int(node)] = tested_categories(
            sets[node], mapper.thresholds[feature[node]], missing_left=bool(missing_left[node])
        )
    if not everyone:
        goes_left = np.arange(256) <= bins[:, np.newaxis]
        goes_left[:, 255] = missing_left
        for node, chosen in sets.items():
            goes_left[node] = chosen
        _route(data.bins, feature, goes_left, left, right, leaf_of_row, n_threads)
    return GrownTree(feature, threshold, missing_left, left, right, outputs, leaf_of_row, categories)


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


def _route(
    bins: NDArray[np.uint8],
    feature: NDArray[np.int32],
    goes_left: NDArray[np.bool_],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    leaf_of_row: NDArray[np.int32],
    n_threads: int,
) -> None:
    """Send the rows that the tree was not grown on, whose leaf is still negative, through it."""
    from costframe.trees.growing.partition_kernels import route_rows

    def route_part(first: int) -> None:
        here = slice(first, first + _ROWS_PER_PART)
        route_rows(bins[here], feature, goes_left, left, right, leaf_of_row[here])

    run_parallel(route_part, range(0, len(bins), _ROWS_PER_PART), n_threads)
