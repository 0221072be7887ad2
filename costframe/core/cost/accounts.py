"""Accounts of rows, for models in training: of a model and the gate in front of it, and of an ensemble that grows."""

from __future__ import annotations

from copy import copy

import numpy as np
from attrs import Factory, field, frozen

from costframe import engine
from costframe.core.arrays import B1, F8
from costframe.core.cost.expected import ExpectedCost, Priced
from costframe.core.cost.growing_rounds import GrowingRounds
from costframe.core.learners.bits import bits_of, word_count
from costframe.core.learners.tree_table import TreeTable
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import PriceArrays, weigh_flags
from costframe.core.sums import exact_sum
from costframe.core.workers import ALONE, Workers


@frozen(eq=False)
class Account:
    """What a model acquires and computes on some rows.

    Attributes
    ----------
    acquired : bool (n, d)
    computed : float64 (n,)
        Learners, comparisons and uses, in money.
    shared : float64 (n,)
        The part of it that a gate in front of the model computes too; zeros by default.
    """

    acquired: B1
    computed: F8
    shared: F8 = field(default=Factory(lambda self: np.zeros_like(self.computed), takes_self=True))

    @classmethod
    def nothing(cls, n_rows: int, n_features: int) -> Account:
        """Acquire nothing."""
        return cls(np.zeros((n_rows, n_features), np.bool_), np.zeros(n_rows))

    @classmethod
    def of(cls, tree: Priced, costs: CostModel, X: F8, n_jobs: int | None = None) -> Account:
        """Evaluate a stage tree whose features are X's columns."""
        prices = costs.select(tree.card.feature_names)
        report = ExpectedCost(costs.without_errors()).evaluate(tree, X, n_jobs=n_jobs, made=True)
        acquired = np.asarray(report.acquired, np.bool_)
        computed = report.per_row - prices.of_rows(acquired, reuse=prices.reuse)
        return cls(acquired, computed if prices.learner or prices.spends else np.zeros(len(computed)))

    @classmethod
    def of_prefix(cls, prefix: PrefixCost) -> Account:
        """Take over what trees did that were added one by one."""
        return cls(prefix.acquired, prefix.computed)

    def __or__(self, other: Account) -> Account:
        """Return what both do on the same rows, a model and the gate in front of it."""
        computed = self.computed + other.computed - (self.shared + other.shared)
        return Account(self.acquired | other.acquired, computed)

    def where(self, chosen: B1, other: Account) -> Account:
        """Take this one's rows where `chosen`, bool (n,), else the other's."""
        return Account(
            np.where(chosen[:, np.newaxis], self.acquired, other.acquired),
            np.where(chosen, self.computed, other.computed),
            np.where(chosen, self.shared, other.shared),
        )

    def cost(self, prices: PriceArrays) -> F8:
        """Return what each row pays, without what is paid once a batch: float64 (n,)."""
        return self.computed + prices.of_rows(self.acquired, reuse=prices.reuse)

    def batch(self, prices: PriceArrays) -> F8:
        """Return what a batch pays for what each row acquires, if no other row does: float64 (n,)."""
        return weigh_flags(self.acquired, prices.once)


class PrefixCost:
    """Mean cost per row of an ensemble to which trees are added, with path acquisition.

    It equals `StageTree.cost` of every prefix, and is cheaper.

    Parameters
    ----------
    X : float64 (rows, d)
    weight : float64 (rows,)
    prices : PriceArrays
        In the order of X's columns.
    workers : Workers
        Whose rows these are a part of; the mean is of all.
    """

    def __init__(self, X: F8, weight: F8, prices: PriceArrays, workers: Workers = ALONE) -> None:
        self._X, self._weight, self._prices, self._workers = np.ascontiguousarray(X), weight, prices, workers
        self._total = exact_sum(weight, workers)
        self._masks = np.zeros((len(X), word_count(X.shape[1])), np.uint64)
        needs = prices.direct_needs.packed
        split, cost, resource_cost = prices.split.copy(), prices.cost.copy(), prices.resource_cost.copy()
        self._engine_prices = split, prices.learner, prices.reuse, cost, needs, resource_cost  # quicker if writable
        self._computed = np.zeros(len(X))  # price of learners, comparisons and uses
        self._bought = np.zeros(len(X))  # price of features and resources
        self._mean: float | None = 0.0  # None: out of date
        self._rounds = GrowingRounds.of(prices, self._X, workers) if prices.has_rounds else None

    def fork(self) -> PrefixCost:
        """Return an independent copy."""
        other = copy(self)
        for name in ("_masks", "_computed", "_bought"):
            setattr(other, name, getattr(self, name).copy())
        other._rounds = None if self._rounds is None else self._rounds.fork()  # noqa: SLF001
        return other

    def add(self, tree: TreeTable) -> F8:
        """Add a tree of one output, with e_t = 1, and return its values: float64 (rows,)."""
        leaves = np.empty(len(self._X), np.int64)
        arrays = self._masks, self._computed, self._bought, leaves
        paid = engine.pay_tree(self._X, engine.Tree.of(tree), *self._engine_prices, *arrays)
        if self._workers.count > 1 or paid:  # another worker's rows may have paid
            self._mean = None
        if self._rounds is not None:
            self._rounds.add(tree)
        return tree.values[tree.value[leaves]]

    @property
    def acquired(self) -> B1:
        """Features that each row has acquired: bool (rows, d)."""
        return bits_of(self._masks, self._X.shape[1])

    @property
    def computed(self) -> F8:
        """Price that each row has paid for learners, comparisons and all uses of features: float64 (rows,)."""
        return self._computed.copy()

    @property
    def mean(self) -> float:
        """Weighted mean cost per row of the trees added so far."""
        if self._mean is None:
            per_row = self._computed
            if self._prices.reuse:
                per_row = per_row - self._prices.reuse * np.bitwise_count(self._masks).sum(axis=1)
            if self._rounds is not None:
                per_row = per_row + self._rounds.per_row
            paid = exact_sum((per_row + self._bought) * self._weight, self._workers)
            self._mean = paid / self._total if self._total > 0 else 0.0  # as in a report
        return self._mean
