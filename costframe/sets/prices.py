"""What a set of features costs a row, with the resources that it needs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays

__all__ = ["SetPrices"]


@frozen(eq=False, slots=False)
class SetPrices:
    """Prices of sets: a feature's own, its share of what is paid once for all rows, and each resource once.

    Attributes
    ----------
    cost : float64 (d,)
    resource_cost : float64 (R,)
    needs : bool (d, R)
    n_rows : float
        Rows that share once-prices.
    """

    cost: NDArray[np.float64]
    resource_cost: NDArray[np.float64]
    needs: NDArray[np.bool_]
    n_rows: float

    @classmethod
    def of(cls, prices: PriceArrays, n_rows: float) -> SetPrices:
        """Spread once-prices over so many rows."""
        return cls(prices.cost + prices.once / n_rows, prices.resource_cost, prices.needs, n_rows)

    def of_set(self, features: Iterable[int]) -> float:
        """Return what a row pays for these features."""
        chosen = sorted(set(features))
        resources = self.resource_cost[self.needs[chosen].any(axis=0)] if chosen else self.resource_cost[:0]
        return float(self.cost[chosen].sum() + resources.sum())

    def of_each_more(self, features: Iterable[int]) -> NDArray[np.float64]:
        """Return what each single feature would add to what a row pays for these: float64 (d,)."""
        had = self.needs[sorted(features)].any(axis=0)
        added: NDArray[np.float64] = self.cost + (self.needs & ~had) @ self.resource_cost
        return added

    def of_each_less(self, features: Iterable[int]) -> NDArray[np.float64]:
        """Return what a row would save without each one of these: float64 (d,), read at these."""
        alone = self.needs[sorted(features)].sum(axis=0) == 1
        saved: NDArray[np.float64] = self.cost + (self.needs & alone) @ self.resource_cost
        return saved

    def shares(self, features: Iterable[int]) -> NDArray[np.float64]:
        """Return each one's part of what a row pays for these, resources shared: float64 (d,), read at these."""
        sharing = np.maximum(self.needs[sorted(features)].sum(axis=0), 1)
        parts: NDArray[np.float64] = self.cost + self.needs @ (self.resource_cost / sharing)
        return parts

    @cached_property
    def full(self) -> float:
        """What a row pays for all features."""
        return self.of_set(range(len(self.cost)))

    def bundles(self) -> list[frozenset[int]]:
        """List, for each resource that some feature needs, the features that need it; of equal ones, one."""
        return list(dict.fromkeys(frozenset(np.flatnonzero(each).tolist()) for each in self.needs.T if each.any()))
