"""Losses of scores with M outputs: squares, and cross-entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from attrs import frozen
from scipy.special import expit, log_softmax, softmax

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Logistic", "Loss", "Softmax", "Squared"]


LEAST = 0.01  # curvature of rows that are answered surely: a step for the others would send them far


class Loss(Protocol):
    """The loss of one row as a function of its scores."""

    def value(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of scores (n, M) for targets (n, M): float64 (n,)."""

    def slope(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Differentiate it by the scores: float64 (n, M)."""

    def curvature(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return about the second derivative by a score, > 0: float64 (n,)."""


@frozen
class Squared:
    """1/2 |y - s|^2."""

    def value(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of scores (n, M) for targets (n, M): float64 (n,)."""
        return np.asarray(0.5 * np.square(target - scores).sum(axis=1))

    def slope(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Differentiate it by the scores: float64 (n, M)."""
        return scores - target

    def curvature(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return about the second derivative by a score, > 0: float64 (n,)."""
        return np.ones(len(scores))


@frozen
class Logistic:
    """log(1 + exp(-y s)), targets being -1 and 1."""

    def value(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of scores (n, 1) for targets (n, 1): float64 (n,)."""
        return np.asarray(np.logaddexp(0.0, -target * scores)[:, 0])

    def slope(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Differentiate it by the scores: float64 (n, 1)."""
        return np.asarray(-target * expit(-target * scores))

    def curvature(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return about the second derivative by a score, > 0: float64 (n,)."""
        chance = expit(scores[:, 0])
        return np.asarray(np.maximum(chance * (1.0 - chance), LEAST))


@frozen
class Softmax:
    """Minus the logarithm of the probability of the class, targets being one column of 0 and 1 a class."""

    def value(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of scores (n, M) for targets (n, M): float64 (n,)."""
        return np.asarray(-(target * log_softmax(scores, axis=1)).sum(axis=1))

    def slope(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Differentiate it by the scores: float64 (n, M)."""
        return np.asarray(softmax(scores, axis=1) - target)

    def curvature(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return about the second derivative by a score, > 0, the mean over directions: float64 (n,)."""
        chance = softmax(scores, axis=1)
        return np.asarray(np.maximum((1.0 - np.square(chance).sum(axis=1)) / (scores.shape[1] - 1), LEAST))
