"""Rows as a cascade sees them: the outputs it chooses from, what to score, and how much each row counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.outputs import BankOutputs
    from costframe_cronus.cascade import Cascade

__all__ = ["SeenRows"]

_MOST = 1 << 26  # numbers held as a matrix: half a GiB
_BLOCK = 1 << 15  # rows


@frozen(eq=False)
class SeenRows:
    """n rows, and C outputs of a bank on them.

    Attributes
    ----------
    X : float64 (n, d)
    outputs : BankOutputs
    target : float64 (n,)
        -1 and 1, or in between.
    share : float64 (n,)
        Weights in means of cost; they sum to one.
    in_mean : float64 (n,)
        Weights in means of loss; they sum to one.
    matrix : float64 (n, C), optional
        The outputs written out.
    """

    X: NDArray[np.float64]
    outputs: BankOutputs
    target: NDArray[np.float64]
    share: NDArray[np.float64]
    in_mean: NDArray[np.float64]
    matrix: NDArray[np.float64] | None = None

    def columns(self, used: NDArray[np.int64]) -> SeenRows:
        """Keep few outputs, written out if they fit, for many products."""
        part = self.outputs.columns(used)
        n_rows = len(self.target)
        fits = n_rows * len(used) <= _MOST
        return evolve(self, outputs=part, matrix=part.block(slice(0, n_rows)) if fits else None)

    def times(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return H B: float64 (n, M) for weights (C, M)."""
        return self.outputs.times(weights) if self.matrix is None else np.asarray(self.matrix @ weights)

    def back(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return H' V: float64 (C, M) for values (n, M)."""
        return self.outputs.back(values) if self.matrix is None else np.asarray(self.matrix.T @ values)

    def variance(self) -> NDArray[np.float64]:
        """Return the variance of each output, by loss weights: float64 (C,)."""
        centered, found = self.outputs.less(self.outputs.mean(self.in_mean)), np.zeros(self.outputs.shape[1])
        for begin in range(0, len(self.target), _BLOCK):
            rows = slice(begin, min(begin + _BLOCK, len(self.target)))
            found += self.in_mean[rows] @ np.square(centered.block(rows))
        return found

    def scores(self, cascade: Cascade) -> NDArray[np.float64]:
        """Score all rows at all stages: float64 (n, K)."""
        used = np.flatnonzero(cascade.weights.any(axis=0))
        return self.outputs.columns(used).times(cascade.weights[:, used].T) + cascade.intercept
