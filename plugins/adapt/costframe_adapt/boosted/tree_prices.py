"""One table of prices for the trees of the cheap model and of the gate, which share what they buy.

A feature of the cheap model is paid for by the rows that stay with it; one of the gate by all rows, save those that go
on to a model which would have read it anyway. The paper charges every row for either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from attrs import define, frozen

from costframe.trees.growing.lazy_prices import LazyPrices
from costframe.trees.growing.prices import OncePrices, in_loss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.trees.growing.prices import SplitPrices

__all__ = ["Payers", "PriceTable", "price_table"]


@frozen(eq=False)
class Payers:
    """Which share of each row pays for what.

    Attributes
    ----------
    weight : float64 (n,)
        Of the rows.
    stays : float64 (n,)
        1 - q: the share that is answered by the cheap model.
    read : bool (n, d)
        What the expensive model reads anyway.
    """

    weight: NDArray[np.float64]
    stays: NDArray[np.float64]
    read: NDArray[np.bool_]

    @property
    def staying(self) -> float:
        """Rows that pay for the cheap model."""
        return float(self.weight @ self.stays)

    def further(self, needs: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the rows that go on, and would not have bought each feature and resource: float64 (d,), (R,)."""
        going = self.weight * (1 - self.stays)
        unread = float(going.sum()) - going @ self.read
        if not needs.shape[1]:
            return unread, np.zeros(0)
        bought = (self.read.astype(np.float32) @ needs.astype(np.float32)) > 0
        return unread, float(going.sum()) - going @ bought


class PriceTable(Protocol):
    """Prices of the two kinds of trees, grown in turns."""

    @property
    def cheap(self) -> SplitPrices:
        """What a tree of the cheap model pays."""

    @property
    def gate(self) -> SplitPrices:
        """What a tree of the gate pays."""

    def assume(self, bank: WeakLearnerBank, X: NDArray[np.float64]) -> None:
        """Take what trees of a cheap model that is there already read of the rows X as bought by them."""

    def settle(self) -> None:
        """Let each know what the other has bought; after every tree."""


@define(eq=False)
class OnceTable:
    """Greedy Miser's prices u_f: zero for good once either has used the feature."""

    cheap: OncePrices
    gate: OncePrices
    further: tuple[NDArray[np.float64], NDArray[np.float64]]

    @classmethod
    def of(
        cls, prices: PriceArrays, payers: Payers, tradeoff: float, row_weight: NDArray[np.float64] | None
    ) -> OnceTable:
        """Reckon in the units of the objective's sum form."""
        of_features, of_resources = (np.maximum(rows, 0.0) for rows in payers.further(prices.needs))
        below = payers.staying
        cheap, gate = (
            OncePrices(
                in_loss(1.0, (below + features) * prices.cost) + prices.once,
                resource_price=in_loss(1.0, (below + resources) * prices.resource_cost),
                needs=prices.needs,
                split_price=prices.split,
                root_price=float(in_loss(rows, prices.learner)),
                reuse_price=float(in_loss(rows, prices.reuse)),
                row_weight=row_weight,
                tradeoff=tradeoff,
            )
            for features, resources, rows in (
                (0.0, 0.0, below),
                (of_features, of_resources, float(payers.weight.sum())),
            )
        )
        return cls(cheap, gate, (of_features * prices.cost, of_resources * prices.resource_cost))

    def assume(self, bank: WeakLearnerBank, X: NDArray[np.float64]) -> None:
        """Take all features of these trees, and their resources, as bought."""
        del X  # by every row
        read = np.diff(bank.F.indptr) > 0
        self.cheap.mark_paid(read, np.asarray(self.cheap.needs[read].any(axis=0)))
        self.settle()

    def settle(self) -> None:
        """Take what the gate bought as paid for; of what the cheap model did, rows that go on have yet to pay."""
        cheap, gate = self.cheap, self.gate
        cheap.mark_paid(gate.feature_paid, gate.resource_paid)
        features, resources = cheap.feature_paid & ~gate.feature_paid, cheap.resource_paid & ~gate.resource_paid
        gate.feature_price[features] = self.further[0][features]
        gate.resource_price[resources] = self.further[1][resources]
        gate.mark_paid(features & (self.further[0] == 0), resources & (self.further[1] == 0))


@define(eq=False)
class LazyTable:
    """CEGB's prices, paid row by row: rows of either that met a feature have it."""

    cheap: LazyPrices
    gate: LazyPrices

    @classmethod
    def of(cls, prices: PriceArrays, payers: Payers, tradeoff: float) -> LazyTable:
        """Let rows pay as much as stays, and at the gate for what they would not read later."""
        n = len(payers.weight)
        full = prices.cost.sum() + prices.resource_cost.sum()
        later = payers.read @ prices.cost
        if len(prices.resource_cost):
            later = (
                later + ((payers.read.astype(np.float32) @ prices.needs.astype(np.float32)) > 0) @ prices.resource_cost
            )
        anyway = later / full if full > 0 else np.zeros(n)
        gate = LazyPrices(prices, tradeoff, n, payers.weight * (1 - (1 - payers.stays) * anyway))
        return cls(gate.weighing(payers.weight * payers.stays), gate)

    def assume(self, bank: WeakLearnerBank, X: NDArray[np.float64]) -> None:
        """Mark what each row reads on its ways through these trees."""
        leaves, everyone = bank.leaves(X), np.arange(len(X), dtype=np.int32)
        for tree in range(len(bank)):
            self.gate.walked(bank.trees.restrict([tree]), np.ascontiguousarray(leaves[:, tree]), everyone)

    def settle(self) -> None:
        """Do nothing: marks are shared."""


def price_table(
    kind: str, prices: PriceArrays, payers: Payers, tradeoff: float, row_weight: NDArray[np.float64] | None
) -> PriceTable:
    """Return prices for "miser" or for "cegb" trees; row weights are for what recurs with every split."""
    if kind == "cegb":
        return LazyTable.of(prices, payers, tradeoff)
    return OnceTable.of(prices, payers, tradeoff, row_weight)
