"""Turns scores fitted to labels by least squares into log odds: a slope and constants, which an answer can carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from costframe_cronus.linear import scipy_blas_alone

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["calibrate"]


def calibrate(
    scores: NDArray[np.float64], codes: NDArray[np.int64], weight: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the slope a >= 0 and constants b that minimize the cross-entropy of softmax(a s + b).

    As with Platt, labels are softened by one row that is shared by all classes, so that perfect scores have a finite
    slope.

    Parameters
    ----------
    scores : float64 (n, K)
    codes : int64 (n,)
        Classes 0..K-1.
    weight : float64 (n,)
    """
    w, n_classes = weight / weight.sum(), scores.shape[1]
    rows = float(weight.sum())
    told = (np.eye(n_classes)[codes] * rows + 1 / n_classes) / (rows + 1)
    spread = float(scores.std()) or 1.0

    def loss(free: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        power = free[0] / spread * scores + free[1:]
        wrong = w[:, np.newaxis] * (softmax(power, axis=1) - told)
        value = -float((w[:, np.newaxis] * told * log_softmax(power, axis=1)).sum())
        return value, np.concatenate([[(wrong * scores).sum() / spread], wrong.sum(axis=0)])

    start = np.concatenate([[1.0], np.zeros(n_classes)])
    bounds = [(0.0, None)] + [(None, None)] * n_classes
    precision = {"gtol": 1e-9, "ftol": 1e-14}
    options: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "bounds": bounds, "options": precision}
    with scipy_blas_alone():
        found = minimize(loss, start, **options).x
    return float(found[0] / spread), np.asarray(found[1:] - found[1:].mean())
