"""Forests: trees with the class shares of all their nodes, and the growing of random forests."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field, frozen

from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.core.threads import run_parallel
from costframe.training.data import row_numbers
from costframe.trees.binning.bin_mapper import BinMapper

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.training.data import Rows, TrainingData
    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe_budgetforest.node_kernels import Growing, Rule, SplitPrice

__all__ = ["Forest", "ForestRows", "draw_bags", "grow_forest"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_POISSON = np.cumsum(np.exp(-1.0) / np.array([1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0]))


@frozen(eq=False)
class Forest:
    """Trees that vote with the class shares of their leaves.

    Attributes
    ----------
    trees : TreeTable
        Their outputs are `shares` of the leaves; for two classes only that of class 1.
    shares : float64 (nodes, K)
        Class shares of each node, leaf or not.
    bags : uint8 (n, T) or None
        How often each training row was drawn for each tree; None if unknown.
    """

    trees: TreeTable
    shares: NDArray[np.float64]
    bags: NDArray[np.uint8] | None = None

    @cached_property
    def parent(self) -> NDArray[np.int64]:
        """The parent of each node, as a place among all nodes; -1 for roots: int64 (nodes,)."""
        trees, inner = self.trees, np.flatnonzero(self.trees.feature >= 0)
        root = inner - trees.node_positions[inner]
        parent = np.full(trees.n_nodes, -1, np.int64)
        parent[root + trees.left[inner]] = inner
        parent[root + trees.right[inner]] = inner
        return parent

    def cut(self, inner: NDArray[np.bool_]) -> tuple[Forest, NDArray[np.int64]]:
        """Make all nodes leaves but `inner`, bool (nodes,), whose ancestors are `inner` too; return the kept nodes."""
        trees = self.trees
        kept = np.flatnonzero((self.parent < 0) | inner[self.parent])
        first = np.searchsorted(kept, trees.first)
        place = np.zeros(trees.n_nodes, np.int64)
        place[kept] = np.arange(len(kept)) - np.repeat(first[:-1], np.diff(first))
        root, tests = kept - trees.node_positions[kept], inner[kept]
        left, right = (
            np.where(tests, place[root + np.maximum(side[kept], 0)], -1) for side in (trees.left, trees.right)
        )
        width = int(trees.width[0])
        count = np.where(inner, trees.category_count, 0)
        named = np.repeat(inner, trees.category_count)
        table = TreeTable(
            first, np.where(tests, trees.feature[kept], -1), trees.threshold[kept], trees.missing_left[kept], left,
            right, trees.width, np.where(tests, -1, (np.cumsum(~tests) - 1) * width),
            self.shares[kept][~tests][:, -width:].ravel(), count[kept], trees.categories[named],
        )  # fmt: skip
        return Forest(table, self.shares[kept], self.bags), kept

    def prefix(self, count: int) -> Forest:
        """Keep the first trees."""
        return Forest(self.trees.restrict(np.arange(count)), self.shares[: self.trees.first[count]], self.bags)

    def predictor(self, names: tuple[str, ...]) -> StageTree:
        """Return the mean of the trees' shares as a predictor; a tree without tests is part of the constant."""
        trees = self.trees
        width, count = int(trees.width[0]), len(trees)
        grown = np.flatnonzero(np.diff(trees.first) > 1)
        roots = self.shares[trees.first[:-1][np.diff(trees.first) == 1]][:, -width:]
        bank = WeakLearnerBank.from_trees(trees.restrict(grown), names)
        each = (1.0 - count * np.finfo(np.float64).eps) / count  # so that no rounded sum is above one
        weights = np.tile(np.eye(width), (len(grown), 1)) * each
        return StageTree(bank, (Answer(np.arange(len(grown)), weights, roots.sum(axis=0) * each),))


@frozen(eq=False)
class ForestRows:
    """Rows as bins, in the order of their columns' names, so that draws do not depend on the order of columns."""

    rows: Rows
    order: NDArray[np.int64]
    binned: BinnedData
    n_classes: int
    bags: NDArray[np.uint8]
    splittable: NDArray[np.bool_] = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "splittable", np.flatnonzero(self.binned.splittable))

    @classmethod
    def of(cls, data: TrainingData, n_trees: int, seed: int, *, max_bins: int = 255, n_threads: int = 1) -> ForestRows:
        """Bin the training rows, and draw the bags of all trees."""
        rows, names = data.train, data.feature_names
        order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        X, weight = rows.X[:, order], rows.uneven_weight
        mapper = BinMapper.fit(X, max_bins=max_bins, sample_weight=weight, n_threads=n_threads)
        bags = draw_bags(row_numbers(rows, data), n_trees, seed)
        return cls(rows, order, mapper.transform(X, n_threads=n_threads), data.n_classes, bags)


def draw_bags(numbers: NDArray[np.uint64], n_trees: int, seed: int) -> NDArray[np.uint8]:
    """Draw how often each row is in each tree's bag, Poisson with mean one: uint8 (n, trees).

    `numbers` are hashes of the rows: rows with equal values share their draws, so a row given twice is a row of weight
    two, and the order of rows has no effect. A bag without rows holds all rows once.
    """
    bags = np.empty((len(numbers), n_trees), np.uint8)
    for t in range(n_trees):
        z = numbers + _mixed(np.uint64(seed % 2**63) * np.uint64(1_000_003) + np.uint64(t + 1))
        bags[:, t] = np.searchsorted(_POISSON, _mixed(z) / 2.0**64, side="right")
    bags[:, bags.max(axis=0, initial=0) == 0] = 1
    return bags


def _mixed(numbers: Any) -> Any:
    """Mix the bits of uint64 numbers: splitmix64."""
    with np.errstate(over="ignore"):
        z = numbers + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def grow_forest(given: ForestRows, prices: PriceArrays | None, rule: Rule, seed: int, *, n_threads: int = 1) -> Forest:
    """Grow one tree for each bag; without prices by the largest drop."""
    split, columns = _lay_out_prices(given, prices), np.ascontiguousarray(given.binned.columns[given.splittable])
    n_trees = given.bags.shape[1]

    def grow(t: int) -> tuple[TreeTable, NDArray[np.float64]]:
        return _grow(
            given, columns, split, rule, t, int(_mixed(np.uint64(seed % 2**63 + 7919 * (t + 1))) >> np.uint64(1))
        )

    grown = run_parallel(grow, range(n_trees), n_threads)
    trees = TreeTable.concatenate([table for table, _ in grown])
    return Forest(trees, np.concatenate([shares for _, shares in grown]), given.bags)


def _lay_out_prices(given: ForestRows, prices: PriceArrays | None) -> SplitPrice:
    """Return the prices of the columns that can be split, in their order."""
    from costframe_budgetforest.node_kernels import SplitPrice

    columns = given.order[given.splittable]
    if prices is None:
        none = np.zeros(len(columns))
        return SplitPrice(none, none, np.zeros(0), np.zeros(len(columns) + 1, np.int64), np.zeros(0, np.int64))
    first, need = prices.needed
    size = np.diff(first)[columns]
    needs = [need[first[f] : first[f + 1]] for f in columns.tolist()]
    return SplitPrice(
        prices.cost[columns], prices.split[columns], np.array(prices.resource_cost),
        np.concatenate([[0], np.cumsum(size)]), np.concatenate([np.zeros(0, np.int64), *needs]),
    )  # fmt: skip


def _grow(
    given: ForestRows, columns: NDArray[np.uint8], split: SplitPrice, rule: Rule, t: int, seed: int
) -> tuple[TreeTable, NDArray[np.float64]]:
    """Grow one tree; return it with the class shares of its nodes."""
    from costframe_budgetforest.grow_kernels import grow_tree

    weight = given.rows.weight * given.bags[:, t]
    rows = np.flatnonzero(given.bags[:, t]).astype(np.int32)
    nodes = _room(2 * len(rows), given.n_classes)
    count = grow_tree(columns, given.rows.y, weight, split, rule, rows, nodes, seed)
    shares = nodes.counts[:count] / nodes.counts[:count].sum(axis=1, keepdims=True)
    inner, place = (
        nodes.feature[:count] >= 0,
        given.splittable[np.maximum(nodes.feature[:count], 0)] if len(columns) else 0,
    )
    cuts = given.binned.mapper.thresholds
    threshold = np.array(
        [
            cuts[f][b] if test else 0.0
            for f, b, test in zip(np.broadcast_to(place, count), nodes.bin[:count], inner, strict=True)
        ]
    )
    feature = np.where(inner, given.order[place], -1).astype(np.int32)
    table = TreeTable.single(
        feature, threshold, nodes.missing_left[:count].copy(), nodes.left[:count].copy(), nodes.right[:count].copy(),
        shares[:, 1] if given.n_classes == 2 else shares, grown=True,
    )  # fmt: skip
    return table, shares


def _room(most: int, n_classes: int) -> Growing:
    from costframe_budgetforest.node_kernels import Growing

    feature, bins, left, right, parent, depth = (np.empty(most, np.int32) for _ in range(6))
    begin, end = np.empty(most, np.int64), np.empty(most, np.int64)
    counts, missing_left = np.zeros((most, n_classes)), np.zeros(most, np.bool_)
    return Growing(feature, bins, missing_left, left, right, parent, depth, begin, end, counts)
