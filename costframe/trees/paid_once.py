"""Prices that a model pays once, as Greedy Miser's."""

from __future__ import annotations

from copy import copy
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import B1, I8
from costframe.core.cost.growing_rounds import GrowingRounds
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.sums import on_grid
from costframe.core.workers import ALONE, Workers
from costframe.training.data import Rows
from costframe.trees.prices import BY_MODEL, PriceState, RecordedPrices, in_loss
from costframe.trees.room import GrownTree


@final
class OncePrices(RecordedPrices):
    """Greedy Miser's prices: the first split that needs a feature or a resource pays for it, then it is free.

    Rows pay for further rounds one by one, as in `LazyPrices`.

    One object serves all trees of an ensemble, or of several ensembles that share payments. All prices are those at a
    tradeoff of one.

    Parameters
    ----------
    feature_price : float64 (d,)
        Paid at the first split on the feature in any tree.
    resource_price : float64 (R,), optional
        Paid at the first split on a feature that needs the resource.
    needed : int64 (d + 1,) and int64 (any,), optional
        The resources that each feature needs, as `Needs.listed` lists them; none by default.
    split_price : float64 (d,) or float
        Paid at every split, per unit of weight of the leaf's rows.
    root_price : float
        Paid at every tree's first split.
    reuse_price : float
        Paid at a tree's first split on a feature that an earlier tree has bought.
    row_weight : float64 (n,), optional
        Weights of the training rows, for `split_price`; ones by default.
    tradeoff : float
        Multiplies all prices; may be changed between trees.
    workers : Workers
        Of the training rows.
    rounds : GrowingRounds, optional
        Of the training rows, if further rounds have a price.
    """

    def __init__(
        self,
        feature_price: ArrayLike,
        *,
        resource_price: ArrayLike = (),
        needed: tuple[I8, I8] | None = None,
        split_price: ArrayLike = 0.0,
        root_price: float = 0.0,
        reuse_price: float = 0.0,
        row_weight: ArrayLike | None = None,
        tradeoff: float = 1.0,
        workers: Workers = ALONE,
        rounds: GrowingRounds | None = None,
    ) -> None:
        self.tradeoff, self.workers, self.rounds = tradeoff, workers, rounds
        self.feature_price = np.array(feature_price, np.float64)
        self.resource_price = np.array(resource_price, np.float64)
        d = len(self.feature_price)
        self.needed = needed or (np.zeros(d + 1, np.int64), np.empty(0, np.int64))
        self.split_price = np.array(np.broadcast_to(split_price, d), np.float64)
        self.root_price, self.reuse_price = float(root_price), float(reuse_price)
        self.row_weight, self._unit = np.zeros(0), 1.0
        if row_weight is not None:
            self.row_weight, self._unit = on_grid(np.array(row_weight, np.float64), workers)
        self.feature_paid, self.resource_paid = (np.zeros(n, np.bool_) for n in (d, len(self.resource_price)))
        self._scratch = np.empty(d), np.zeros(d, np.bool_), np.empty(d, np.bool_)  # which the engine sets

    @classmethod
    def of(cls, prices: PriceArrays, rows: Rows, *, tradeoff: float = 1.0, share: float = 1.0) -> OncePrices:
        """Return once-paid prices in units of the summed loss: n c_f + once_f, n C_r, and recurring prices.

        Parameters
        ----------
        prices : PriceArrays
        rows : Rows
            Training rows.
        tradeoff : float
            lambda, which multiplies all.
        share : float
            A step takes only this share of a gain; it divides prices that recur with every tree (comparisons, learners,
            reuse).
        """
        n = rows.total_weight
        return cls(
            in_loss(n, prices.cost) + prices.once,
            resource_price=in_loss(n, prices.resource_cost),
            needed=prices.needed,
            split_price=in_loss(1 / share, prices.split),
            root_price=float(in_loss(n / share, prices.learner)),
            reuse_price=float(in_loss(n / share, prices.reuse)),
            row_weight=rows.uneven_weight,
            tradeoff=tradeoff,
            workers=rows.workers,
            rounds=GrowingRounds.of(prices, rows.X, rows.workers) if prices.has_rounds else None,
        )

    def fork(self) -> OncePrices:
        """Return an independent copy, between trees."""
        other = copy(self)
        other.feature_paid, other.resource_paid = self.feature_paid.copy(), self.resource_paid.copy()
        once, once_paid, used = self._scratch
        other._scratch = once.copy(), once_paid, used.copy()  # noqa: SLF001 - the copy's own
        other.rounds = None if self.rounds is None else self.rounds.fork()
        return other

    def mark_paid(self, features: B1, resources: B1) -> None:
        """Mark these features (d,) and resources (R,) as paid."""
        self.feature_paid |= features
        self.resource_paid |= resources

    def state(self) -> PriceState:
        """Return the prices of a new tree, after all payments."""
        once, once_paid, used = self._scratch
        return PriceState(
            BY_MODEL,
            float(self.tradeoff),
            self.root_price,
            self.reuse_price,
            self.row_weight,
            self.split_price,
            once,
            once_paid,
            *self.needed,
            feature_price=self.feature_price,
            feature_paid=self.feature_paid,
            resource_price=self.resource_price,
            resource_paid=self.resource_paid,
            used=used,
            address=self.workers.address,
            unit=self._unit,
            visits=self.visits,
        )

    def charge_rows(self, tree: GrownTree, rows: NDArray[np.int32]) -> None:
        """Do nothing: payments do not depend on rows."""
