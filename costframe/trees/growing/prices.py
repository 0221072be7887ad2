"""What a split costs, beside what it gains."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple, Protocol, final

import numpy as np

from costframe.core.errors import ParameterError

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.training.data import Rows
    from costframe.trees.growing.finish import GrownTree
    from costframe.trees.growing.leaf import Leaf

__all__ = ["NoPrices", "OncePrices", "PriceState", "SplitPrices", "in_loss", "once_prices"]

LARGEST = 1e300  # a price beyond it buys nothing either way, and sums of a few stay finite


def in_loss(tradeoff: float, money: ArrayLike) -> NDArray[np.float64]:
    """Multiply prices by a tradeoff; what is free stays free, and what cannot be paid stays finite."""
    price = np.asarray(money, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where((price == 0) | (tradeoff == 0), 0.0, np.minimum(tradeoff * price, LARGEST))


class PriceState(NamedTuple):
    """What `grow_whole` must know of prices, and changes as splits are paid for; arrays are those of the prices.

    Attributes
    ----------
    by_row : bool
        Whether rows pay, as with `LazyPrices`, or the model, as with `OncePrices`; the other kind's arrays are empty.
    tradeoff, root, reuse : float
    row_weight : float64 (n,) or (0,)
        None: one each.
    split, once, once_paid : float64 (d,), float64 (d,), bool (d,)
        Price of a comparison, what is paid once for a feature, and whether it is paid.
    totals, marks, bits, seen, waived, begin, items, paid_by_all, true_once, n_items, all_known
        Of `LazyPrices`: what was spent and paid once; marks of rows; items of features; prices of items.
    feature_price, resource_price, needs, resource_paid, used
        Of `OncePrices`.
    """

    by_row: bool
    tradeoff: float
    root: float
    reuse: float
    row_weight: NDArray[np.float64]
    split: NDArray[np.float64]
    once: NDArray[np.float64]
    once_paid: NDArray[np.bool_]
    totals: NDArray[np.float64] = np.zeros(2)
    marks: NDArray[np.uint64] = np.zeros((0, 1), np.uint64)
    bits: NDArray[np.uint64] = np.zeros((0, 1), np.uint64)
    seen: NDArray[np.float64] = np.zeros(0)
    waived: NDArray[np.float64] = np.zeros(0)
    begin: NDArray[np.int64] = np.zeros(0, np.int64)
    items: NDArray[np.int64] = np.zeros(0, np.int64)
    paid_by_all: NDArray[np.float64] = np.zeros(0)
    true_once: NDArray[np.float64] = np.zeros(0)
    n_items: int = 0
    all_known: bool = False
    feature_price: NDArray[np.float64] = np.zeros(0)
    resource_price: NDArray[np.float64] = np.zeros(0)
    needs: NDArray[np.bool_] = np.zeros((0, 0), np.bool_)
    resource_paid: NDArray[np.bool_] = np.zeros(0, np.bool_)
    used: NDArray[np.bool_] = np.zeros(0, np.bool_)


class SplitPrices(Protocol):
    """Prices in units of the objective's sum form: loss summed over rows, so tradeoff * rows * price of a feature.

    A split is made where `gain - price` is largest, and only if that is positive. A price may depend on the leaf and on
    what was paid before, but not on the threshold. One object serves all trees of an ensemble.

    Attributes
    ----------
    tradeoff : float
        Multiplies all prices; may be changed between trees.
    """

    tradeoff: float

    def begin_tree(self) -> None:
        """Forget the leaves of the last tree; what is paid stays paid."""

    def prices(self, leaf: Leaf) -> NDArray[np.float64]:
        """float64 (d,): what a split of this leaf on each feature costs now. Not to be changed by the caller."""

    def paid(self, leaf: Leaf, feature: int) -> bool:
        """Pay for a split; return whether any price of another leaf has changed by it.

        `leaf.rows` still holds the rows of the leaf that was split.
        """

    def divided(self, leaf: Leaf, left: Leaf, right: Leaf) -> None:
        """Divide the account of a leaf that was paid for between its children, unless neither will be split."""

    def state(self) -> PriceState | None:
        """Return what a tree can be grown with in one call; None if it cannot."""

    def passed(self, tree: GrownTree, rows: NDArray[np.int32]) -> None:
        """Charge rows that a tree was not grown on, but that pass through it as well."""

    def fork(self) -> Self:
        """Return a copy that goes its own way; between trees."""

    def mark_paid(self, features: NDArray[np.bool_], resources: NDArray[np.bool_]) -> None:
        """Charge splits no more for these features (d,) and resources (R,)."""


@final
class NoPrices:
    """All splits are free.

    Parameters
    ----------
    n_features : int
        Columns of the data.
    """

    tradeoff = 0.0

    def __init__(self, n_features: int) -> None:
        self._prices = np.zeros(n_features)

    def begin_tree(self) -> None:
        """Do nothing."""

    def prices(self, leaf: Leaf) -> NDArray[np.float64]:
        """float64 (d,): zeros."""
        del leaf
        return self._prices

    def paid(self, leaf: Leaf, feature: int) -> bool:
        """Nothing changes."""
        del leaf, feature
        return False

    def divided(self, leaf: Leaf, left: Leaf, right: Leaf) -> None:
        """Do nothing."""

    def state(self) -> None:
        """Return None."""

    def passed(self, tree: GrownTree, rows: NDArray[np.int32]) -> None:
        """Do nothing."""

    def fork(self) -> NoPrices:
        """Return itself."""
        return self

    def mark_paid(self, features: NDArray[np.bool_], resources: NDArray[np.bool_]) -> None:
        """Do nothing."""


@final
class OncePrices:
    """Greedy Miser's prices: a feature or a resource is paid for by the first split that needs it, and free for good.

    One object serves all trees of an ensemble, or of several ensembles that share what they pay. All prices are those
    at a tradeoff of one.

    Parameters
    ----------
    feature_price : float64 (d,)
        Paid at the first split on the feature in any tree.
    resource_price : float64 (R,), optional
        Paid at the first split on a feature that needs the resource.
    needs : bool (d, R), optional
        Which resources a feature needs, directly or through others.
    split_price : float64 (d,) or float
        Paid at every split, per unit of weight of the rows that are split.
    root_price : float
        Paid at every tree's first split.
    reuse_price : float
        Paid at a tree's first split on a feature that an earlier tree has bought.
    row_weight : float64 (n,), optional
        Weights of the training rows, for `split_price`; one each if not given.
    tradeoff : float
        Multiplies all prices; may be changed between trees.

    Raises
    ------
    ParameterError
        If a price or weight is negative or not finite, or shapes do not fit.
    """

    def __init__(
        self,
        feature_price: ArrayLike,
        *,
        resource_price: ArrayLike = (),
        needs: ArrayLike | None = None,
        split_price: ArrayLike = 0.0,
        root_price: float = 0.0,
        reuse_price: float = 0.0,
        row_weight: ArrayLike | None = None,
        tradeoff: float = 1.0,
    ) -> None:
        self.tradeoff = tradeoff
        self.feature_price = _prices("feature_price", feature_price)
        self.resource_price = _prices("resource_price", resource_price)
        n_features, n_resources = len(self.feature_price), len(self.resource_price)
        self.needs = np.zeros((n_features, 0), bool) if needs is None else np.array(needs, bool)
        if self.needs.shape != (n_features, n_resources):
            raise ParameterError(f"needs: must have shape {(n_features, n_resources)}, got {self.needs.shape}")
        self.split_price = _prices(
            "split_price", np.full(n_features, split_price) if np.ndim(split_price) == 0 else split_price
        )
        if len(self.split_price) != n_features:
            raise ParameterError(
                f"split_price: must be a number or have shape ({n_features},), got {self.split_price.shape}"
            )
        self.root_price = float(_prices("root_price", [root_price])[0])
        self.reuse_price = float(_prices("reuse_price", [reuse_price])[0])
        self.row_weight = None if row_weight is None else _prices("row_weight", row_weight)
        self.feature_paid = np.zeros(n_features, bool)
        self.resource_paid = np.zeros(n_resources, bool)
        self._used = np.zeros(n_features, bool)  # by the tree that is being grown
        self._once = self._once_prices()
        self._some_per_split = bool(self.split_price.any())
        self._same_for_all: NDArray[np.float64] | None = None  # prices of any leaf but the root, once reckoned

    def fork(self) -> OncePrices:
        """Return a copy that goes its own way; between trees."""
        other = copy(self)
        other.feature_paid, other.resource_paid = self.feature_paid.copy(), self.resource_paid.copy()
        other._used, other._once = self._used.copy(), self._once.copy()  # noqa: SLF001 - the copy's own
        return other

    def mark_paid(self, features: NDArray[np.bool_], resources: NDArray[np.bool_]) -> None:
        """Take these features (d,) and resources (R,) as paid for."""
        self.feature_paid |= features
        self.resource_paid |= resources

    def begin_tree(self) -> None:
        """Forget which features the last tree used; what is paid stays paid."""
        self._used[:] = False
        self._some_per_split = bool(self.split_price.any())
        self._once, self._same_for_all = self._once_prices(), None

    def prices(self, leaf: Leaf) -> NDArray[np.float64]:
        """float64 (d,): unpaid feature and resource prices, reuse, split * weight of the leaf, and the root's own."""
        root = self.root_price if leaf.depth == 0 else 0.0
        if not (root or self._some_per_split):
            if self._same_for_all is None:
                self._same_for_all = in_loss(self.tradeoff, self._once)
            return self._same_for_all
        prices = self._once
        if self._some_per_split:
            with np.errstate(over="ignore"):  # `in_loss` knows what to do with infinity
                prices = prices + self.split_price * self._weight(leaf)
        if root:
            prices = prices + root
        return in_loss(self.tradeoff, prices)

    def paid(self, leaf: Leaf, feature: int) -> bool:
        """Mark the feature and its resources as paid."""
        del leaf
        if self._used[feature]:
            return False
        before = self._once
        self._used[feature] = True
        self.feature_paid[feature] = True
        self.resource_paid |= self.needs[feature]
        self._once, self._same_for_all = self._once_prices(), None
        return not np.array_equal(before, self._once)

    def divided(self, leaf: Leaf, left: Leaf, right: Leaf) -> None:
        """Do nothing: prices do not depend on rows beyond their weight."""

    def state(self) -> PriceState:
        """Return what a tree is grown with in one call; after `begin_tree`."""
        return PriceState(
            False,
            self.tradeoff,
            self.root_price,
            self.reuse_price,
            np.empty(0) if self.row_weight is None else self.row_weight,
            self.split_price,
            np.empty(len(self.feature_price)),
            self.feature_paid,
            feature_price=self.feature_price,
            resource_price=self.resource_price,
            needs=self.needs,
            resource_paid=self.resource_paid,
            used=self._used,
        )

    def passed(self, tree: GrownTree, rows: NDArray[np.int32]) -> None:
        """Do nothing: what is paid does not depend on rows."""

    def _once_prices(self) -> NDArray[np.float64]:
        reuse = np.where(self._used, 0.0, self.reuse_price)
        own = np.where(self.feature_paid, reuse, self.feature_price)
        prices: NDArray[np.float64] = own + self.needs @ np.where(self.resource_paid, 0.0, self.resource_price)
        return prices

    def _weight(self, leaf: Leaf) -> float:
        return float(leaf.count if self.row_weight is None else self.row_weight[leaf.rows].sum())


def once_prices(prices: PriceArrays, rows: Rows, *, tradeoff: float = 1.0, share: float = 1.0) -> OncePrices:
    """Return what training rows pay, in the units of the objective's sum form: n c_f + once_f, n C_r, and what recurs.

    Parameters
    ----------
    prices : PriceArrays
    rows : Rows
        Those that a model is trained on.
    tradeoff : float
        lambda, which multiplies all.
    share : float
        What recurs with every tree (comparisons, learners, reuse) meets gains of which a step takes only this share,
        and is divided by it.
    """
    n = rows.total_weight
    return OncePrices(
        in_loss(n, prices.cost) + prices.once,
        resource_price=in_loss(n, prices.resource_cost),
        needs=prices.needs,
        split_price=in_loss(1 / share, prices.split),
        root_price=float(in_loss(n / share, prices.learner)),
        reuse_price=float(in_loss(n / share, prices.reuse)),
        row_weight=rows.uneven_weight,
        tradeoff=tradeoff,
    )


def _prices(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.array(values, np.float64)
    if array.ndim != 1:
        raise ParameterError(f"{name}: must be a vector, got shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        raise ParameterError(f"{name}: must be finite and not negative, got {array}")
    return array
