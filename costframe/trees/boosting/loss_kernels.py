"""Losses and their derivatives, in one pass over the rows; kernels that boost select the loss by number."""

import math

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel
from costframe.trees.boosting.losses import LEAST_HESSIAN, LOGISTIC, SQUARED

__all__ = ["derive", "derive_logistic", "sum_losses"]


@kernel
def derive_logistic(
    target: NDArray[np.int64],
    scores: NDArray[np.float64],
    small: NDArray[np.float64],
    least_hessian: float,
    gradient: NDArray[np.float32],
    hessian: NDArray[np.float32],
) -> None:
    """Write p - y and p (1 - p), with p = 1/(1 + exp(-score)).

    Parameters
    ----------
    target : int64 (n,)
        Zeros and ones.
    scores, small : float64 (n,)
        Log odds, and exp(-|score|), which never overflows.
    least_hessian : float
    gradient, hessian : float32 (n,)
        Written.
    """
    for row in range(target.shape[0]):
        sign = 2.0 * target[row] - 1.0
        whole = 1.0 + small[row]
        wrong = small[row] if sign * scores[row] > 0 else 1.0
        gradient[row] = -sign * wrong / whole
        hessian[row] = max(small[row] / (whole * whole), least_hessian)


@kernel
def derive(
    kind: int,
    y: NDArray[np.float64],
    scores: NDArray[np.float64],
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64],
) -> None:
    """Write first and second derivatives of each row's loss by each score, (K, n), without weights.

    They have the digits of single precision: so sums are exact, and a weight of two equals a row given twice.
    """
    n_outputs, unit = scores.shape[1], 1.0
    if kind == SQUARED:  # labels may have any size
        largest = 0.0
        for row in range(y.shape[0]):
            largest = max(largest, abs(scores[row, 0] - y[row]))
        unit = math.ldexp(1.0, max(math.frexp(largest)[1], -1000))
    for row in range(y.shape[0]):
        if kind == SQUARED:
            gradients[0, row] = np.float64(np.float32((scores[row, 0] - y[row]) / unit)) * unit
            hessians[0, row] = 1.0
        elif kind == LOGISTIC:
            p = 1.0 / (1.0 + math.exp(-scores[row, 0]))
            gradients[0, row], hessians[0, row] = np.float32(p - y[row]), np.float32(max(p * (1.0 - p), LEAST_HESSIAN))
        else:
            top = scores[row, 0]
            for k in range(1, n_outputs):
                top = max(top, scores[row, k])
            total = 0.0
            for k in range(n_outputs):
                gradients[k, row] = math.exp(scores[row, k] - top)
                total += gradients[k, row]
            for k in range(n_outputs):
                p = gradients[k, row] / total
                gradients[k, row] = np.float32(p - (1.0 if y[row] == k else 0.0))
                hessians[k, row] = np.float32(max(p * (1.0 - p), LEAST_HESSIAN))


@kernel
def sum_losses(kind: int, y: NDArray[np.float64], weight: NDArray[np.float64], scores: NDArray[np.float64],
            rows: NDArray[np.int32]) -> float:  # fmt: skip
    """Sum the losses of some rows, times their weights."""
    total = 0.0
    for row in rows:
        if kind == SQUARED:
            lost = 0.5 * (scores[row, 0] - y[row]) ** 2
        elif kind == LOGISTIC:
            margin = scores[row, 0] if y[row] == 1.0 else -scores[row, 0]
            lost = math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)
        else:
            top = scores[row, 0]
            for k in range(1, scores.shape[1]):
                top = max(top, scores[row, k])
            powers = 0.0
            for k in range(scores.shape[1]):
                powers += math.exp(scores[row, k] - top)
            lost = top + math.log(powers) - scores[row, int(y[row])]
        total += weight[row] * lost
    return total
