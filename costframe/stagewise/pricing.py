"""Prices of a bank's learners, features and resources, with the rows that pay them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe.core.arrays import F8
from costframe.core.cost.groups import PricedGroups
from costframe.core.cost.sampled_prices import MOST_ROWS, SampledPrices
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.outputs import BankOutputs
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.tables.row_draws import RowDraw, draw_rows
from costframe.core.tables.row_hashes import hash_rows
from costframe.training.data import Rows


@frozen(eq=False)
class Pricing:
    """Prices of a bank's learners, features and resources, with the rows that pay them.

    Attributes
    ----------
    bank : WeakLearnerBank
    prices : PriceArrays
    X : float64 (n, d)
    groups : PricedGroups
    acquisition : {"path", "learner"}
    n_rows : float
        The sum of the weights.
    """

    bank: WeakLearnerBank
    prices: PriceArrays
    X: F8
    groups: PricedGroups
    acquisition: str
    n_rows: float

    @classmethod
    def of(
        cls, bank: WeakLearnerBank, prices: PriceArrays, rows: Rows, outputs: BankOutputs, acquisition: str
    ) -> Pricing:
        """Price a bank for rows with known outputs."""
        comparisons = outputs.comparisons(bank, prices.split, rows.weight)
        groups = PricedGroups.of_bank(bank, prices, n_rows=rows.total_weight, comparisons=comparisons)
        return cls(bank, prices, rows.X, groups, acquisition, rows.total_weight)

    @property
    def spread_prices(self) -> PriceArrays:
        """Prices of features, with each row's share of the prices paid once for all rows."""
        return evolve(self.prices, cost=self.prices.cost + self.prices.once / self.n_rows)

    @cached_property
    def on_all_rows(self) -> SampledPrices:
        """Prices for all rows, drawn with equal weights: few rows are all drawn, and only their weights change."""
        return self._on(self.X, np.full(len(self.X), 1.0 / len(self.X)))

    def _on(self, X: F8, share: F8) -> SampledPrices:
        if self.acquisition == "learner":
            return SampledPrices.whole(self.groups, share)
        return SampledPrices.of_bank(self.bank, self.groups, self.prices.needs, X, share)

    @cached_property
    def _keys(self) -> NDArray[np.uint64]:
        names = self.prices.names
        return hash_rows([self.X[:, f] for f in sorted(range(len(names)), key=names.__getitem__)], len(self.X))

    def at(self, weight: F8) -> SampledPrices:
        """Return prices for rows drawn by weight, float64 (n,)."""
        if self.acquisition == "learner":
            return SampledPrices.whole(self.groups)
        return self.drawn(weight)[0]

    def drawn(self, weight: F8) -> tuple[SampledPrices, RowDraw]:
        """Return prices for rows drawn by weight, float64 (n,), and these rows."""
        few = len(self.X) <= MOST_ROWS
        draw = draw_rows(np.empty(0, np.uint64) if few else self._keys, weight, MOST_ROWS)
        if self.acquisition == "learner":
            return SampledPrices.whole(self.groups, draw.share), draw
        return self.on_all_rows.with_weight(draw.share) if few else self._on(draw.of(self.X), draw.share), draw
