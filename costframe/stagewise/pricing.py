"""What a bank's learners cost the rows that come to a stage."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.cost.groups import PricedGroups
from costframe.core.cost.sampled_prices import SampledPrices, drawn_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.learners.outputs import BankOutputs
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.training.data import Rows

__all__ = ["Pricing"]


@frozen(eq=False)
class Pricing:
    """Prices of a bank's learners, features and resources, and the rows that pay them.

    Attributes
    ----------
    bank : WeakLearnerBank
    prices : PriceArrays
    X : float64 (n, d)
    groups : PricedGroups
    acquisition : {"path", "learner"}
    n_rows : float
        Their weights added up.
    """

    bank: WeakLearnerBank
    prices: PriceArrays
    X: NDArray[np.float64]
    groups: PricedGroups
    acquisition: str
    n_rows: float

    @classmethod
    def of(
        cls, bank: WeakLearnerBank, prices: PriceArrays, rows: Rows, outputs: BankOutputs, acquisition: str
    ) -> Pricing:
        """Price a bank for rows on which its outputs are known."""
        comparisons = outputs.comparisons(bank, prices.split, rows.weight)
        groups = PricedGroups.of_bank(bank, prices, n_rows=rows.total_weight, comparisons=comparisons)
        return cls(bank, prices, rows.X, groups, acquisition, rows.total_weight)

    @property
    def spread_prices(self) -> PriceArrays:
        """Prices of features with the row's share of what is paid once for all rows."""
        return evolve(self.prices, cost=self.prices.cost + self.prices.once / self.n_rows)

    def on_all_rows(self) -> SampledPrices:
        """Return prices for all rows, alike."""
        return self._of_all

    @cached_property
    def _of_all(self) -> SampledPrices:
        """Few rows are all drawn, and only their weights change from stage to stage."""
        alike = np.full(len(self.X), 1.0 / len(self.X))
        if self.acquisition == "learner":
            return SampledPrices.whole(self.groups, alike)
        return SampledPrices.of_bank(self.bank, self.groups, self.prices.needs, self.X, alike)

    def at(self, weight: NDArray[np.float64]) -> SampledPrices:
        """Return prices for rows drawn by weight, float64 (n,)."""
        if self.acquisition == "learner":
            return SampledPrices.whole(self.groups)
        return self.drawn(weight)[0]

    def drawn(self, weight: NDArray[np.float64]) -> tuple[SampledPrices, NDArray[np.int64]]:
        """Return prices for rows drawn by weight, float64 (n,), and these rows."""
        rows, share = drawn_rows(weight)
        if self.acquisition == "learner":
            return SampledPrices.whole(self.groups, share), rows
        if len(rows) == len(self.X):
            return self._of_all.weighing(share), rows
        return SampledPrices.of_bank(self.bank, self.groups, self.prices.needs, self.X[rows], share), rows
