"""Exact cost of an ensemble while it grows, after each tree."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.cost.hard import price_masks
from costframe.core.cost.report import weighted_sum
from costframe.core.learners.bits import bits_of, word_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.tree_table import TreeTable
    from costframe.core.prices.price_arrays import PriceArrays


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
        self._masks = np.zeros((len(X), word_count(X.shape[1])), np.uint64)
        self._computed = np.zeros(len(X))  # price of learners, comparisons and uses
        self._bought = np.zeros(len(X))  # price of features and resources
        self._mean: float | None = 0.0  # None: out of date

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
        from costframe.core.cost.cost_kernels import find_leaves, note_paths

        prices, leaves = self._prices, np.empty(len(self._X), np.int64)
        masks, spent = np.zeros((tree.n_nodes, self._masks.shape[1]), np.uint64), np.zeros(tree.n_nodes)
        note_paths(tree.feature, tree.left, tree.right, prices.split, masks, spent)
        spent += prices.learner + prices.reuse * np.bitwise_count(masks).sum(axis=1)
        find_leaves(
            self._X, tree.feature, tree.threshold, tree.missing_left, tree.left, tree.right, tree.category_first,
            tree.categories, leaves,
        )  # fmt: skip
        read = masks[leaves]
        if len(buyers := np.flatnonzero((read & ~self._masks).any(axis=1))):
            self._masks[buyers] |= read[buyers]
            self._bought[buyers] = price_masks(prices, self._masks[buyers], slice(None), self._weight[buyers])[0]
            self._mean = None
        if spent.any():
            self._computed += spent[leaves]
            self._mean = None
        return tree.values[tree.value[leaves]]

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
