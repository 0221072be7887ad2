"""Prices of splits."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple, Protocol, final

import numpy as np

from costframe.core.exact_sums import on_grid
from costframe.core.workers import ALONE, Workers

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.training.data import Rows
    from costframe.trees.growing.finish import GrownTree

__all__ = ["NoPrices", "OncePrices", "PriceState", "SplitPrices", "in_loss", "once_prices"]

FREE, BY_MODEL, BY_ROW = range(3)  # who pays
LARGEST = 1e300  # a higher price buys nothing either, and sums of a few stay finite


def in_loss(tradeoff: float, money: ArrayLike) -> NDArray[np.float64]:
    """Multiply prices by a tradeoff; free stays free, and large products stay finite."""
    price = np.asarray(money, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where((price == 0) | (tradeoff == 0), 0.0, np.minimum(tradeoff * price, LARGEST))


class PriceState(NamedTuple):
    """Prices for the engine, which changes the arrays of the price object at payments.

    Attributes
    ----------
    kind : int
        FREE, BY_MODEL (as `OncePrices`) or BY_ROW (as `LazyPrices`); arrays of the other kinds are empty.
    tradeoff, root, reuse : float
    row_weight : float64 (n,) or (0,)
        Empty for ones.
    split, once, once_paid : float64 (d,), float64 (d,), bool (d,)
        Price of a comparison, once-price of a feature, and whether that is paid.
    begin, items : int64 (d + 1,), int64 (any,)
        Items that a feature needs: resources of `OncePrices`; resources, d + r, and the feature of `LazyPrices`.
    feature_price, feature_paid, resource_price, resource_paid, used
        Of `OncePrices`.
    totals, marks, seen, uncharged, paid_by_all, true_once, n_items, all_known
        Of `LazyPrices`: sums of payments; marks of rows; prices of items for splits and beyond.
    address : int
        Of the function that combines with other workers, as in `Task`.
    unit : float
        All weights of rows are multiples of it; see `on_grid`.
    """

    kind: int
    tradeoff: float
    root: float
    reuse: float
    row_weight: NDArray[np.float64]
    split: NDArray[np.float64]
    once: NDArray[np.float64]
    once_paid: NDArray[np.bool_]
    begin: NDArray[np.int64] = np.zeros(0, np.int64)
    items: NDArray[np.int64] = np.zeros(0, np.int64)
    feature_price: NDArray[np.float64] = np.zeros(0)
    feature_paid: NDArray[np.bool_] = np.zeros(0, np.bool_)
    resource_price: NDArray[np.float64] = np.zeros(0)
    resource_paid: NDArray[np.bool_] = np.zeros(0, np.bool_)
    used: NDArray[np.bool_] = np.zeros(0, np.bool_)
    totals: NDArray[np.float64] = np.zeros(2)
    marks: NDArray[np.uint64] = np.zeros((0, 1), np.uint64)
    seen: NDArray[np.float64] = np.zeros(0)
    uncharged: NDArray[np.float64] = np.zeros(0)
    paid_by_all: NDArray[np.float64] = np.zeros(0)
    true_once: NDArray[np.float64] = np.zeros(0)
    n_items: int = 0
    all_known: bool = False
    address: int = 0
    unit: float = 1.0


class SplitPrices(Protocol):
    """Prices in units of the summed loss: tradeoff * rows * price of a feature.

    The best split has the largest `gain - price`, which must be positive. A price may depend on the leaf and on earlier
    payments, but not on the threshold. One object serves all trees of an ensemble.

    Attributes
    ----------
    tradeoff : float
        Multiplies all prices; may be changed between trees.
    """

    tradeoff: float

    def state(self) -> PriceState:
        """Return the prices of a new tree."""

    def charge_rows(self, tree: GrownTree, rows: NDArray[np.int32]) -> None:
        """Charge rows that a tree was not grown on, but that pass through it as well."""

    def fork(self) -> Self:
        """Return an independent copy, between trees."""

    def mark_paid(self, features: NDArray[np.bool_], resources: NDArray[np.bool_]) -> None:
        """Make these features (d,) and resources (R,) free for splits."""


@final
class NoPrices:
    """All splits are free."""

    tradeoff = 0.0

    def state(self) -> PriceState:
        """Return empty prices."""
        return PriceState(FREE, 0.0, 0.0, 0.0, np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, np.bool_))

    def charge_rows(self, tree: GrownTree, rows: NDArray[np.int32]) -> None:
        """Do nothing."""

    def fork(self) -> Self:
        """Return itself."""
        return self

    def mark_paid(self, features: NDArray[np.bool_], resources: NDArray[np.bool_]) -> None:
        """Do nothing."""


@final
class OncePrices:
    """Greedy Miser's prices: the first split that needs a feature or a resource pays for it, then it is free.

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
    """

    def __init__(
        self,
        feature_price: ArrayLike,
        *,
        resource_price: ArrayLike = (),
        needed: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
        split_price: ArrayLike = 0.0,
        root_price: float = 0.0,
        reuse_price: float = 0.0,
        row_weight: ArrayLike | None = None,
        tradeoff: float = 1.0,
        workers: Workers = ALONE,
    ) -> None:
        self.tradeoff, self.workers = tradeoff, workers
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

    def fork(self) -> OncePrices:
        """Return an independent copy, between trees."""
        other = copy(self)
        other.feature_paid, other.resource_paid = self.feature_paid.copy(), self.resource_paid.copy()
        return other

    def mark_paid(self, features: NDArray[np.bool_], resources: NDArray[np.bool_]) -> None:
        """Mark these features (d,) and resources (R,) as paid."""
        self.feature_paid |= features
        self.resource_paid |= resources

    def state(self) -> PriceState:
        """Return the prices of a new tree, after all payments."""
        d = len(self.feature_price)
        return PriceState(
            BY_MODEL,
            float(self.tradeoff),
            self.root_price,
            self.reuse_price,
            self.row_weight,
            self.split_price,
            np.empty(d),
            np.zeros(d, np.bool_),
            *self.needed,
            feature_price=self.feature_price,
            feature_paid=self.feature_paid,
            resource_price=self.resource_price,
            resource_paid=self.resource_paid,
            used=np.zeros(d, np.bool_),
            address=self.workers.address,
            unit=self._unit,
        )

    def charge_rows(self, tree: GrownTree, rows: NDArray[np.int32]) -> None:
        """Do nothing: payments do not depend on rows."""


def once_prices(prices: PriceArrays, rows: Rows, *, tradeoff: float = 1.0, share: float = 1.0) -> OncePrices:
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
    return OncePrices(
        in_loss(n, prices.cost) + prices.once,
        resource_price=in_loss(n, prices.resource_cost),
        needed=prices.needed,
        split_price=in_loss(1 / share, prices.split),
        root_price=float(in_loss(n / share, prices.learner)),
        reuse_price=float(in_loss(n / share, prices.reuse)),
        row_weight=rows.uneven_weight,
        tradeoff=tradeoff,
        workers=rows.workers,
    )
