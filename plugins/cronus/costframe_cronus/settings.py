"""Numbers of the algorithm."""

from __future__ import annotations

from math import exp, log

from attrs import frozen

from costframe.stagewise.fitting import USUAL_RIDGE

__all__ = ["CascadeSettings"]

_MOST = 1e300  # of lambda: products with zero stay zero


@frozen
class CascadeSettings:
    """Numbers of the algorithm.

    Attributes
    ----------
    tradeoff : float
        lambda.
    n_stages : int
        K.
    rejected : float
        epsilon, the share of a stage's rows that it rejects at first.
    inflation : float
        delta: stage k is started with lambda delta^(K-k), as it is not really the last.
    steepness : float
        gamma.
    positive_weight : float
        w+, what the loss of a row of target 1 is multiplied by; that of target -1 by 1.
    l1, l1_last : float
        rho of all stages but the last, and of the last, as printed.
    ridge : float
        By exact cost, in units of the outputs' median variance.
    """

    tradeoff: float
    n_stages: int = 10
    rejected: float = 0.15
    inflation: float = 1.3
    steepness: float = 50.0
    positive_weight: float = 3.5
    l1: float = 0.0
    l1_last: float = 0.0
    ridge: float = USUAL_RIDGE

    def tradeoff_at(self, stage: int) -> float:
        """Return lambda_k of a stage, from 0, or what is as good as infinite."""
        later = self.n_stages - 1 - stage
        inflated = min(later * log(self.inflation), log(_MOST))
        return min(self.tradeoff * exp(inflated), _MOST)
