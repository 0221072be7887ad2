"""How rows pass through a chain, p and q of eq. 8, and how what is expected of them moves with the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Flow"]


@frozen(eq=False)
class Flow:
    """Probabilities of n rows in a chain of K stages.

    Attributes
    ----------
    on : float64 (n, K - 1)
        I_i^k = sigma(gamma (s_i^k - theta^k)), the probability to go on.
    passes : float64 (n, K)
        p_i^k, of coming to a stage: the product of `on` before it.
    steepness : float
        gamma.
    """

    on: NDArray[np.float64]
    passes: NDArray[np.float64]
    steepness: float

    @classmethod
    def of(cls, scores: NDArray[np.float64], threshold: NDArray[np.float64], steepness: float) -> Flow:
        """Follow rows with scores (n, K), the last of which decides nothing, and thresholds (K - 1,)."""
        on = expit(steepness * (scores[:, :-1] - threshold))
        passes = np.ones(scores.shape)
        np.cumprod(on, axis=1, out=passes[:, 1:])
        return cls(on, passes, steepness)

    @property
    def exits(self) -> NDArray[np.float64]:
        """q_i^k, the probability that a row is answered by a stage: float64 (n, K)."""
        exits = self.passes.copy()
        exits[:, :-1] *= 1.0 - self.on
        return exits

    def by_scores(self, at_exit: NDArray[np.float64], on_arrival: NDArray[np.float64]) -> NDArray[np.float64]:
        """Differentiate sum_ik q_i^k at_exit_ik + p_i^k on_arrival_ik by the scores that decide: float64 (n, K - 1).

        A threshold's derivative is minus the sum of its column. Both arguments, float64 (n, K), are taken as constant.
        """
        slopes = np.empty(self.on.shape)
        ahead = at_exit[:, -1] + on_arrival[:, -1]  # what is expected of a row once it has come to the stage
        for k in range(self.on.shape[1] - 1, -1, -1):
            on = self.on[:, k]
            slopes[:, k] = self.passes[:, k] * self.steepness * on * (1.0 - on) * (ahead - at_exit[:, k])
            ahead = on_arrival[:, k] + (1.0 - on) * at_exit[:, k] + on * ahead
        return slopes
