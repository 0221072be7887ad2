"""Priced groups of weights: each has a price that is due when one of its weights is not zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from scipy import sparse

from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import BankError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.prices.price_arrays import PriceArrays

_MOST = 1e100  # largest price in units of loss: more makes no difference, and its products would overflow
_LARGEST = np.finfo(np.float64).max


@frozen(eq=False)
class PricedGroups:
    """Learners, features and resources, as sets of the C weights that a stage has.

    Attributes
    ----------
    member : float64 csr (G, C)
        0/1: which weights belong to each group. A learner has one weight for each output.
    price : float64 (G,)
        Finite, >= 0.

    Raises
    ------
    BankError
        If the shapes do not fit, or a price is negative or not finite.
    """

    member: sparse.csr_array[np.float64, tuple[int, int]]
    price: F8

    def __attrs_post_init__(self) -> None:
        if self.price.shape != (self.member.shape[0],):
            raise BankError(f"price: expected one a group ({self.member.shape[0]}), got shape {self.price.shape}")
        if not np.isfinite(self.price).all() or (self.price < 0).any():
            raise BankError(f"price: expected finite numbers >= 0, got {self.price}")

    def in_loss(self, tradeoff: float) -> PricedGroups:
        """Turn the prices into loss: lambda times each, at most 1e100."""
        with np.errstate(over="ignore"):
            return PricedGroups(self.member, np.minimum(self.price * min(tradeoff, _LARGEST), _MOST))

    def energies(self, weights: F8) -> F8:
        """Return sum_c G_gc |B_c|^2: float64 (G,) for weights (C, M)."""
        return np.asarray(self.member @ np.square(weights).sum(axis=1))

    @classmethod
    def of_bank(
        cls, bank: WeakLearnerBank, prices: PriceArrays, *, n_rows: float = np.inf, comparisons: F8 | None = None
    ) -> PricedGroups:
        """Price the learners of a bank, then its features, then all resources.

        Evaluating learner t is priced at learner e_t + comparisons_t + reuse |F_t|, feature f at c_f - reuse + once_f/n
        and resource r at C_r. As a use costs reuse from the second on, this is exact for features that cost at least
        that much; the first use of a cheaper one is priced at reuse.

        Parameters
        ----------
        bank : WeakLearnerBank
        prices : PriceArrays
            In the order of the bank's features.
        n_rows : float
            Rows of a batch, which share once-per-batch prices; infinite by default.
        comparisons : float64 (T,), optional
            Mean price of the comparisons inside each learner for one row; zero by default.
        """
        if bank.feature_names != prices.names:
            raise BankError(f"prices: expected those of the features {bank.feature_names}, got {prices.names}")
        F = bank.F.astype(np.float64)
        learner = prices.learner * bank.evaluation + prices.reuse * np.asarray(F.sum(axis=0)).ravel()
        if comparisons is not None:
            learner = learner + comparisons
        feature = np.maximum(prices.cost - prices.reuse, 0.0) + prices.once / n_rows
        read: Any = sparse.csr_array(prices.needs.T).astype(np.float64) @ F  # how many of its features, not whether
        read.data[:] = 1.0
        of_learner: Any = sparse.vstack([sparse.eye_array(len(bank)), F, read], format="csr")
        return cls(
            sparse.csr_array(of_learner[:, np.repeat(np.arange(len(bank)), bank.widths)]),
            np.concatenate([learner, feature, prices.resource_cost]),
        )

    def restrict(self, weights: I8) -> PricedGroups:
        """Keep some weights, in the given order; groups without a weight stay."""
        chosen: Any = self.member[:, weights]
        return PricedGroups(sparse.csr_array(chosen), self.price)

    def times(self, factor: float) -> PricedGroups:
        """Multiply all prices."""
        return PricedGroups(self.member, self.price * factor)

    def used(self, weights: F8) -> B1:
        """Return which groups have a weight that is not zero: bool (K, G) for weights (K, C) or (K, C, M)."""
        present = weights != 0
        present = present if weights.ndim == 2 else present.any(axis=2)
        return np.asarray((self.member @ present.T.astype(np.float64)).T > 0)
