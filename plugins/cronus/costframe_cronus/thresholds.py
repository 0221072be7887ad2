"""Where thresholds are placed: to pass a share of the rows, or where loss + lambda * cost is least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from costframe.stagewise.cuts import best_cut

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["best_thresholds", "hard_objective", "threshold_for"]

_TURNS = 10


def threshold_for(scores: NDArray[np.float64], weight: NDArray[np.float64], share: float, steepness: float) -> float:
    """Return theta such that the weighted mean of sigma(gamma (s - theta)) is `share`, in (0, 1)."""
    total = float(weight.sum())
    margin = (abs(np.log(share)) + abs(np.log1p(-share)) + 1.0) / steepness

    def missing(theta: float) -> float:
        return float(weight @ expit(steepness * (scores - theta))) / total - share

    return float(brentq(missing, scores.min() - margin, scores.max() + margin, xtol=1e-13))


def hard_objective(
    scores: NDArray[np.float64],
    at_exit: NDArray[np.float64],
    on_arrival: NDArray[np.float64],
    threshold: NDArray[np.float64],
) -> float:
    """Return sum_i of what is paid on arrival at each stage that row i reaches, and at the exit it takes."""
    return float(_ahead(scores, at_exit, on_arrival, threshold)[0].sum())


def _ahead(
    scores: NDArray[np.float64],
    at_exit: NDArray[np.float64],
    on_arrival: NDArray[np.float64],
    threshold: NDArray[np.float64],
) -> list[NDArray[np.float64]]:
    """Return what is ahead of each row that has come to stage 0, 1, ...: K arrays, float64 (n,)."""
    ahead = [on_arrival[:, -1] + at_exit[:, -1]]
    for k in range(len(threshold) - 1, -1, -1):
        out = scores[:, k] < threshold[k]
        ahead.insert(0, on_arrival[:, k] + np.where(out, at_exit[:, k], ahead[0]))
    return ahead


def best_thresholds(
    scores: NDArray[np.float64],
    at_exit: NDArray[np.float64],
    on_arrival: NDArray[np.float64],
    threshold: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Place thresholds, the last first, each at its optimum given the others, until none moves.

    Parameters
    ----------
    scores : float64 (n, K)
    at_exit, on_arrival : float64 (n, K)
        Loss of an answer there, and lambda * what the stage adds to the cost, both with the row's weight.
    threshold : float64 (K - 1,)
        To start with.

    Returns
    -------
    float64 (K - 1,)
        Where -inf rejects none; inf rejects all. A finite one lies between two scores that occur.
    """
    theta = threshold.copy()
    order = [np.argsort(scores[:, k], kind="stable") for k in range(len(theta))]
    for _ in range(_TURNS):
        before = theta.copy()
        stays = np.logical_and.accumulate(scores[:, :-1] >= theta, axis=1)
        reached = np.concatenate([np.ones((len(scores), 1), np.bool_), stays], axis=1)
        ahead = on_arrival[:, -1] + at_exit[:, -1]
        for k in range(len(theta) - 1, -1, -1):
            rows = order[k][reached[order[k], k]]
            theta[k] = best_cut(scores[rows, k], (at_exit[:, k] - ahead)[rows], theta[k])
            ahead = on_arrival[:, k] + np.where(scores[:, k] < theta[k], at_exit[:, k], ahead)
        if (theta == before).all():
            break
    return theta
