"""What trees of the cheap model pay, and trees of the gate.

A cheap model is bought by the rows that it is grown for. A gate's features are paid for by all rows, save those that go
on to a model which would have read them anyway; those that the cheap model reads cost the rows that stay nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.trees.growing.lazy_prices import LazyPrices
from costframe.trees.growing.prices import OncePrices, in_loss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.trees.growing.prices import SplitPrices

__all__ = ["GatePayers", "cheap_prices"]


def cheap_prices(
    kind: str,
    prices: PriceArrays,
    weight: NDArray[np.float64],
    tradeoff: float,
    row_weight: NDArray[np.float64] | None,
) -> SplitPrices:
    """Return what a cheap model pays that answers rows of these weights, float64 (n,).

    Prices of "cegb" are paid row by row, others once; row weights are for what recurs with every split.
    """
    if kind == "cegb":
        return LazyPrices(prices, tradeoff, len(weight), weight)
    return _once(prices, float(weight.sum()), tradeoff, row_weight)


def _once(prices: PriceArrays, rows: float, tradeoff: float, row_weight: NDArray[np.float64] | None) -> OncePrices:
    return OncePrices(
        in_loss(rows, prices.cost) + prices.once,
        resource_price=in_loss(rows, prices.resource_cost),
        needs=prices.needs,
        split_price=prices.split,
        root_price=float(in_loss(rows, prices.learner)),
        reuse_price=float(in_loss(rows, prices.reuse)),
        row_weight=row_weight,
        tradeoff=tradeoff,
    )


@frozen(eq=False)
class GatePayers:
    """Who pays for a gate's trees.

    Attributes
    ----------
    prices : PriceArrays
    weight : float64 (n,)
        Of the rows.
    stays : float64 (n,)
        1 - q: the share of each row that is answered by the cheap model.
    read : bool (n, d)
        What the expensive model reads anyway.
    """

    prices: PriceArrays
    weight: NDArray[np.float64]
    stays: NDArray[np.float64]
    read: NDArray[np.bool_]

    def by_row(self, tradeoff: float) -> LazyPrices:
        """Return prices paid row by row."""
        prices, n_rows = self.prices, len(self.weight)
        full = prices.cost.sum() + prices.resource_cost.sum()
        later = self.read @ prices.cost
        if len(prices.resource_cost):
            later = later + self._resources_read @ prices.resource_cost
        anyway = later / full if full > 0 else np.zeros(n_rows)
        return LazyPrices(prices, tradeoff, n_rows, self.weight * (1 - (1 - self.stays) * anyway))

    def by_row_after(self, cheap: StageTree, X: NDArray[np.float64], tradeoff: float) -> LazyPrices:
        """Return the same where each row X has what it reads on its ways through the cheap model's trees."""
        found = self.by_row(tradeoff)
        leaves, everyone = cheap.bank.leaves(X), np.arange(len(X), dtype=np.int32)
        for tree in range(len(cheap.bank)):
            found.walked(cheap.bank.trees.restrict([tree]), np.ascontiguousarray(leaves[:, tree]), everyone)
        return found

    def once_after(self, cheap: StageTree, tradeoff: float, row_weight: NDArray[np.float64] | None) -> OncePrices:
        """Return prices paid once; what the cheap model reads is left for the rows that go on."""
        prices, going = self.prices, self.weight * (1 - self.stays)
        stays, everyone = float(self.weight @ self.stays), float(self.weight.sum())
        features = np.maximum(float(going.sum()) - going @ self.read, 0.0)
        resources = np.maximum(float(going.sum()) - going @ self._resources_read, 0.0)
        found = _once(prices, everyone, tradeoff, row_weight)
        bought = np.diff(cheap.bank.F.indptr) > 0
        needed = np.asarray(prices.needs[bought].any(axis=0))
        own = in_loss(1.0, (stays + features) * prices.cost) + prices.once
        found.feature_price = np.where(bought, features * prices.cost, own)
        own = in_loss(1.0, (stays + resources) * prices.resource_cost)
        found.resource_price = np.where(needed, resources * prices.resource_cost, own)
        found.mark_paid(bought & (features * prices.cost == 0), needed & (resources * prices.resource_cost == 0))
        return found

    @property
    def _resources_read(self) -> NDArray[np.bool_]:
        return np.asarray((self.read.astype(np.float32) @ self.prices.needs.astype(np.float32)) > 0)
