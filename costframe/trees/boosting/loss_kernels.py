"""Losses and their derivatives, in one pass over the rows; kernels that boost select the loss by number."""

import math

import numpy as np
from numpy.typing import NDArray

from costframe.core.combine_kernels import largest_over_workers, sum_over_workers
from costframe.core.jit import kernel
from costframe.trees.settings import LEAST_HESSIAN, LOGISTIC, SQUARED

__all__ = ["derive", "derive_logistic", "sum_losses", "whole_scale"]


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
    address: int,
) -> None:
    """Write first and second derivatives of each row's loss by each score, (K, n), without weights.

    They have the digits of single precision: so sums are exact, and a weight of two equals a row given twice. The unit
    of labels of any size follows from the rows of all workers; see `Task.address`.
    """
    n_outputs, unit = scores.shape[1], 1.0
    if kind == SQUARED:  # labels may have any size
        largest = 0.0
        for row in range(y.shape[0]):
            largest = max(largest, abs(scores[row, 0] - y[row]))
        unit = math.ldexp(1.0, max(math.frexp(largest_over_workers(address, largest))[1], -1000))
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
def whole_scale(largest: float, count_bits: int) -> float:
    """Return a power of two that makes whole numbers, nearly all digits kept, of fewer than 2^count_bits values.

    No value is larger than `largest`, and sums stay below 2^62.
    """
    return math.ldexp(1.0, min(61 - count_bits - math.frexp(largest)[1], 1023)) if largest > 0.0 else 1.0


@kernel
def _lose(kind: int, y: float, scores: NDArray[np.float64], row: int) -> float:
    """Return the loss of a row; scores are (n, K)."""
    if kind == SQUARED:
        return float(0.5 * (scores[row, 0] - y) ** 2)
    if kind == LOGISTIC:
        margin = scores[row, 0] if y == 1.0 else -scores[row, 0]
        return float(math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0))
    top, powers = scores[row, 0], 0.0
    for k in range(1, scores.shape[1]):
        top = max(top, scores[row, k])
    for k in range(scores.shape[1]):
        powers += math.exp(scores[row, k] - top)
    return float(top + math.log(powers) - scores[row, int(y)])


@kernel
def sum_losses(kind: int, y: NDArray[np.float64], weight: NDArray[np.float64], scores: NDArray[np.float64],
            rows: NDArray[np.int32], count_bits: int, address: int) -> float:  # fmt: skip
    """Sum the losses of some rows of all workers, fewer than 2^count_bits, times their weights, in any order."""
    lost, largest = np.empty(rows.shape[0]), 0.0
    for at in range(rows.shape[0]):
        row = rows[at]
        lost[at] = weight[row] * _lose(kind, y[row], scores, row)
        largest = max(largest, lost[at])
    largest = largest_over_workers(address, largest)
    if largest == math.inf:
        return largest
    scale, total = whole_scale(largest, count_bits), np.zeros(1, np.int64)
    for at in range(rows.shape[0]):
        total[0] += np.int64(np.rint(lost[at] * scale))
    sum_over_workers(address, total)
    return float(total[0] / scale)
