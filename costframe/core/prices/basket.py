"""Features with the resources that they need, each once: exact prices, and prices of rows and sets in training."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property

import numpy as np
from attrs import frozen

from costframe.core.arrays import B1, F8
from costframe.core.prices.exact_prices import ExactPrices
from costframe.core.prices.needs import Needs
from costframe.core.prices.price_arrays import PriceArrays


def price_exactly(exact: ExactPrices, needs: Needs, features: Collection[int], paid: Collection[int] = ()) -> int:
    """Return the price of features with the resources that they need beyond those paid, in whole units of `exact`."""
    resources = needs.of_features(features, paid)
    return sum(map(exact.cost.__getitem__, features)) + sum(map(exact.resource_cost.__getitem__, resources))


def price_round(exact: ExactPrices, prices: PriceArrays, features: Collection[int], paid: Collection[int]) -> int:
    """Return the price of going again, in a round for features, to resources paid before, in whole units of `exact`."""
    if not (prices.has_rounds and paid):
        return 0
    again = prices.direct_needs.visited(features, paid, prices.resource_stays).intersection(paid)
    return sum(map(exact.resource_round.__getitem__, again))


@frozen(eq=False, slots=False)
class SetPrices:
    """Prices of sets: each feature with its share of once-prices, and each resource once.

    Attributes
    ----------
    cost : float64 (d,)
    resource_cost : float64 (R,)
    needs : bool (d, R)
    n_rows : float
        Rows that share once-prices.
    arrays : PriceArrays
        Those that they were made of.
    """

    cost: F8
    resource_cost: F8
    needs: B1
    n_rows: float
    arrays: PriceArrays

    @classmethod
    def of(cls, prices: PriceArrays, n_rows: float) -> SetPrices:
        """Make prices of sets, with once-prices shared by `n_rows` rows."""
        return cls(prices.cost + prices.once / n_rows, prices.resource_cost, prices.needs, n_rows, prices)

    def of_set(self, features: Iterable[int]) -> float:
        """Return the price of features for one row."""
        chosen = sorted(set(features))
        resources = self.resource_cost[self.needs[chosen].any(axis=0)] if chosen else self.resource_cost[:0]
        return float(self.cost[chosen].sum() + resources.sum())

    def of_sets(self, members: B1) -> F8:
        """Return the price of each of many sets, bool (s, d), equal to `of_set`: float64 (s,)."""
        return _sum_chosen(self.cost, members) + _sum_chosen(self.resource_cost, members @ self.needs)

    def of_round(self, features: Collection[int], had: Collection[int]) -> float:
        """Return the price of going again to resources, in a round that buys features after those had."""
        arrays, fresh = self.arrays, set(features).difference(had)
        paid = arrays.direct_needs.of_features(had)
        again = arrays.direct_needs.visited(fresh, paid, arrays.resource_stays).intersection(paid)
        return float(arrays.resource_round[sorted(again)].sum())

    def added_prices(self, features: Iterable[int]) -> F8:
        """Return the price that each single feature adds to that of `features`: float64 (d,)."""
        had = self.needs[sorted(features)].any(axis=0)
        added: F8 = self.cost + (self.needs & ~had) @ self.resource_cost
        return added

    def saved_prices(self, features: Iterable[int]) -> F8:
        """Return the price saved by leaving out each of `features`: float64 (d,), valid at these."""
        alone = self.needs[sorted(features)].sum(axis=0) == 1
        saved: F8 = self.cost + (self.needs & alone) @ self.resource_cost
        return saved

    def shares(self, features: Iterable[int]) -> F8:
        """Return each feature's share of the price of `features`, resources split: float64 (d,), valid at these."""
        sharing = np.maximum(self.needs[sorted(features)].sum(axis=0), 1)
        parts: F8 = self.cost + self.needs @ (self.resource_cost / sharing)
        return parts

    @cached_property
    def full(self) -> float:
        """Price of all features for one row."""
        return self.of_set(range(len(self.cost)))

    def tiers(self, most: int) -> list[frozenset[int]]:
        """List the sets of all features up to a price, if there are at most `most` different prices above zero."""
        alone = np.array([self.of_set([f]) for f in range(len(self.cost))])
        levels = np.unique(alone[alone > 0]).tolist()
        return [frozenset(np.flatnonzero(alone <= level).tolist()) for level in levels] if len(levels) <= most else []

    def bundles(self) -> list[frozenset[int]]:
        """List the distinct sets of features that need a common resource."""
        return list(dict.fromkeys(frozenset(np.flatnonzero(of).tolist()) for of in self.needs.T if of.any()))


def _sum_chosen(values: F8, chosen: B1) -> F8:
    """Sum the chosen values, bool (s, n), of each row alone, as zeros between them would change the rounding."""
    count, sums = chosen.sum(axis=1), np.zeros(len(chosen))
    for size in np.unique(count[count > 0]).tolist():
        rows = count == size
        sums[rows] = values[np.nonzero(chosen[rows])[1]].reshape(-1, size).sum(axis=1)
    return sums
