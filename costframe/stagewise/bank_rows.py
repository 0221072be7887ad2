"""A bank's outputs on rows, with targets and weights."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import DataError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.outputs import BankOutputs
from costframe.core.learners.tree_table import TREE
from costframe.core.sums import AccurateSums, exact_sum, product, sum_products

_MOST = 1 << 26  # numbers held as a matrix: half a GiB
_BLOCK = 1 << 15  # rows
_LARGEST = 1e75  # largest size of an output, as of a label


def targets_of(y: NDArray[Any], n_classes: int) -> F8:
    """Turn labels into targets, float64 (n, M): numbers, -1 and 1 for two classes, or one 0/1 column per class."""
    if n_classes > 2:
        return np.asarray(np.eye(n_classes)[y])
    return np.asarray(2.0 * y - 1.0 if n_classes else y, np.float64)[:, np.newaxis]


def as_counts(weight: F8) -> F8:
    """Scale weights up to a mean of one, if it is less: sums of weights then count rows."""
    factor: float = max(1.0, len(weight) / exact_sum(weight))
    return weight * factor


@frozen(eq=False)
class BankRows:
    """n rows, and C outputs of a bank on them.

    Attributes
    ----------
    outputs : BankOutputs
    target : float64 (n, M)
    weight : float64 (n,)
    loss_weight : float64 (n,)
        Weights in means of loss; they sum to one.
    matrix : float64 (n, C), optional
        The outputs as a dense matrix.
    """

    outputs: BankOutputs
    target: F8
    weight: F8
    loss_weight: F8
    matrix: F8 | None = None

    @cached_property
    def share(self) -> F8:
        """Weights in means of cost; they sum to one: float64 (n,)."""
        return np.asarray(self.weight / exact_sum(self.weight))

    def columns(self, used: I8) -> BankRows:
        """Keep few outputs, as a dense matrix if it fits, for many products."""
        part = self.outputs.columns(used)
        n_rows = len(self.target)
        fits = n_rows * len(used) <= _MOST
        return evolve(self, outputs=part, matrix=part.block(slice(0, n_rows)) if fits else None)

    def take(self, chosen: B1) -> BankRows:
        """Keep some rows, bool (n,)."""
        some = self.loss_weight[chosen]
        columns = self.outputs.rows(chosen), self.target[chosen], self.weight[chosen]
        return BankRows(*columns, some / exact_sum(some))

    def times(self, weights: F8) -> F8:
        """Return H B: float64 (n, M) for weights (C, M)."""
        return self.outputs.times(weights) if self.matrix is None else product(self.matrix, weights)

    def rmatvec(self, values: F8) -> F8:
        """Return H' V: float64 (C, M) for values (n, M)."""
        return self.outputs.rmatvec(values) if self.matrix is None else sum_products(self.matrix, values)

    @cached_property
    def variance(self) -> F8:
        """The variance of each output, by loss weights: float64 (C,)."""
        mean = self.outputs.mean(self.loss_weight)
        centered, sums = self.outputs.centered(mean), AccurateSums(self.outputs.shape[1], 1)
        for begin in range(0, len(self.target), _BLOCK):
            rows = slice(begin, min(begin + _BLOCK, len(self.target)))
            sums.add(np.square(centered.block(rows)), self.loss_weight[rows, np.newaxis])
        return sums.total()[:, 0]

    def scores(self, weights: F8, intercept: F8) -> F8:
        """Return H B + b: float64 (n, M) for weights (C, M) and constants (M,); read only outputs with a weight."""
        if self.matrix is not None:
            return self.times(weights) + intercept
        used = np.flatnonzero(weights.any(axis=1))
        return self.outputs.columns(used).times(weights[used]) + intercept

    @staticmethod
    def outputs_of(bank: WeakLearnerBank, X: F8, n_jobs: int | None) -> BankOutputs:
        """Evaluate a bank on rows, for fits of weights.

        Raises
        ------
        DataError
            If a learner gives infinity or NaN, or numbers too large to be squared and added up.
        """
        outputs = BankOutputs.of(bank, X, n_jobs)
        wrong = ~np.asarray((np.abs(outputs.dense) <= _LARGEST).all(axis=0))
        if wrong.any():
            others = np.flatnonzero(np.repeat(bank.kind, bank.widths) != TREE)
            learner = int(np.repeat(np.arange(len(bank)), bank.widths)[others[wrong.argmax()]])
            features = bank.F.tocsc()[:, [learner]].indices
            raise DataError(
                f"X: expected finite outputs of learner {learner}, which reads "
                f"{', '.join(bank.feature_names[f] for f in features)}, got NaN, infinity, or more than {_LARGEST:g}; "
                "trees take such values"
            )
        return outputs
