"""Derivatives of losses, in one pass over the rows."""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["derive_logistic"]


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
