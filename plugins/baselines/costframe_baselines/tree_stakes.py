"""What the leaves of a tree lose: the bill of their errors, or log loss."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from scipy.special import xlogy

from costframe.plugin import F8, I8, Rows, TrainingData, to_grid

_PRIOR = 1.0  # weight of the shares of all rows in those of a leaf


@frozen(eq=False)
class TreeStakes:
    """Losses of leaves, whose shares of classes are those of their rows and of one more, which is like all rows."""

    prior: F8  # (K,): shares of classes
    wrong: F8 | None  # (K, K): price of answers (columns) by true class; None for log loss

    @classmethod
    def of(cls, data: TrainingData, rows: Rows, *, money: bool) -> TreeStakes:
        """Make them for rows; prices that differ by row are those of the mean row of their class."""
        n = data.n_classes
        prior = np.bincount(rows.y, to_grid(rows.weight), n) / rows.total_weight
        if not money or data.costs.errors is None or rows.labels is None:
            return cls(prior, None)
        prices = data.costs.errors.of_classes(rows.labels, data.feature_names)
        wrong = np.zeros((n, n))
        for k in range(n):
            some = rows.take(rows.y == k)
            if len(some):
                wrong[k] = [some.mean(prices.of_answers(some.y, np.full(len(some), a), some.X)) for a in range(n)]
        return cls(prior, wrong)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.prior)

    @staticmethod
    def exact_weight(rows: Rows) -> F8:
        """Return the weights of rows, (n,), so that their sums are the same in any order."""
        return to_grid(rows.weight)

    def count(self, y: I8, weight: F8) -> F8:
        """Return the weight of rows by class, float64 (K,), from their classes and weights, (n,)."""
        return np.asarray(np.bincount(y, weight, self.n_classes), np.float64)

    def shares(self, counts: F8) -> F8:
        """Return the shares of classes at a leaf, float64 (K,), from the weight of its rows by class."""
        return np.asarray((counts + _PRIOR * self.prior) / (counts.sum() + _PRIOR))

    def losses(self, counts: F8) -> F8:
        """Return the expected losses of the rows of leaves, (...,), given their weight by class, float64 (K, ...)."""
        total = counts.sum(axis=0)
        mixed = counts + _PRIOR * self.prior.reshape(-1, *[1] * total.ndim)
        if self.wrong is None:
            lost = xlogy(total + _PRIOR, total + _PRIOR) - xlogy(mixed, mixed).sum(axis=0)
        else:
            lost = (self.wrong.T @ mixed.reshape(len(mixed), -1)).min(axis=0).reshape(total.shape)
        return np.asarray(lost * (total / (total + _PRIOR)))

    def of_classes(self, counts: F8) -> F8:
        """Return what a row of each class loses at a leaf, float64 (K,), given the weight of its rows by class."""
        shares = self.shares(counts)
        if self.wrong is None:
            return np.asarray(-np.log(shares))
        return np.asarray(self.wrong[:, int(np.argmin(shares @ self.wrong))])
