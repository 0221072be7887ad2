"""Settings of Cronus, and the values to choose from."""

from __future__ import annotations

from math import exp, log

from attrs import frozen

CHOICES = {"rejected": (0.15, 0.3, 0.5), "ridge": (0.01, 0.1, 1.0)}
PAPER_CHOICES = {"l1": (0.0, 1e-4, 1e-3), "l1_last": (0.0, 1e-4, 1e-3)}  # section 3.4, chosen by the start alone
_MOST = 1e300  # largest lambda: products with zero stay zero


@frozen
class CascadeSettings:
    """Numbers of the algorithm."""

    tradeoff: float  # lambda
    n_stages: int = 10  # K
    rejected: float = 0.15  # epsilon, the share of its rows that each stage rejects at first
    inflation: float = 1.3  # delta: stage k starts at lambda delta^(K-k), as it is not really the last
    steepness: float = 50.0  # gamma
    positive_weight: float = 3.5  # w+, the factor of the loss of a row of target 1; that of target -1 is 1
    # l1, l1_last: rho of all stages but the last, and of the last, as printed
    l1: float = 0.0
    l1_last: float = 0.0
    ridge: float = 0.01  # of fits by exact cost, in units of the outputs' median variance

    def tradeoff_at(self, stage: int) -> float:
        """Return lambda_k of a stage, from 0, at most 1e300."""
        later = self.n_stages - 1 - stage
        inflated = min(later * log(self.inflation), log(_MOST))
        return min(self.tradeoff * exp(inflated), _MOST)
