"""Exact cost of an ensemble while it grows, after each tree."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.cost.report import weighted_sum
from costframe.core.learners.bits import bit_sets, bits_of, word_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.tree_table import TreeTable
    from costframe.core.prices.price_arrays import PriceArrays

__all__ = ["PrefixCost"]


class PrefixCost:
    """Mean cost per row of an ensemble to which trees are added, with path acquisition.

    It equals `StageTree.cost` of every prefix, and is cheaper.

    Parameters
    ----------
    X : float64 (rows, d)
    weight : float64 (rows,)
    prices : PriceArrays
        In the order of X's columns.
    """

    def __init__(self, X: NDArray[np.float64], weight: NDArray[np.float64], prices: PriceArrays) -> None:
        self._X, self._weight, self._prices = np.ascontiguousarray(X), weight, prices
        words = word_count(X.shape[1])
        self._masks = np.zeros((len(X), words), np.uint64)
        self._computed = np.zeros(len(X))  # price of learners, comparisons and uses
        self._bought = np.zeros(len(X))  # price of features and resources
        self._mean: float | None = 0.0  # None: out of date
        feature, resource = np.nonzero(prices.needs)
        self._resource_masks = bit_sets(resource, feature, len(prices.resource_cost), words)

    def fork(self) -> PrefixCost:
        """Return an independent copy."""
        other = copy(self)
        for name in ("_masks", "_computed", "_bought"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def add(self, table: TreeTable) -> NDArray[np.float64]:
        """Add trees of one output each, with e_t = 1, and return their values: float64 (rows, trees)."""
        values = [self._add_tree(table.restrict([tree]) if len(table) > 1 else table) for tree in range(len(table))]
        return np.stack(values, axis=1) if values else np.empty((len(self._X), 0))

    def _add_tree(self, tree: TreeTable) -> NDArray[np.float64]:
        from costframe.core.cost.prefix_kernels import follow_tree, note_paths

        shape, prices = (tree.left, tree.right), self._prices
        leaves, values, uses = np.empty(len(self._X), np.int32), np.empty(len(self._X)), np.zeros(tree.n_nodes)
        masks, spent = np.zeros((tree.n_nodes, self._masks.shape[1]), np.uint64), np.zeros(tree.n_nodes)
        note_paths(tree.feature, *shape, prices.split, masks, spent, uses)
        spent += prices.learner + prices.reuse * uses
        some_bought = follow_tree(
            self._X, tree.feature, tree.threshold, tree.missing_left, *shape, tree.category_first, tree.categories,
            masks, tree.values[tree.value], prices.cost, self._resource_masks, prices.resource_cost,
            self._masks, self._bought, leaves, values,
        )  # fmt: skip
        some_computed = bool(spent.any())
        if some_computed:
            self._computed += spent[leaves]
        if some_bought or some_computed:
            self._mean = None
        return values

    @property
    def acquired(self) -> NDArray[np.bool_]:
        """Features that each row has acquired: bool (rows, d)."""
        return bits_of(self._masks, self._X.shape[1])

    @property
    def computed(self) -> NDArray[np.float64]:
        """Price that each row has paid for learners, comparisons and all uses of features: float64 (rows,)."""
        return self._computed.copy()

    @property
    def mean(self) -> float:
        """Weighted mean cost per row of the trees added so far."""
        if self._mean is None:
            per_row = self._computed
            if self._prices.reuse:
                per_row = per_row - self._prices.reuse * np.bitwise_count(self._masks).sum(axis=1)
            total = float(self._weight.sum())
            # Rounds like a report's mean, to the last digit.
            self._mean = weighted_sum(per_row + self._bought, self._weight) * (1.0 / total) if total > 0 else 0.0
        return self._mean
