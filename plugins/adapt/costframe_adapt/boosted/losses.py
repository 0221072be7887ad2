"""What boosting sees of (OPT2): the cheap model's loss where rows stay with it, and the gate's divergence from q."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from scipy.special import expit

from costframe_adapt.shares import divergence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from costframe.trees.boosting.losses import RowLoss

__all__ = ["GateLoss", "StayingLoss"]

_LEAST_HESSIAN = 1e-16


@frozen(eq=False)
class StayingLoss:
    """(1 - q_i) times the loss of each row.

    Attributes
    ----------
    loss : RowLoss
    stays : float64 (n,)
        1 - q.
    """

    loss: RowLoss
    stays: NDArray[np.float64]

    def gradients(
        self, y: ArrayLike, scores: NDArray[np.float64], *, n_threads: int = 1
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """(n, K) each: derivatives by the scores of f1."""
        gradients, hessians = self.loss.gradients(y, scores, n_threads=n_threads)
        stays = self.stays[:, np.newaxis].astype(gradients.dtype)
        return gradients * stays, np.maximum(hessians * stays, _LEAST_HESSIAN)

    def mean(self, y: ArrayLike, scores: NDArray[np.float64], weight: ArrayLike | None = None) -> float:
        """Weighted mean of the loss, as if no row went on."""
        return self.loss.mean(y, scores, weight)


@frozen
class GateLoss:
    """(1 - q) log(1 + exp(g)) + q log(1 + exp(-g)): the cross-entropy of q and sigma(g), with q in place of labels."""

    def gradients(
        self, y: ArrayLike, scores: NDArray[np.float64], *, n_threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n, 1) each: sigma(g) - q, and sigma(g) (1 - sigma(g))."""
        del n_threads  # there is nothing to share
        sure = expit(scores)
        return sure - np.asarray(y, np.float64)[:, np.newaxis], np.maximum(sure * (1 - sure), _LEAST_HESSIAN)

    def mean(self, y: ArrayLike, scores: NDArray[np.float64], weight: ArrayLike | None = None) -> float:
        """Weighted mean of the divergence of q from sigma(g)."""
        lost = divergence(np.asarray(y, np.float64), scores[:, 0])
        return float(np.average(lost, weights=None if weight is None else np.asarray(weight, np.float64)))
