"""Prices of a gate's trees: which rows pay, and what they pay anyway."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from costframe import WeakLearnerBank
from costframe.plugin import B1, F8, PriceArrays, Rows, exact_sum, to_grid
from costframe.trees import LazyPrices, OncePrices
from costframe_adapt.judge import Judge

_MOST = 1e300  # a higher price buys nothing either, and sums of a few stay finite


def gate_prices(judge: Judge, q: F8) -> GatePrices:
    """Return the prices of a gate's trees for shares q, float64 (n,), of the rows."""
    read = judge.expensive.train.account.acquired
    return GatePrices(judge.data.prices, judge.rows, 1 - q, read, judge.settings.tradeoff)


@frozen(eq=False)
class GatePrices:
    """The rows that pay for a gate's trees, and their prices."""

    prices: PriceArrays
    rows: Rows
    stays: F8  # (n,): 1 - q: the cheap model's share of each row
    read: B1  # (n, d): features that the expensive model reads anyway
    tradeoff: float

    def by_row(self) -> LazyPrices:
        """Return row-by-row prices."""
        prices, rows = self.prices, self.rows
        full = prices.cost.sum() + prices.resource_cost.sum()
        anyway = prices.of_rows(self.read) / full if full > 0 else np.zeros(len(rows))
        pays = rows.weight * (1 - (1 - self.stays) * anyway)
        return LazyPrices(prices, self.tradeoff, len(rows), pays)

    def by_row_after(self, cheap: WeakLearnerBank) -> LazyPrices:
        """Return row-by-row prices after the features on each row's ways through the cheap model's trees."""
        split_prices, everyone = self.by_row(), np.arange(len(self.rows), dtype=np.int32)
        leaves = cheap.leaves(self.rows.X)
        for tree in range(len(cheap)):
            split_prices.charge_leaves(cheap.trees.restrict([tree]), np.ascontiguousarray(leaves[:, tree]), everyone)
        return split_prices

    def once_after(self, cheap: WeakLearnerBank) -> OncePrices:
        """Return prices paid once; only rows that go on pay for features of the cheap model."""
        prices = self.prices
        going = to_grid(self.rows.weight * (1 - self.stays))  # so sums have no order
        stays = exact_sum(self.rows.weight * self.stays)
        all_going = exact_sum(going)
        features = all_going - going @ self.read
        resources = all_going - going @ self._resources_read
        found = OncePrices.of(prices, self.rows, tradeoff=self.tradeoff)
        bought = np.diff(cheap.F.indptr) > 0
        needed = prices.direct_needs.of_set(np.flatnonzero(bought))
        own = np.minimum((stays + features) * prices.cost, _MOST) + prices.once
        found.feature_price = np.where(bought, features * prices.cost, own)
        own = np.minimum((stays + resources) * prices.resource_cost, _MOST)
        found.resource_price = np.where(needed, resources * prices.resource_cost, own)
        found.mark_paid(bought & (features * prices.cost == 0), needed & (resources * prices.resource_cost == 0))
        return found

    @property
    def _resources_read(self) -> B1:
        return self.prices.direct_needs.of_rows(self.read)
