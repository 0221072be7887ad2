"""Prices that rows pay one by one, as CEGB's."""

from __future__ import annotations

from copy import copy
from typing import final

import numpy as np
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import B1, F8
from costframe.core.cost.growing_rounds import GrowingRounds
from costframe.core.learners.bits import bits_of, word_count
from costframe.core.learners.tree_table import TreeTable
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.sums import exact_sum, on_grid
from costframe.core.workers import ALONE, Workers
from costframe.training.data import Rows
from costframe.trees.prices import BY_ROW, PriceState, RecordedPrices
from costframe.trees.room import GrownTree


@final
class LazyPrices(RecordedPrices):
    """CEGB's prices.

    Splitting leaf p on feature f costs, in the units of the objective's sum form,

        lambda sum_{i in p} w_i [ alpha_f + c_f (1 - C(i,f)) + sum_{r needed by f} C_r (1 - C(i,r)) ]
          + lambda gamma_f (1 - D(f))

    where C(i, .) = 1 after row i has met the feature or paid for the resource, and D(f) = 1 after any row has. Beyond
    the paper, a tree's first split pays `learner` for all its rows, and rows that meet a feature again in another tree
    pay `reuse`.

    A row that lacks the feature, but has gone to a resource that it needs, pays the resource's price of a further
    `round` unless it goes there anyway in the round in which it would ask for f: the one after the last round of the
    features before it on its way through the tree. Where it has the feature in a later round, it goes in this one
    instead, and saves the later one if that feature alone needs it. `GrowingRounds` count all rounds exactly after each
    tree; within a tree, they do not know yet what both sides of a split will read.

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
    rounds : GrowingRounds, optional
        Of the training rows, if further rounds have a price.
    """

    def __init__(
        self,
        prices: PriceArrays,
        tradeoff: float,
        n_rows: int,
        weight: F8 | None = None,
        workers: Workers = ALONE,
        rounds: GrowingRounds | None = None,
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
        self.rounds = rounds

    @classmethod
    def of(cls, prices: PriceArrays, rows: Rows, *, tradeoff: float = 0.0) -> LazyPrices:
        """Return the prices of training rows that have paid for nothing."""
        rounds = GrowingRounds.of(prices, rows.X, rows.workers) if prices.has_rounds else None
        return cls(prices, tradeoff, len(rows), rows.uneven_weight, rows.workers, rounds)

    def fork(self) -> LazyPrices:
        """Return an independent copy, between trees."""
        other = copy(self)
        for name in ("_marks", "_once_paid", "_paid_by_all", "_totals"):
            setattr(other, name, getattr(self, name).copy())
        other.rounds = None if self.rounds is None else self.rounds.fork()
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

    def mark_had(self, had: B1) -> None:
        """Count these features and resources of rows, bool (n_rows, d + R), as paid, without a payment."""
        packed = np.zeros((len(had), 8 * self._marks.shape[1]), np.uint8)
        flags = np.packbits(had, axis=1, bitorder="little")
        packed[:, : flags.shape[1]] = flags
        self._marks |= packed.view("<u8")
        self._all_known = False

    @property
    def spent(self) -> float:
        """The payments of training rows, in money: the sum of w_i times the cost of row i."""
        if self.rounds is None:
            return float(self._totals[0])
        weight = self._row_weight if len(self._row_weight) else 1.0
        return float(self._totals[0]) + exact_sum(self.rounds.per_row * weight)

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
            visits=self.visits,
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
        reached = np.asarray(bits_of(items[np.unique(leaves)], self._d).any(axis=0))
        read = self._workers.sum(reached) > 0
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
