"""Rows as stages over a bank see them: the outputs they weigh, what to score, and how much each row counts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.outputs import BankOutputs

__all__ = ["SeenRows"]

_MOST = 1 << 26  # numbers held as a matrix: half a GiB
_BLOCK = 1 << 15  # rows


@frozen(eq=False)
class SeenRows:
    """n rows, and C outputs of a bank on them.

    Attributes
    ----------
    outputs : BankOutputs
    target : float64 (n,), or (n, M)
    weight : float64 (n,)
    in_mean : float64 (n,)
        Weights in means of loss; they sum to one.
    matrix : float64 (n, C), optional
        The outputs written out.
    """

    outputs: BankOutputs
    target: NDArray[np.float64]
    weight: NDArray[np.float64]
    in_mean: NDArray[np.float64]
    matrix: NDArray[np.float64] | None = None

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """Weights in means of cost; they sum to one: float64 (n,)."""
        return np.asarray(self.weight / self.weight.sum())

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

    @cached_property
    def variance(self) -> NDArray[np.float64]:
        """The variance of each output, by loss weights: float64 (C,)."""
        centered, found = self.outputs.less(self.outputs.mean(self.in_mean)), np.zeros(self.outputs.shape[1])
        for begin in range(0, len(self.target), _BLOCK):
            rows = slice(begin, min(begin + _BLOCK, len(self.target)))
            found += self.in_mean[rows] @ np.square(centered.block(rows))
        return found

    def scores(self, weights: NDArray[np.float64], intercept: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return H B + b: float64 (n, M) for weights (C, M) and constants (M,); outputs without weight are not read."""
        if self.matrix is not None:
            return self.times(weights) + intercept
        used = np.flatnonzero(weights.any(axis=1))
        return self.outputs.columns(used).times(weights[used]) + intercept

    def losses(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 1/2 (y_i - s_i^k)^2 of targets (n,): float64 (n, K)."""
        return 0.5 * np.square(scores - self.target[:, np.newaxis])
