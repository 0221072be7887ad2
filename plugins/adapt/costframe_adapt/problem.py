"""What is to be divided between a cheap model and the expensive one: rows, and what the expensive one loses there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.training.data import Rows

__all__ = ["Problem", "cheap_losses"]


@frozen(eq=False)
class Problem:
    """The rows of a training, as every variant sees them.

    Attributes
    ----------
    y : int64 (n,)
        Class codes 0..M-1.
    n_classes : int
        M. For two classes a cheap model f1 has K = 1 score, the log odds of class 1; for more, K = M (softmax).
    weight : float64 (n,)
        Positive, of mean one.
    loss0 : float64 (n,)
        -log P(y_i | x_i; f0), of the clipped probability.
    full_share : float or None
        P, the largest mean share of rows that f0 may get; None: what f0 costs decides alone.
    """

    y: NDArray[np.int64]
    n_classes: int
    weight: NDArray[np.float64]
    loss0: NDArray[np.float64]
    full_share: float | None

    @classmethod
    def of(cls, rows: Rows, n_classes: int, loss0: NDArray[np.float64], full_share: float | None) -> Problem:
        """Bring the rows' weights to a mean of one."""
        return cls(rows.y, n_classes, rows.weight * (len(rows) / rows.total_weight), loss0, full_share)

    @property
    def n_scores(self) -> int:
        """K."""
        return 1 if self.n_classes == 2 else self.n_classes

    def mean(self, values: NDArray[np.float64]) -> float:
        """Return the weighted mean of values, (n,)."""
        return float(self.weight @ values) / len(self.weight)


def cheap_losses(scores: NDArray[np.float64], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return log(1 + exp(-y f1)), or the cross-entropy of more classes: float64 (n,) for scores (n, K)."""
    if scores.shape[1] == 1:
        return np.asarray(np.logaddexp(0.0, np.where(y == 1, -scores[:, 0], scores[:, 0])))
    highest = scores.max(axis=1)
    log_total = highest + np.log(np.exp(scores - highest[:, np.newaxis]).sum(axis=1))
    return np.asarray(log_total - scores[np.arange(len(y)), y])
