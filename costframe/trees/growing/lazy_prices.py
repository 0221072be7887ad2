"""Prices paid row by row, when a row first meets a feature: what training believes it pays is what will be paid."""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any, final

import numpy as np
from attrs import define, field

from costframe.core.learners.bits import bit_sets, bits_of, word_count
from costframe.trees.growing.prices import LARGEST, PriceState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.tree_table import TreeTable
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.trees.growing.finish import GrownTree
    from costframe.trees.growing.leaf import Leaf

__all__ = ["LazyPrices"]

_SLOTS = 16  # for accounts, at first


@define(eq=False)
class _Accounts:
    """What the rows of open leaves weigh, the weight that has paid for each item, and what features cost them.

    Attributes
    ----------
    of_leaf : dict of int to (float, int)
        By the leaf's number: weight, and the account's slot.
    paid, money : float64 (slots, items), float64 (slots, d)
    """

    paid: NDArray[np.float64]
    money: NDArray[np.float64]
    of_leaf: dict[int, tuple[float, int]] = field(factory=dict)
    _used: int = field(default=0, init=False)

    def clear(self) -> None:
        self.of_leaf.clear()
        self._used = 0

    def open(self) -> int:
        """Return a slot for a leaf more."""
        if self._used == len(self.paid):
            self.paid = np.concatenate([self.paid, np.empty_like(self.paid)])
            self.money = np.concatenate([self.money, np.empty_like(self.money)])
        self._used += 1
        return self._used - 1


@cache
def _kernels() -> Any:
    """Return what is called for every leaf; looked up once."""
    from costframe.trees.growing import marks_kernels

    return marks_kernels


@final
class LazyPrices:
    """CEGB's prices.

    Splitting leaf p on feature f costs, in the units of the objective's sum form,

        lambda sum_{i in p} w_i [ alpha_f + c_f (1 - C(i,f)) + sum_{r needed by f} C_r (1 - C(i,r)) ]
          + lambda gamma_f (1 - D(f))

    where C(i, .) = 1 once row i has met the feature or paid for the resource, and D(f) = 1 once any row has. Beyond the
    paper, a tree's first split pays `learner` for all its rows, and rows that meet a feature again in another tree pay
    `reuse`.

    One object serves all trees of an ensemble. Marks follow the row, whatever subset a tree is grown on.

    Parameters
    ----------
    prices : PriceArrays
        In the order of the columns.
    tradeoff : float
        lambda; may be changed between trees.
    n_rows : int
        Training rows.
    weight : float64 (n_rows,), optional
        One each if not given.

    """

    def __init__(
        self, prices: PriceArrays, tradeoff: float, n_rows: int, weight: NDArray[np.float64] | None = None
    ) -> None:
        self.tradeoff = tradeoff
        self._totals = np.zeros(2)  # spent, and fixed
        self._prices, self._weight = prices, weight
        d, items = len(prices.cost), len(prices.cost) + len(prices.resource_cost)
        self._marks = np.zeros((n_rows, word_count(items)), np.uint64)
        self._cost = np.zeros(64 * self._marks.shape[1])
        self._cost[:items] = np.concatenate([prices.cost, prices.resource_cost])
        self._seen = self._cost  # what splits are charged: less than rows pay, where something is waived
        self._waived: NDArray[np.float64] | None = None  # what they are not
        self._bits = _item_bits(prices.needs, self._marks.shape[1])
        self._items = [np.append(np.flatnonzero(needs) + d, f) for f, needs in enumerate(prices.needs)]
        self._all_items = np.concatenate(self._items)
        self._begin = np.cumsum([0, *(len(items) for items in self._items)])
        self._again = np.full(d, prices.reuse)
        self._n_items = items
        self._d, self._once_paid = d, np.zeros(d, np.bool_)
        self._true_once, self._split = prices.once.copy(), prices.split.copy()
        self._once = self._true_once  # what splits are charged, as `_seen`
        self._row_weight = np.empty(0) if weight is None else np.ascontiguousarray(weight, np.float64)
        self._accounts = self._no_accounts()
        self._paid_by_all = np.zeros(len(self._cost))  # of all rows, the weight that has paid for each item
        self._all_known = weight is None  # sums of weights would depend on the order of payments

    def fork(self) -> LazyPrices:
        """Return a copy that goes its own way; between trees."""
        other = copy(self)
        other._marks, other._once_paid = self._marks.copy(), self._once_paid.copy()  # noqa: SLF001 - the copy's own
        other._paid_by_all, other._totals = self._paid_by_all.copy(), self._totals.copy()  # noqa: SLF001
        other._accounts = other._no_accounts()  # noqa: SLF001
        return other

    def weighing(self, weight: NDArray[np.float64]) -> LazyPrices:
        """Return prices of the same rows with other weights, (n_rows,), that share the marks of what is paid."""
        other = copy(self)
        other._weight, other._row_weight = weight, np.ascontiguousarray(weight, np.float64)  # noqa: SLF001
        other._all_known = False  # noqa: SLF001 - the copy's own, as all of these
        other._accounts, other._totals = other._no_accounts(), self._totals.copy()  # noqa: SLF001
        return other

    def mark_paid(self, features: NDArray[np.bool_], resources: NDArray[np.bool_]) -> None:
        """Charge splits no more for these features (d,) and resources (R,); what rows pay is counted all the same."""
        waived = np.concatenate([features, resources])
        self._seen = self._seen.copy()
        self._seen[: self._n_items][waived] = 0.0
        self._once = np.where(features, 0.0, self._once)
        self._waived = self._cost - self._seen

    @property
    def spent(self) -> float:
        """What training believes rows pay, in money: the sum of w_i times the cost of row i."""
        return float(self._totals[0])

    @property
    def fixed(self) -> float:
        """Once-per-batch prices paid."""
        return float(self._totals[1])

    def state(self) -> PriceState:
        """Return what a tree is grown with in one call; after `begin_tree`."""
        prices = self._prices
        return PriceState(
            True,
            self.tradeoff,
            prices.learner,
            prices.reuse,
            self._row_weight,
            self._split,
            self._once,
            self._once_paid,
            self._totals,
            self._marks,
            self._bits,
            self._seen,
            np.zeros_like(self._cost) if self._waived is None else self._waived,
            self._begin,
            self._all_items,
            self._paid_by_all,
            self._true_once,
            self._n_items,
            self._all_known,
        )

    def begin_tree(self) -> None:
        """Forget the leaves of the last tree; what is paid stays paid."""
        self._accounts.clear()

    def prices(self, leaf: Leaf) -> NDArray[np.float64]:
        """float64 (d,): what a split of this leaf on each feature costs now."""
        prices = np.empty(self._d)
        money = self._accounts.money[self._account(leaf)[1]]
        _kernels().charge(money, self._once, self._once_paid, self.tradeoff, LARGEST, prices)
        return prices

    def paid(self, leaf: Leaf, feature: int) -> bool:
        """Mark the feature and its resources in the leaf's rows; True if a once-per-batch price was paid by it."""
        weight, slot = self._account(leaf)
        paid = self._accounts.paid[slot]
        self._totals[0] += float(self._accounts.money[slot, feature])
        if self._waived is not None:
            items = self._items[feature]
            self._totals[0] += float((self._waived[items] * (weight - paid[items])).sum())
        _kernels().mark_rows(
            self._marks, leaf.rows, self._bits[feature], self._items[feature], weight, paid, self._paid_by_all
        )
        first = not self._once_paid[feature] and self._prices.once[feature] > 0
        self._totals[1] += float(self._prices.once[feature]) if first else 0.0
        self._once_paid[feature] = True
        return bool(first)

    def divided(self, leaf: Leaf, left: Leaf, right: Leaf) -> None:
        """Count what the rows of one child have paid; the other's is what is left."""
        accounts = self._accounts
        weight, slot = accounts.of_leaf.pop(leaf.node)
        small, large = (left, right) if left.count <= right.count else (right, left)
        first, second = (self._leaf_weight(small), accounts.open()), (self._leaf_weight(large), slot)
        accounts.of_leaf[small.node], accounts.of_leaf[large.node] = first, second
        _kernels().divide_account(
            self._marks, small.rows, self._row_weight, (weight, first[0], second[0]), (first[1], slot), self._n_items,
            self._prices.split, self._seen, self._begin, self._all_items, self._again_for(small),
            accounts.paid, accounts.money,
        )  # fmt: skip

    def passed(self, tree: GrownTree, rows: NDArray[np.int32]) -> None:
        """Charge rows that a tree was not grown on, but that pass through it as well.

        Parameters
        ----------
        tree : GrownTree
        rows : int32 (m,)
        """
        self.walked(tree.table, tree.leaf_of_row[rows], rows)

    def walked(self, tree: TreeTable, leaves: NDArray[np.int32], rows: NDArray[np.int32]) -> None:
        """Charge rows for one tree that ends for them in these leaves.

        Parameters
        ----------
        tree : TreeTable
        leaves, rows : int32 (m,)
        """
        from costframe.trees.growing.marks_kernels import price_marks

        items, comparisons, uses = self._by_node(tree)
        reuse = self._prices.reuse
        per_row, first_uses = np.empty(len(rows)), np.empty(len(rows))
        self._all_known = False
        price_marks(self._marks, rows, items[leaves], self._cost, self._d, per_row, first_uses)
        per_row += comparisons[leaves] + reuse * (uses[leaves] - first_uses)
        if len(items) > 1:
            per_row += self._prices.learner
        weight = 1.0 if self._weight is None else self._weight[rows]
        with np.errstate(over="ignore"):  # as in kernels; prices have a limit, their sums over rows have none
            self._totals[0] += float((per_row * weight).sum())
        self._pay_once(np.bitwise_or.reduce(items[np.unique(leaves)]))

    def _pay_once(self, items: NDArray[np.uint64]) -> None:
        """Charge the once-per-batch prices of the features among these items."""
        read = bits_of(items[np.newaxis], self._d)[0] & ~self._once_paid
        self._totals[1] += float(self._prices.once[read].sum())
        self._once_paid |= read

    def _by_node(self, tree: TreeTable) -> tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64]]:
        """By node: items read on the way to it, price of the comparisons, and number of features."""
        items = np.zeros((len(tree.feature), self._marks.shape[1]), np.uint64)
        comparisons, tested = np.zeros(len(items)), [frozenset[int]()] * len(items)
        for node in np.flatnonzero(tree.feature >= 0):  # parents come before their children
            feature = int(tree.feature[node])
            for child in (tree.left[node], tree.right[node]):
                items[child] = items[node] | self._bits[feature]
                comparisons[child] = comparisons[node] + self._prices.split[feature]
                tested[child] = tested[node] | {feature}
        return items, comparisons, np.array([len(features) for features in tested], np.float64)

    def _account(self, leaf: Leaf) -> tuple[float, int]:
        """Return what a leaf weighs and its account's slot."""
        found = self._accounts.of_leaf.get(leaf.node)
        return self._open(leaf) if found is None else found

    def _open(self, leaf: Leaf) -> tuple[float, int]:
        """Reckon what a leaf pays for a split on each feature, which does not change until it is split."""
        from costframe.trees.growing.marks_kernels import count_marks, price_leaf, weigh_marks

        weight, slot = self._leaf_weight(leaf), self._accounts.open()
        paid, money = self._accounts.paid[slot], self._accounts.money[slot]
        if self._all_known and leaf.count == len(self._marks):
            paid[:] = self._paid_by_all
        elif self._weight is None:
            count_marks(self._marks, leaf.rows, paid)
        else:
            weigh_marks(self._marks, leaf.rows, self._row_weight, paid)
        root, again = self._prices.learner if leaf.depth == 0 else 0.0, self._again_for(leaf)
        price_leaf(paid, weight, self._prices.split, self._seen, self._begin, self._all_items, again, root, money)
        self._accounts.of_leaf[leaf.node] = weight, slot
        return weight, slot

    def _again_for(self, leaf: Leaf) -> NDArray[np.float64]:
        """float64 (d,): price of meeting a feature anew; none where this tree has used it on these rows."""
        if not (self._prices.reuse and leaf.tested):
            return self._again
        again = self._again.copy()
        again[list(leaf.tested)] = 0.0
        return again

    def _no_accounts(self) -> _Accounts:
        return _Accounts(np.empty((_SLOTS, len(self._cost))), np.empty((_SLOTS, self._d)))

    def _leaf_weight(self, leaf: Leaf) -> float:
        from costframe.trees.growing.marks_kernels import weigh_rows

        return float(leaf.count if self._weight is None else weigh_rows(leaf.rows, self._weight))


def _item_bits(needs: NDArray[np.bool_], words: int) -> NDArray[np.uint64]:
    """uint64 (d, words): for each feature, the bits of itself and of the resources that it needs."""
    d = len(needs)
    feature, resource = np.nonzero(needs)
    return bit_sets(np.concatenate([np.arange(d), feature]), np.concatenate([np.arange(d), d + resource]), d, words)
