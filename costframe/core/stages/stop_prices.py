"""What it costs to go from what is paid for to each stop of a plan, in one computation for tables and inquiries.

A set of *items*, features and resources, is an integer: one bit for each feature, then one for each resource.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.errors import CostModelError
from costframe.core.learners.bits import as_set, members

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays

__all__ = ["StopPrices", "stop_prices"]


class StopPrices:
    """The prices of m stops.

    Every sum is rounded once (`math.fsum`), so it depends on what is summed and not on the order; and where one price
    falls, no sum rises.

    Attributes
    ----------
    prices : PriceArrays
    bundles : tuple of int (m,)
        Items of each stop: its features, and all resources that they need.
    """

    def __init__(self, prices: PriceArrays, sets: Sequence[int], batch: float | None = None) -> None:
        self.prices = prices
        self._amounts: list[float] = [*prices.cost.tolist(), *prices.resource_cost.tolist()]
        shares = prices.cost if batch is None else prices.cost + prices.once / batch
        self._weighed: list[float] = [*shares.tolist(), *prices.resource_cost.tolist()]
        self._items = [1 << f | as_set(needed) << len(prices.cost) for f, needed in enumerate(prices.needed)]
        self.bundles = tuple(self.items(members(features)) for features in sets)
        self.total = lru_cache(4096)(self._total)
        self.to_later = lru_cache(4096)(self._to_later)

    def items(self, features: Iterable[int]) -> int:
        """Return features, given as columns, with all resources that they need."""
        found = 0
        for f in features:
            found |= self._items[f]
        return found

    def _total(self, items: int) -> float:
        """Return what items cost a row together."""
        return math.fsum(self._amounts[i] for i in members(items))

    def _to_later(self, paid: int, stop: int) -> NDArray[np.float64]:
        """Return the price of going from one stop to each later one, float64 (m - 1 - stop,); `paid` items are free.

        It is what is weighed against gains, with a row's share of what is paid once for a batch.
        """
        further = [bundle & ~paid for bundle in self.bundles[stop + 1 :]]
        return np.array([math.fsum(self._weighed[i] for i in members(items)) for items in further], np.float64)


@lru_cache(maxsize=64)  # every inquiry asks; prices are compared by identity, and CostModel.select returns the same
def stop_prices(prices: PriceArrays, sets: tuple[int, ...], batch: float | None = None) -> StopPrices:
    """Prepare the prices of stops whose features are `sets`, one bit a column; `batch` rows share once-prices.

    Raises
    ------
    CostModelError
        If there is a price for learners, comparisons or reuse.
    """
    for name, price in (("learner", prices.learner), ("split", prices.split.any()), ("reuse", prices.reuse)):
        if price:
            raise CostModelError(f"{name}: planner prices what it acquires: features, resources and once-prices")
    return StopPrices(prices, sets, batch)
