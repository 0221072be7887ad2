"""Prices of splits, paid once or row by row."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from operator import is_
from typing import NamedTuple, Protocol, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.bits import bits_of, word_count
from costframe.core.learners.tree_table import TreeTable
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.sums import exact_sum, on_grid
from costframe.core.workers import ALONE, Workers
from costframe.training.data import Rows
from costframe.trees.room import GrownTree

FREE, BY_MODEL, BY_ROW = range(3)  # who pays
LARGEST = 1e300  # a higher price buys nothing either, and sums of a few stay finite


def in_loss(tradeoff: float, money: ArrayLike) -> F8:
    """Multiply prices by a tradeoff; free stays free, and large products stay finite."""
    price = np.asarray(money, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where((price == 0) | (tradeoff == 0), 0.0, np.minimum(tradeoff * price, LARGEST))


class PriceState(NamedTuple):
    """Prices for the engine, which changes their arrays at payments; arrays of other kinds are empty."""

    kind: int  # FREE, BY_MODEL (as `OncePrices`) or BY_ROW (as `LazyPrices`)
    tradeoff: float
    root: float
    reuse: float
    row_weight: F8  # (n,), or (0,) for ones
    split: F8  # (d,): price of a comparison
    once: F8  # (d,)
    once_paid: B1  # (d,)
    # begin (d + 1,), items (any,): items that a feature needs: resources of `OncePrices`; resources, d + r,
    # and the feature of `LazyPrices`
    begin: I8 = np.zeros(0, np.int64)
    items: I8 = np.zeros(0, np.int64)
    # of `OncePrices`
    feature_price: F8 = np.zeros(0)
    feature_paid: B1 = np.zeros(0, np.bool_)
    resource_price: F8 = np.zeros(0)
    resource_paid: B1 = np.zeros(0, np.bool_)
    used: B1 = np.zeros(0, np.bool_)
    # of `LazyPrices`: sums of payments; marks of rows; prices of items for splits and beyond
    totals: F8 = np.zeros(2)
    marks: NDArray[np.uint64] = np.zeros((0, 1), np.uint64)
    seen: F8 = np.zeros(0)
    uncharged: F8 = np.zeros(0)
    paid_by_all: F8 = np.zeros(0)
    true_once: F8 = np.zeros(0)
    n_items: int = 0
    all_known: bool = False
    address: int = 0  # of the function that combines with other workers, as in `Task`
    unit: float = 1.0  # all weights of rows are multiples of it; see `on_grid`


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

    def record(self) -> engine.Record:
        """Return the prices of a new tree for the engine, after all payments."""

    def charge_rows(self, tree: GrownTree, rows: NDArray[np.int32]) -> None:
        """Charge rows that a tree was not grown on, but that pass through it as well."""

    def fork(self) -> Self:
        """Return an independent copy, between trees."""

    def mark_paid(self, features: B1, resources: B1) -> None:
        """Make these features (d,) and resources (R,) free for splits."""


class _Recorded:
    """The base of prices: the engine's record stays as long as the state has the same numbers and arrays."""

    _kept: tuple[PriceState, engine.Record] | None = None

    def record(self) -> engine.Record:
        """Return the prices of a new tree for the engine, after all payments."""
        state = self.state()
        if self._kept is None or not all(map(is_, state, self._kept[0])):
            self._kept = state, engine.Prices(*state)
        return self._kept[1]

    @abstractmethod
    def state(self) -> PriceState:
        """Return the prices of a new tree, after all payments."""


_FREE = PriceState(FREE, 0.0, 0.0, 0.0, np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, np.bool_))


@final
class NoPrices(_Recorded):
    """All splits are free."""

    tradeoff = 0.0

    def state(self) -> PriceState:
        """Return empty prices."""
        return _FREE

    def charge_rows(self, tree: GrownTree, rows: NDArray[np.int32]) -> None:
        """Do nothing."""

    def fork(self) -> Self:
        """Return itself."""
        return self

    def mark_paid(self, features: B1, resources: B1) -> None:
        """Do nothing."""


@final
class OncePrices(_Recorded):
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
        needed: tuple[I8, I8] | None = None,
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
        self._scratch = np.empty(d), np.zeros(d, np.bool_), np.empty(d, np.bool_)  # which the engine sets

    def fork(self) -> OncePrices:
        """Return an independent copy, between trees."""
        other = copy(self)
        other.feature_paid, other.resource_paid = self.feature_paid.copy(), self.resource_paid.copy()
        once, once_paid, used = self._scratch
        other._scratch = once.copy(), once_paid, used.copy()  # noqa: SLF001 - the copy's own
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


@final
class LazyPrices(_Recorded):
    """CEGB's prices.

    Splitting leaf p on feature f costs, in the units of the objective's sum form,

        lambda sum_{i in p} w_i [ alpha_f + c_f (1 - C(i,f)) + sum_{r needed by f} C_r (1 - C(i,r)) ]
          + lambda gamma_f (1 - D(f))

    where C(i, .) = 1 after row i has met the feature or paid for the resource, and D(f) = 1 after any row has. Beyond
    the paper, a tree's first split pays `learner` for all its rows, and rows that meet a feature again in another tree
    pay `reuse`.

    One object serves all trees of an ensemble. Each row keeps its marks in all subsamples.

    Parameters
    ----------
    prices : PriceArrays
        In the order of the columns.
    tradeoff : float
        lambda; may be changed between trees.
    n_rows : int
        Training rows.
    weight : float64 (n_rows,), optional
        Ones by default.
    workers : Workers
        Of the training rows; the marks are of this one's.
    """

    def __init__(
        self, prices: PriceArrays, tradeoff: float, n_rows: int, weight: F8 | None = None, workers: Workers = ALONE
    ) -> None:
        self.tradeoff, self._prices, self._workers = tradeoff, prices, workers
        self._d, self._n_items = len(prices.cost), len(prices.cost) + len(prices.resource_cost)
        self._totals = np.zeros(2)  # spent, and fixed
        self._marks = np.zeros((n_rows, word_count(self._n_items)), np.uint64)
        self._cost = np.zeros(64 * self._marks.shape[1])
        self._cost[: self._n_items] = np.concatenate([prices.cost, prices.resource_cost])
        self._seen = self._cost  # prices of splits: less than rows pay for features marked as paid
        self._uncharged = self._cost - self._seen
        self._true_once, self._split = prices.once.copy(), prices.split.copy()  # of this object alone
        self._once = self._true_once  # of splits, like `_seen`
        first, resources = prices.needed
        of = np.concatenate([np.repeat(np.arange(self._d), np.diff(first)), np.arange(self._d)])
        self._items = np.concatenate([resources + self._d, np.arange(self._d)])[np.argsort(of, kind="stable")]
        self._begin = np.cumsum(np.bincount(of + 1, minlength=self._d + 1))  # resources come before the feature
        self._once_paid = np.zeros(self._d, np.bool_)
        self._row_weight, self._unit = np.empty(0), 1.0
        if weight is not None:
            self._row_weight, self._unit = on_grid(np.ascontiguousarray(weight, np.float64), workers)
        self._paid_by_all = np.zeros(len(self._cost))  # weight of all rows that have paid for each item
        self._all_known = True  # sums of weights on a grid are exact

    def fork(self) -> LazyPrices:
        """Return an independent copy, between trees."""
        other = copy(self)
        for name in ("_marks", "_once_paid", "_paid_by_all", "_totals"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def with_weight(self, weight: F8) -> LazyPrices:
        """Return prices of the same rows with other weights, (n_rows,), that share the marks of payments."""
        other = copy(self)
        other._row_weight, other._unit = on_grid(np.ascontiguousarray(weight, np.float64), self._workers)  # noqa: SLF001 - the copy's own
        other._all_known, other._totals = False, self._totals.copy()  # noqa: SLF001
        return other

    def mark_paid(self, features: B1, resources: B1) -> None:
        """Make these features (d,) and resources (R,) free for splits; the payments of rows still count."""
        self._seen = self._seen.copy()
        self._seen[: self._n_items][np.concatenate([features, resources])] = 0.0
        self._uncharged = self._cost - self._seen
        self._once = np.where(features, 0.0, self._once)

    @property
    def spent(self) -> float:
        """The payments of training rows, in money: the sum of w_i times the cost of row i."""
        return float(self._totals[0])

    @property
    def fixed(self) -> float:
        """The once-prices paid."""
        return float(self._totals[1])

    def state(self) -> PriceState:
        """Return the prices of a new tree, after all payments."""
        return PriceState(
            BY_ROW,
            float(self.tradeoff),
            self._prices.learner,
            self._prices.reuse,
            self._row_weight,
            self._split,
            self._once,
            self._once_paid,
            totals=self._totals,
            marks=self._marks,
            seen=self._seen,
            uncharged=self._uncharged,
            begin=self._begin,
            items=self._items,
            paid_by_all=self._paid_by_all,
            true_once=self._true_once,
            n_items=self._n_items,
            all_known=self._all_known,
            address=self._workers.address,
            unit=self._unit,
        )

    def charge_rows(self, tree: GrownTree, rows: NDArray[np.int32]) -> None:
        """Charge rows outside a tree's subsample, which also pass through it.

        Parameters
        ----------
        tree : GrownTree
        rows : int32 (m,)
        """
        self.charge_leaves(tree.table, tree.leaf_of_row[rows], rows)

    def charge_leaves(self, tree: TreeTable, leaves: NDArray[np.int32], rows: NDArray[np.int32]) -> None:
        """Charge rows for their ways to these leaves of a tree.

        Parameters
        ----------
        tree : TreeTable
        leaves, rows : int32 (m,)
        """
        items, comparisons, uses = self._by_node(tree)
        reuse = self._prices.reuse
        per_row, first_uses = np.empty(len(rows)), np.empty(len(rows))
        self._all_known = False
        engine.price_marks(self._marks, rows, items[leaves], self._cost, self._d, per_row, first_uses)
        per_row += comparisons[leaves] + reuse * (uses[leaves] - first_uses)
        if len(items) > 1:
            per_row += self._prices.learner
        weight = self._row_weight[rows] if len(self._row_weight) else 1.0
        with np.errstate(over="ignore"):  # as in the engine; prices have a limit, but not their sums over rows
            self._totals[0] += exact_sum(per_row * weight, self._workers)
        here = np.asarray(bits_of(items[np.unique(leaves)], self._d).any(axis=0))
        read = self._workers.sum(here) > 0
        read &= ~self._once_paid
        self._totals[1] += float(self._prices.once[read].sum())
        self._once_paid |= read

    def _by_node(self, tree: TreeTable) -> tuple[NDArray[np.uint64], F8, F8]:
        """Return, by node, the items read on the way to it, the price of comparisons, and the number of features."""
        items = np.zeros((len(tree.feature), self._marks.shape[1]), np.uint64)
        comparisons, tested = np.zeros(len(items)), [frozenset[int]()] * len(items)
        for node in np.flatnonzero(tree.feature >= 0):  # parents come before their children
            feature = int(tree.feature[node])
            read = self._items[self._begin[feature] : self._begin[feature + 1]]
            for child in (tree.left[node], tree.right[node]):
                items[child] = items[node]
                np.bitwise_or.at(items[child], read // 64, np.uint64(1) << (read % 64).astype(np.uint64))
                comparisons[child] = comparisons[node] + self._prices.split[feature]
                tested[child] = tested[node] | {feature}
        return items, comparisons, np.array([len(features) for features in tested], np.float64)
