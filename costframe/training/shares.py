"""The loss of rows that are of each class by a share, instead of one class each."""

from __future__ import annotations

from typing import Literal

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike

from costframe.core.arrays import F8
from costframe.core.sums import exact_mean
from costframe.training.data import Rows
from costframe.training.losses import LogisticLoss, SoftmaxLoss

_LEAST_SHARE = float(np.finfo(np.float64).eps)  # keeps the baseline finite without a class


@frozen(eq=False)
class ShareLoss:
    """The mean of a loss over the classes of each row, by their shares; labels have no effect.

    Parameters
    ----------
    of_class : LogisticLoss or SoftmaxLoss
    shares : float64 (n, K)
        Of the classes of each row; they sum to one.
    """

    of_class: LogisticLoss | SoftmaxLoss
    shares: F8

    @property
    def n_outputs(self) -> int:
        """Scores per row."""
        return self.of_class.n_outputs

    @property
    def link(self) -> Literal["identity", "sigmoid", "softmax"]:
        """The function from scores to predictions."""
        return self.of_class.link

    def baseline(self, rows: Rows) -> F8:
        """Return the best constant scores: float64 (K,), or (1,) for two classes with one score."""
        mass = np.array([exact_mean(share, rows.weight) for share in self.shares.T])
        logs = np.log(np.maximum(mass, _LEAST_SHARE))
        return np.asarray(logs if self.n_outputs > 1 else logs[1:] - logs[:1], np.float64)

    def for_rows(self, rows: Rows) -> ShareLoss:
        """Return itself: it is of these rows."""
        del rows
        return self

    def gradients(self, y: ArrayLike, scores: F8, *, n_threads: int = 1) -> tuple[F8, F8]:
        """Return first and second derivatives by each score, float64 (n, K) each; `y` has no effect."""
        del y
        slopes, bends = self.of_class.gradients(np.zeros(len(scores), np.int64), scores, n_threads=n_threads)
        if self.n_outputs == 1:
            return slopes - self.shares[:, 1:], bends
        moved = np.asfortranarray(slopes - self.shares)
        moved[:, 0] += 1.0  # those of the first class were taken off
        return moved, bends

    def by_row(self, y: ArrayLike, scores: F8) -> F8:
        """Return the loss of each row: float64 (n,); `y` has no effect."""
        del y
        of_first = self.of_class.by_row(np.zeros(len(scores), np.int64), scores)
        if self.n_outputs == 1:
            return np.asarray(of_first - self.shares[:, 1] * scores[:, 0])
        return np.asarray(of_first + scores[:, 0] - (self.shares * scores).sum(axis=1))

    def mean(self, y: ArrayLike, scores: F8, weight: ArrayLike | None = None) -> float:
        """Return the weighted mean of the loss; `y` has no effect."""
        return exact_mean(self.by_row(y, scores), None if weight is None else np.asarray(weight, np.float64))
