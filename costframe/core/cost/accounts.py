"""What models acquire and compute row by row, kept apart so that what two of them share is paid for once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import field, frozen

from costframe.core.cost.expected import ExpectedCost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.prefix import PrefixCost
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.costs import CostModel
    from costframe.core.prices.price_arrays import PriceArrays

__all__ = ["Account"]


@frozen(eq=False)
class Account:
    """What a model acquires and computes on some rows.

    Attributes
    ----------
    acquired : bool (n, d)
    computed : float64 (n,)
        Learners, comparisons and uses, in money.
    shared : float64 (n,)
        The part of it that a gate in front of the model computes too; zeros by default.
    """

    acquired: NDArray[np.bool_]
    computed: NDArray[np.float64]
    shared: NDArray[np.float64] = field()

    @shared.default
    def _nothing_shared(self) -> NDArray[np.float64]:
        return np.zeros_like(self.computed)

    @classmethod
    def nothing(cls, n_rows: int, n_features: int) -> Account:
        """Acquire nothing."""
        return cls(np.zeros((n_rows, n_features), np.bool_), np.zeros(n_rows))

    @classmethod
    def of(cls, tree: StageTree, costs: CostModel, X: NDArray[np.float64], n_jobs: int | None = None) -> Account:
        """Evaluate a stage tree whose features are X's columns."""
        prices = costs.select(tree.feature_names)
        report = ExpectedCost(costs).evaluate(tree, X, n_jobs=n_jobs)
        acquired = np.asarray(report.acquired, np.bool_)
        return cls(acquired, report.per_row - _acquisition(acquired, prices))

    @classmethod
    def of_prefix(cls, prefix: PrefixCost) -> Account:
        """Take over what trees did that were added one by one."""
        return cls(prefix.acquired, prefix.computed)

    def __or__(self, other: Account) -> Account:
        """Return what both do on the same rows, a model and the gate in front of it."""
        computed = self.computed + other.computed - (self.shared + other.shared)
        return Account(self.acquired | other.acquired, computed)

    def where(self, chosen: NDArray[np.bool_], other: Account) -> Account:
        """Take this one's rows where `chosen`, bool (n,), else the other's."""
        return Account(
            np.where(chosen[:, np.newaxis], self.acquired, other.acquired),
            np.where(chosen, self.computed, other.computed),
            np.where(chosen, self.shared, other.shared),
        )

    def take(self, rows: NDArray[np.int64]) -> Account:
        """Put rows in this order."""
        return Account(self.acquired[rows], self.computed[rows], self.shared[rows])

    def cost(self, prices: PriceArrays) -> NDArray[np.float64]:
        """Return what each row pays, without what is paid once a batch: float64 (n,)."""
        return self.computed + _acquisition(self.acquired, prices)

    def batch(self, prices: PriceArrays) -> NDArray[np.float64]:
        """Return what a batch pays for what each row acquires, if no other row does: float64 (n,)."""
        return np.asarray(self.acquired @ prices.once) if prices.once.any() else np.zeros(len(self.computed))


def _acquisition(acquired: NDArray[np.bool_], prices: PriceArrays) -> NDArray[np.float64]:
    """Price features and resources; the first use of a feature is no reuse."""
    paid = acquired @ (prices.cost - prices.reuse)
    if len(prices.resource_cost):
        needed = (acquired.astype(np.float32) @ prices.needs.astype(np.float32)) > 0
        paid = paid + needed @ prices.resource_cost
    return np.asarray(paid)
