"""Losses of a row at all stages of a cascade together: AND for positive rows, OR for negative ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["lose_at_worst_stage", "lose_by_noisy_or"]

_LEAST = 1e-300  # of a probability of rejection


def lose_at_worst_stage(scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a positive row's loss max_k -log sigma(s_k), and its derivatives.

    Stages that are equally bad share the derivative.

    Parameters
    ----------
    scores : float64 (n, K)

    Returns
    -------
    float64 (n,), float64 (n, K)
    """
    least = scores.min(axis=1, keepdims=True)
    worst = scores == least
    return np.logaddexp(0.0, -least[:, 0]), -expit(-least) * worst / worst.sum(axis=1, keepdims=True)


def lose_by_noisy_or(scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a negative row's loss -log(1 - prod_k sigma(s_k)), and its derivatives: shapes of `lose_at_worst_stage`.

    1 - prod_k sigma(s_k), the noisy-or of the rejections, is the probability that some stage rejects the row.
    """
    accepted = -np.logaddexp(0.0, -scores).sum(axis=1)
    rejected = np.maximum(-np.expm1(accepted), _LEAST)
    return -np.log(rejected), (np.exp(accepted) / rejected)[:, np.newaxis] * expit(-scores)
