"""What a row pays for further features, whole sets of them, given those that it has: resources are paid once."""

from __future__ import annotations

from typing import Self

import numpy as np
from attrs import frozen

import costframe as cf


@frozen(eq=False)
class NextPrices:
    """Prices as arrays: of features (d,), of resources (r,), and which of these each feature needs, bool (d, r)."""

    feature: np.ndarray
    resource: np.ndarray
    needs: np.ndarray

    @classmethod
    def of(cls, costs: cf.CostModel) -> Self:
        """Read a price table; needs include the resources that resources need."""
        prices = costs.select(costs.names)
        return cls(prices.cost, prices.resource_cost, np.asarray(prices.needs, bool))

    def of_sets(self, has: np.ndarray, sets: np.ndarray) -> np.ndarray:
        """Return the price of each of some sets, bool (m, d), for a row that has features, bool (d,): float64 (m,)."""
        more = sets & ~has
        lacking = ~self.needs[has].any(axis=0)
        return more @ self.feature + ((more @ self.needs) & lacking) @ self.resource
