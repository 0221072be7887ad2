"""Losses of rows as functions of their scores."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from attrs import frozen
from scipy.special import expit, log_softmax, softmax

from costframe.core.arrays import F8

LEAST = 0.01  # least curvature, for rows with sure answers: steps would else move their scores far


class Loss(Protocol):
    """The loss of one row as a function of its scores."""

    def value(self, scores: F8, target: F8) -> F8:
        """Return the loss of scores (n, M) for targets (n, M): float64 (n,)."""

    def slope(self, scores: F8, target: F8) -> F8:
        """Differentiate it by the scores: float64 (n, M)."""

    def curvature(self, scores: F8) -> F8:
        """Return about the second derivative by a score, > 0: float64 (n,)."""


@frozen
class Squared:
    """1/2 |y - s|^2."""

    def value(self, scores: F8, target: F8) -> F8:
        """Return the loss of scores (n, M) for targets (n, M): float64 (n,)."""
        return np.asarray(0.5 * np.square(target - scores).sum(axis=1))

    def slope(self, scores: F8, target: F8) -> F8:
        """Differentiate it by the scores: float64 (n, M)."""
        return scores - target

    def curvature(self, scores: F8) -> F8:
        """Return about the second derivative by a score, > 0: float64 (n,)."""
        return np.ones(len(scores))


@frozen
class Logistic:
    """log(1 + exp(-y s)), for targets -1 and 1."""

    def value(self, scores: F8, target: F8) -> F8:
        """Return the loss of scores (n, 1) for targets (n, 1): float64 (n,)."""
        return np.asarray(np.logaddexp(0.0, -target * scores)[:, 0])

    def slope(self, scores: F8, target: F8) -> F8:
        """Differentiate it by the scores: float64 (n, 1)."""
        return np.asarray(-target * expit(-target * scores))

    def curvature(self, scores: F8) -> F8:
        """Return about the second derivative by a score, > 0: float64 (n,)."""
        chance = expit(scores[:, 0])
        return np.asarray(np.maximum(chance * (1.0 - chance), LEAST))


@frozen
class Softmax:
    """Minus the logarithm of the probability of the class, for targets of one 0/1 column per class."""

    def value(self, scores: F8, target: F8) -> F8:
        """Return the loss of scores (n, M) for targets (n, M): float64 (n,)."""
        return np.asarray(-(target * log_softmax(scores, axis=1)).sum(axis=1))

    def slope(self, scores: F8, target: F8) -> F8:
        """Differentiate it by the scores: float64 (n, M)."""
        return np.asarray(softmax(scores, axis=1) - target)

    def curvature(self, scores: F8) -> F8:
        """Return about the second derivative by a score, > 0, the mean over directions: float64 (n,)."""
        chance = softmax(scores, axis=1)
        return np.asarray(np.maximum((1.0 - np.square(chance).sum(axis=1)) / (scores.shape[1] - 1), LEAST))
