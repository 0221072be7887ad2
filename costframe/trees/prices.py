"""Prices of splits: free, or what a tree's state of payments asks; see `paid_once` and `paid_by_row`."""

from __future__ import annotations

from abc import abstractmethod
from operator import is_
from typing import NamedTuple, Protocol, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.cost.growing_rounds import GrowingRounds
from costframe.trees.room import GrownTree

FREE, BY_MODEL, BY_ROW = engine.constants("nobody", "model", "each_row")  # who pays
LARGEST = 1e300  # a higher price buys nothing either, and sums of a few stay finite


def in_loss(tradeoff: float, money: ArrayLike) -> F8:
    """Multiply prices by a tradeoff; free stays free, and large products stay finite."""
    price = np.asarray(money, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where((price == 0) | (tradeoff == 0), 0.0, np.minimum(tradeoff * price, LARGEST))


_NO_WORDS = np.zeros(0, np.int64)
NO_VISITS = engine.Visits(
    np.zeros(0), np.zeros((0, 0), np.uint8), np.zeros((0, 0), np.uint64), np.zeros(0, np.uint8), np.zeros(0, np.bool_),
    _NO_WORDS, np.zeros(1, np.int64), _NO_WORDS, np.zeros(0, np.uint64),
)  # fmt: skip


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
    visits: engine.Record = NO_VISITS  # of `GrowingRounds`


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

    def end_tree(self, tree: GrownTree) -> None:
        """Count the rounds of all rows after a tree, where further rounds have a price."""

    def fork(self) -> Self:
        """Return an independent copy, between trees."""

    def mark_paid(self, features: B1, resources: B1) -> None:
        """Make these features (d,) and resources (R,) free for splits."""


class RecordedPrices:
    """The base of prices: the engine's record stays as long as the state has the same numbers and arrays."""

    _kept: tuple[PriceState, engine.Record] | None = None
    rounds: GrowingRounds | None = None  # of the training rows; None if further rounds are free

    def record(self) -> engine.Record:
        """Return the prices of a new tree for the engine, after all payments."""
        state = self.state()
        if self._kept is None or not all(map(is_, state, self._kept[0])):
            self._kept = state, engine.Prices(*state)
        return self._kept[1]

    def end_tree(self, tree: GrownTree) -> None:
        """Count the rounds of all rows after a tree, where further rounds have a price."""
        if self.rounds is not None:
            self.rounds.add(tree.table)

    @property
    def visits(self) -> engine.Record:
        """The rounds of the training rows, for the engine."""
        return NO_VISITS if self.rounds is None else self.rounds.record

    @abstractmethod
    def state(self) -> PriceState:
        """Return the prices of a new tree, after all payments."""


# Stands below its class.
_FREE = PriceState(FREE, 0.0, 0.0, 0.0, np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, np.bool_))


@final
class NoPrices(RecordedPrices):
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
