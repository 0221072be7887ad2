"""A chain of stages, each of which rejects what scores too little; the last one answers all that come to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.stagewise.seen import SeenRows

__all__ = ["Chain"]


@frozen(eq=False)
class Chain:
    """Weights of K stages over C outputs.

    Attributes
    ----------
    weights : float64 (K, C)
    intercept : float64 (K,)
    threshold : float64 (K - 1,)
        theta: a row is rejected where its score is less.
    """

    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    threshold: NDArray[np.float64]

    def scores(self, rows: SeenRows) -> NDArray[np.float64]:
        """Score all rows at all stages: float64 (n, K)."""
        return rows.scores(self.weights.T, self.intercept)

    def columns(self, used: NDArray[np.int64]) -> Chain:
        """Keep the weights of some outputs."""
        return Chain(self.weights[:, used], self.intercept, self.threshold)

    def spread(self, used: NDArray[np.int64], n_outputs: int) -> Chain:
        """Undo `columns`."""
        weights = np.zeros((len(self.weights), n_outputs))
        weights[:, used] = self.weights
        return Chain(weights, self.intercept, self.threshold)

    def with_threshold(self, threshold: NDArray[np.float64]) -> Chain:
        """Replace the thresholds."""
        return Chain(self.weights, self.intercept, threshold)

    def without_idle_stages(self) -> Chain:
        """Leave out stages that reject nothing, theta = -inf, and those after one that rejects everything."""
        ends = np.append(np.flatnonzero(self.threshold == np.inf), len(self.threshold))[0]
        kept = [k for k in range(ends) if self.threshold[k] > -np.inf]
        return Chain(self.weights[[*kept, ends]], self.intercept[[*kept, ends]], self.threshold[kept])
