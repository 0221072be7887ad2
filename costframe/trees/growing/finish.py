"""The finished tree: arrays, outputs, and the leaf of every row."""

from __future__ import annotations

from functools import cached_property, reduce
from typing import TYPE_CHECKING

import attrs
import numpy as np

from costframe import engine
from costframe.core.learners.bits import bits_of
from costframe.core.learners.tree_table import TreeTable
from costframe.core.threads import run_parallel
from costframe.trees.growing.room import LEAVES, NODE_SET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.growing.room import Room

__all__ = ["GrownTree", "finish_tree"]

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
        `x <= threshold` goes left. NaN at tests for categories.
    missing_left : bool (nodes,)
        Whether missing values go left.
    left, right : int32 (nodes,)
        Children; -1 at leaves.
    outputs : float64 (nodes,)
        -G/(H+l2) of the training rows at leaves; 0 at inner nodes.
    leaf_of_row : int32 (n,)
        The leaf of each training row, also of rows outside the subsample.
    categories : mapping of int to float64 (any,)
        For each node that tests categories, those that go the other way than missing values.
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
        """Number of leaves; 1 for a constant tree."""
        return (len(self.feature) + 1) // 2

    def add_to(self, scores: NDArray[np.float64], step: float = 1.0) -> None:
        """Add `step` times the tree's output to the score of every training row, float64 (n,), in place."""
        scores += (step * self.outputs)[self.leaf_of_row]


def finish_tree(
    data: BinnedData,
    room: Room,
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64] | None,
    rows: NDArray[np.int32],
    l2: float,
    gradient_unit: float,
    n_threads: int,
) -> GrownTree:
    """Make a tree from the grower's memory.

    Outputs use the exact gradients, splits the packed ones.

    Parameters
    ----------
    data : BinnedData
    room : Room
    gradients, hessians : float64 (n,)
        The exact ones; hessians None are ones.
    rows : int32 (m,)
        The rows of the tree, as permuted by growth.
    l2 : float
    gradient_unit : float
        Factor of the room's bounds of outputs.
    n_threads : int
    """
    count, mapper = int(room.state[LEAVES]), data.mapper
    nodes, leaf_of_row = room.nodes[: 2 * count - 1], np.full(len(data.bins), -1, np.int32)
    engine.label_rows(room.place[:count], rows, leaf_of_row)
    many = n_threads if len(rows) >= _ROWS_WORTH_THREADS else 1

    second = np.empty(0) if hessians is None else hessians
    address = data.workers.address
    scales = (
        engine.leaf_scale(gradients, address),
        1.0 if hessians is None else engine.leaf_scale(hessians, address),
    )

    def add_up(first: int) -> NDArray[np.int64]:
        here, sums = slice(first, first + _ROWS_PER_PART), np.empty((len(nodes), 2), np.int64)
        engine.sum_leaves(leaf_of_row[here], gradients[here], second[here], *scales, sums)
        return sums

    def route(first: int) -> None:
        here = slice(first, first + _ROWS_PER_PART)
        engine.route_rows(data.bins[here], nodes, leaf_of_row[here])

    first_rows = range(0, len(leaf_of_row), _ROWS_PER_PART)
    nothing = np.zeros((len(nodes), 2), np.int64)
    sums = data.workers.sum(reduce(np.add, run_parallel(add_up, first_rows, many), nothing)) / scales
    feature, left, right = (np.empty(len(nodes), np.int32) for _ in range(3))
    threshold, missing_left, outputs = np.empty(len(nodes)), np.empty(len(nodes), np.bool_), np.zeros(len(nodes))
    shape, cuts = (feature, threshold, missing_left, left, right), mapper.cuts
    engine.describe_nodes(
        nodes, cuts.first, cuts.cut, room.place[:count], room.numbers[:count], sums, l2, gradient_unit, *shape, outputs
    )
    categories = {}
    by_category = mapper.has_categories and (feature >= 0) & mapper.categorical[np.maximum(feature, 0)]
    for node in np.flatnonzero(by_category).tolist():
        goes_left, threshold[node] = bits_of(nodes[node : node + 1, NODE_SET:].view(np.uint64), 256)[0], np.nan
        known = mapper.thresholds[feature[node]]  # lists those that go the other way than missing values
        categories[node] = known[goes_left[: len(known)] != missing_left[node]]
    if len(rows) < len(leaf_of_row):
        run_parallel(route, first_rows, n_threads)
    return GrownTree(*shape, outputs, leaf_of_row, categories)
