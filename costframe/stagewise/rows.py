"""Rows with a bank's outputs, targets and weights, and the losses of scores."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from attrs import evolve, frozen
from scipy.special import expit, log_softmax, softmax

from costframe.core.accurate_sums import AccurateSums, product, sum_products
from costframe.core.exact_sums import exact_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.outputs import BankOutputs

_MOST = 1 << 26  # numbers held as a matrix: half a GiB
_BLOCK = 1 << 15  # rows
LEAST = 0.01  # least curvature, for rows with sure answers: steps would else move their scores far


def targets_of(y: NDArray[Any], n_classes: int) -> NDArray[np.float64]:
    """Turn labels into targets, float64 (n, M): numbers, -1 and 1 for two classes, or one 0/1 column per class."""
    if n_classes > 2:
        return np.asarray(np.eye(n_classes)[y])
    return np.asarray(2.0 * y - 1.0 if n_classes else y, np.float64)[:, np.newaxis]


def as_counts(weight: NDArray[np.float64]) -> NDArray[np.float64]:
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
    target: NDArray[np.float64]
    weight: NDArray[np.float64]
    loss_weight: NDArray[np.float64]
    matrix: NDArray[np.float64] | None = None

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """Weights in means of cost; they sum to one: float64 (n,)."""
        return np.asarray(self.weight / exact_sum(self.weight))

    def columns(self, used: NDArray[np.int64]) -> BankRows:
        """Keep few outputs, as a dense matrix if it fits, for many products."""
        part = self.outputs.columns(used)
        n_rows = len(self.target)
        fits = n_rows * len(used) <= _MOST
        return evolve(self, outputs=part, matrix=part.block(slice(0, n_rows)) if fits else None)

    def take(self, chosen: NDArray[np.bool_]) -> BankRows:
        """Keep some rows, bool (n,)."""
        some = self.loss_weight[chosen]
        kept = self.outputs.rows(chosen), self.target[chosen], self.weight[chosen]
        return BankRows(*kept, some / exact_sum(some))

    def times(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return H B: float64 (n, M) for weights (C, M)."""
        return self.outputs.times(weights) if self.matrix is None else product(self.matrix, weights)

    def rmatvec(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return H' V: float64 (C, M) for values (n, M)."""
        return self.outputs.rmatvec(values) if self.matrix is None else sum_products(self.matrix, values)

    @cached_property
    def variance(self) -> NDArray[np.float64]:
        """The variance of each output, by loss weights: float64 (C,)."""
        mean = self.outputs.mean(self.loss_weight)
        centered, sums = self.outputs.centered(mean), AccurateSums(self.outputs.shape[1], 1)
        for begin in range(0, len(self.target), _BLOCK):
            rows = slice(begin, min(begin + _BLOCK, len(self.target)))
            sums.add(np.square(centered.block(rows)), self.loss_weight[rows, np.newaxis])
        return sums.total()[:, 0]

    def scores(self, weights: NDArray[np.float64], intercept: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return H B + b: float64 (n, M) for weights (C, M) and constants (M,); read only outputs with a weight."""
        if self.matrix is not None:
            return self.times(weights) + intercept
        used = np.flatnonzero(weights.any(axis=1))
        return self.outputs.columns(used).times(weights[used]) + intercept


class Loss(Protocol):
    """The loss of one row as a function of its scores."""

    def value(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of scores (n, M) for targets (n, M): float64 (n,)."""

    def slope(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Differentiate it by the scores: float64 (n, M)."""

    def curvature(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return about the second derivative by a score, > 0: float64 (n,)."""


@frozen
class Squared:
    """1/2 |y - s|^2."""

    def value(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of scores (n, M) for targets (n, M): float64 (n,)."""
        return np.asarray(0.5 * np.square(target - scores).sum(axis=1))

    def slope(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Differentiate it by the scores: float64 (n, M)."""
        return scores - target

    def curvature(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return about the second derivative by a score, > 0: float64 (n,)."""
        return np.ones(len(scores))


@frozen
class Logistic:
    """log(1 + exp(-y s)), for targets -1 and 1."""

    def value(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of scores (n, 1) for targets (n, 1): float64 (n,)."""
        return np.asarray(np.logaddexp(0.0, -target * scores)[:, 0])

    def slope(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Differentiate it by the scores: float64 (n, 1)."""
        return np.asarray(-target * expit(-target * scores))

    def curvature(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return about the second derivative by a score, > 0: float64 (n,)."""
        chance = expit(scores[:, 0])
        return np.asarray(np.maximum(chance * (1.0 - chance), LEAST))


@frozen
class Softmax:
    """Minus the logarithm of the probability of the class, for targets of one 0/1 column per class."""

    def value(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of scores (n, M) for targets (n, M): float64 (n,)."""
        return np.asarray(-(target * log_softmax(scores, axis=1)).sum(axis=1))

    def slope(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Differentiate it by the scores: float64 (n, M)."""
        return np.asarray(softmax(scores, axis=1) - target)

    def curvature(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return about the second derivative by a score, > 0, the mean over directions: float64 (n,)."""
        chance = softmax(scores, axis=1)
        return np.asarray(np.maximum((1.0 - np.square(chance).sum(axis=1)) / (scores.shape[1] - 1), LEAST))
