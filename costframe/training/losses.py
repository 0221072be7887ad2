"""The losses of tasks: squared, logistic and softmax, with their derivatives; `trees.ranking` has those of rankings.

Boosting gives labels: numbers, or the numbers of classes. Fits of several scores at once give targets, (n, M): numbers,
-1 and 1 for two classes, or one 0/1 column per class.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol, Self, final

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_softmax, softmax

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError
from costframe.core.machine import run_parallel
from costframe.core.sums import exact_mean, exact_sum
from costframe.core.workers import ALONE, Workers
from costframe.training.data import Rows

SQUARED, LOGISTIC, SOFTMAX = engine.constants("squared", "logistic", "softmax")  # losses
_ROWS_PER_STRIP = 8192
_ROWS_WORTH_THREADS = 50_000
_LEAST_SHARE = float(np.finfo(np.float64).eps)  # keeps the baseline finite without rows of a class
_LEAST_CURVATURE = 0.01  # for rows with sure answers: steps would else move their scores far


class Loss(Protocol):
    """A loss of scores (n, K)."""

    @property
    def n_outputs(self) -> int:
        """Scores per row, K."""

    @property
    def link(self) -> Literal["identity", "sigmoid", "softmax"]:
        """The function from scores to predictions."""

    def baseline(self, rows: Rows) -> F8:
        """Return the best constant scores for the rows of all workers: float64 (K,)."""

    def for_rows(self, rows: Rows) -> RowLoss:
        """Return the loss of scores of these rows."""


class RowLoss(Protocol):
    """The loss of some rows, and its derivatives by each score."""

    def gradients(
        self, y: ArrayLike, scores: F8, *, n_threads: int = 1
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Return first and second derivatives of each row's loss, without weights: (n, K) each, columns contiguous.

        They have the digits of single precision. Threads do not change the result.
        """

    def mean(self, y: ArrayLike, scores: F8, weight: ArrayLike | None = None) -> float:
        """Return the weighted mean of the loss."""


@frozen
class _MeanOverRows:
    """The base of losses that are means over rows, of all workers."""

    kind: ClassVar[int]
    _workers: Workers = field(default=ALONE, eq=False, repr=False, kw_only=True)

    def for_rows(self, rows: Rows) -> Self:
        """Return the same loss: each row has its own."""
        return self if rows.workers is self._workers else evolve(self, workers=rows.workers)

    def mean(self, y: ArrayLike, scores: F8, weight: ArrayLike | None = None) -> float:
        """Return the weighted mean of the loss."""
        weights = None if weight is None else np.asarray(weight, np.float64)
        return exact_mean(self.by_row(y, scores), weights, self._workers)

    def gradients(self, y: ArrayLike, scores: F8, *, n_threads: int = 1) -> tuple[F8, F8]:
        """Return derivatives by each score, as `RowLoss` says: float64 (n, K) each."""
        n, n_outputs = scores.shape
        step = max(1, n if self.kind == SQUARED or n < _ROWS_WORTH_THREADS else _ROWS_PER_STRIP)
        labels = np.asarray(y if self.kind == SQUARED else _classes(y, max(2, n_outputs)), np.float64)
        given = self.kind, np.ascontiguousarray(labels), np.ascontiguousarray(scores), self._workers.address
        derivatives = np.empty((n_outputs, n)), np.empty((n_outputs, n))

        def derive(first: int) -> None:
            engine.derive(*given, first, min(first + step, n), *derivatives)

        run_parallel(derive, range(0, max(1, n), step), n_threads)
        self._workers.check()
        return derivatives[0].T, derivatives[1].T

    def by_row(self, y: ArrayLike, scores: F8) -> F8:
        """Return the loss of each row, given labels: float64 (n,)."""
        raise NotImplementedError

    def value(self, scores: F8, target: F8) -> F8:
        """Return the loss of each row, given targets (n, M): float64 (n,)."""
        raise NotImplementedError

    def slope(self, scores: F8, target: F8) -> F8:
        """Differentiate it by the scores: float64 (n, M)."""
        raise NotImplementedError

    def curvature(self, scores: F8) -> F8:
        """Return about the second derivative by a score, > 0: float64 (n,)."""
        raise NotImplementedError


@final
@frozen
class SquaredLoss(_MeanOverRows):
    """1/2 (f - y)^2, summed over the targets of a row."""

    n_outputs: ClassVar = 1
    link: ClassVar[Literal["identity"]] = "identity"
    kind: ClassVar = SQUARED

    def baseline(self, rows: Rows) -> F8:
        """Return the weighted mean: float64 (1,)."""
        return np.array([rows.mean(np.asarray(rows.y, np.float64))])

    def by_row(self, y: ArrayLike, scores: F8) -> F8:
        """Return the loss of each row: float64 (n,)."""
        return 0.5 * (scores[:, 0] - np.asarray(y, np.float64)) ** 2

    def value(self, scores: F8, target: F8) -> F8:
        """Return the loss of each row: float64 (n,)."""
        return np.asarray(0.5 * np.square(target - scores).sum(axis=1))

    def slope(self, scores: F8, target: F8) -> F8:
        """Differentiate it by the scores: float64 (n, M)."""
        return scores - target

    def curvature(self, scores: F8) -> F8:
        """Return ones: float64 (n,)."""
        return np.ones(len(scores))


@final
@frozen
class LogisticLoss(_MeanOverRows):
    """log(1 + exp(-s f)) with s = 2y - 1, for y of zeros and ones; scores are log odds of y = 1."""

    n_outputs: ClassVar = 1
    link: ClassVar[Literal["sigmoid"]] = "sigmoid"
    kind: ClassVar = LOGISTIC

    def baseline(self, rows: Rows) -> F8:
        """Return the log odds of the weighted share of ones, finite also for shares of 0 and 1: float64 (1,)."""
        share = np.clip(rows.mean(_classes(rows.y, 2).astype(np.float64)), _LEAST_SHARE, 1 - _LEAST_SHARE)
        return np.array([np.log(share) - np.log1p(-share)])

    def by_row(self, y: ArrayLike, scores: F8) -> F8:
        """Return the loss of each row: float64 (n,)."""
        margin = np.where(_classes(y, 2) == 1, scores[:, 0], -scores[:, 0])
        return np.asarray(np.logaddexp(0.0, -margin))

    def value(self, scores: F8, target: F8) -> F8:
        """Return the loss of each row, for scores and targets (n, 1): float64 (n,)."""
        return np.asarray(np.logaddexp(0.0, -target * scores)[:, 0])

    def slope(self, scores: F8, target: F8) -> F8:
        """Differentiate it by the scores: float64 (n, 1)."""
        return np.asarray(-target * expit(-target * scores))

    def curvature(self, scores: F8) -> F8:
        """Return the second derivative by the score, at least 0.01: float64 (n,)."""
        chance = expit(scores[:, 0])
        return np.asarray(np.maximum(chance * (1.0 - chance), _LEAST_CURVATURE))


@final
@frozen
class SoftmaxLoss(_MeanOverRows):
    """Cross-entropy log(sum_k exp f_k) - f_y, for y of class numbers; scores are log probabilities and a constant."""

    n_outputs: int  # classes, at least two
    link: ClassVar[Literal["softmax"]] = "softmax"
    kind: ClassVar = SOFTMAX

    def baseline(self, rows: Rows) -> F8:
        """Return the log of the classes' weighted shares, finite for absent classes: float64 (K,)."""
        target = _classes(rows.y, self.n_outputs)
        mass = np.array([exact_sum(rows.weight[target == k], rows.workers) for k in range(self.n_outputs)])
        return np.array(np.log(np.maximum(mass / exact_sum(mass), _LEAST_SHARE)))

    def by_row(self, y: ArrayLike, scores: F8) -> F8:
        """Return the loss of each row: float64 (n,)."""
        target, highest = _classes(y, self.n_outputs), scores.max(axis=1)
        log_total = highest + np.log(np.exp(scores - highest[:, np.newaxis]).sum(axis=1))
        return np.asarray(log_total - scores[np.arange(len(target)), target])

    def value(self, scores: F8, target: F8) -> F8:
        """Return the loss of each row: float64 (n,)."""
        return np.asarray(-(target * log_softmax(scores, axis=1)).sum(axis=1))

    def slope(self, scores: F8, target: F8) -> F8:
        """Differentiate it by the scores: float64 (n, M)."""
        return np.asarray(softmax(scores, axis=1) - target)

    def curvature(self, scores: F8) -> F8:
        """Return the mean second derivative over directions, at least 0.01: float64 (n,)."""
        chance = softmax(scores, axis=1)
        mean = (1.0 - np.square(chance).sum(axis=1)) / (scores.shape[1] - 1)
        return np.asarray(np.maximum(mean, _LEAST_CURVATURE))


def _classes(y: ArrayLike, n_classes: int) -> I8:
    """Check class numbers, and return them: int64 (n,)."""
    given = np.asarray(y)
    target = given.astype(np.int64, copy=False)
    if target.ndim != 1 or (target is not given and (target != given).any()):
        raise DataError(f"y: must be a vector of class numbers, got {given.dtype} of shape {given.shape}")
    if len(target) and target.view(np.uint64).max() >= n_classes:  # negative ones are above
        raise DataError(f"y: class numbers must run from 0 to {n_classes - 1}, got {target.min()} to {target.max()}")
    return target


# Stands below the classes that it joins.
PointwiseLoss = SquaredLoss | LogisticLoss | SoftmaxLoss  # of a task: each row has its own


def loss_for(n_classes: int) -> PointwiseLoss:
    """Return the loss of a task: squared for numbers (no classes), logistic for two classes, softmax for more."""
    if n_classes == 0:
        return SquaredLoss()
    return LogisticLoss() if n_classes == 2 else SoftmaxLoss(n_classes)


def log_losses(scores: F8, y: I8) -> F8:
    """Return log(1 + exp(-y f)) of two classes, or the cross-entropy of more: float64 (n,) for scores (n, K)."""
    return loss_for(max(2, scores.shape[1])).by_row(y, scores)


def log_loss_slopes(y: I8, scores: F8) -> tuple[F8, F8]:
    """Return derivatives of `log_losses` by each score, and curvatures: float64 (K, n) each, for scores (K, n).

    The curvatures are exact for two classes, K = 1. For more, each row has the smaller of two diagonals that are upper
    bounds of diag(p) - pp': p, and 2 p (1 - p), as the matrix is diagonally dominant.
    """
    two = len(scores) == 1
    chance = expit(scores) if two else softmax(scores, axis=0)
    right = y == (np.ones((1, 1)) if two else np.arange(len(chance))[:, np.newaxis])
    bent = chance * (1 - chance)
    if not two:
        bent = np.where(bent.sum(axis=0) < 1 / 2, 2 * bent, chance)
    return chance - right, bent
