"""What a next test costs rows on their way through a tree, on which some features and resources were paid."""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen

from costframe.plugin import B1, F8, I8, PriceArrays


@frozen(eq=False)
class WayPrices:
    """Prices of a next test, on a way on which some features and resources were paid."""

    cost: F8  # (d,): of features that are not paid yet
    split: F8  # (d,): of each test
    once: F8  # (d,): for the batch, as `cost`
    resource: F8  # (R,)
    further: F8  # (R,): of a further round
    needs: B1  # (d, R): of features that are not paid yet
    paid: B1  # (R,)
    learner: float  # of the first test

    @classmethod
    def of(cls, prices: PriceArrays, tradeoff: float) -> WayPrices:
        """Make the prices of a first test, times a tradeoff."""
        return cls(
            tradeoff * prices.cost,
            tradeoff * prices.split,
            tradeoff * prices.once,
            tradeoff * prices.resource_cost,
            tradeoff * prices.resource_round,
            prices.needs,
            np.zeros(len(prices.resource_cost), np.bool_),
            tradeoff * prices.learner,
        )

    def reading(self, columns: I8) -> WayPrices:
        """Keep some columns, int64 (k,)."""
        cost, split, once = self.cost[columns], self.split[columns], self.once[columns]
        return evolve(self, cost=cost, split=split, once=once, needs=self.needs[columns])

    def after(self, feature: int) -> WayPrices:
        """Return the prices after a test of a feature."""
        cost, once, needs = self.cost.copy(), self.once.copy(), self.needs.copy()
        paid = self.paid | needs[feature]
        cost[feature], once[feature], needs[feature] = 0.0, 0.0, False
        return evolve(self, cost=cost, once=once, needs=needs, paid=paid, learner=0.0)

    def first(self) -> F8:
        """Return what a row pays for a test of each feature: float64 (d,)."""
        return self._alone() + self.learner

    def second(self) -> F8:
        """Return what a row pays for a test of a feature (columns) after one of another (rows): float64 (d, d)."""
        new = (self.needs & ~self.paid).astype(np.float64)
        prices = self._alone() - (new * (self.resource - self.further)) @ new.T
        np.fill_diagonal(prices, self.split)
        return np.asarray(prices)

    def once_second(self) -> F8:
        """Return what a batch pays for a test of a feature (columns) after one of another (rows): float64 (d, d)."""
        prices = np.tile(self.once, (len(self.once), 1))
        np.fill_diagonal(prices, 0.0)
        return prices

    def _alone(self) -> F8:
        to_pay = np.where(self.paid, self.further, self.resource)
        return np.asarray(self.cost + self.split + self.needs @ to_pay)
