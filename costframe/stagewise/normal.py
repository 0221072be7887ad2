"""Least squares over a bank from one Gram matrix: after one pass over the rows, trying weights is quick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.exact_sums import exact_sum
from costframe.core.threads import thread_count
from costframe.stagewise.systems import blas_for, solve_scaled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.outputs import BankOutputs

__all__ = ["NormalEquations"]

_LEAST = 1e-12  # of a standard deviation to the mean, below which an output is constant


@frozen(eq=False)
class NormalEquations:
    """The weighted mean of squares 1/2 |y - a - B'h(x)|^2, as a function of B with the best constants a.

    Attributes
    ----------
    gram : float64 (C, C)
        Covariances of the outputs.
    right : float64 (C, M)
        Covariances of outputs and labels.
    mean, target_mean : float64 (C,), float64 (M,)
    target_variance : float64
        Sum over the M labels.
    """

    gram: NDArray[np.float64]
    right: NDArray[np.float64]
    mean: NDArray[np.float64]
    target_mean: NDArray[np.float64]
    target_variance: float

    @classmethod
    def of(cls, outputs: BankOutputs, y: NDArray[np.float64], weight: NDArray[np.float64]) -> NormalEquations:
        """Sum over rows with labels (n, M) and weights (n,), divided by the sum of weights."""
        w = weight / exact_sum(weight)
        mean = outputs.mean(w)
        target_mean = w @ y
        y = y - target_mean
        with blas_for(int(np.count_nonzero(w)), len(mean), small=None, large=thread_count()):
            gram, right = outputs.centered(mean).products(w, y)
        return cls(gram, right, mean, target_mean, float(w @ np.square(y).sum(axis=1)))

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Which outputs are not constant: bool (C,)."""
        return np.asarray(self.deviation > _LEAST * np.maximum(np.abs(self.mean), np.finfo(np.float64).tiny))

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Standard deviations: float64 (C,)."""
        return np.sqrt(np.diag(self.gram))

    @property
    def unit(self) -> float:
        """The unit of a ridge: the median variance of the outputs that vary."""
        return float(np.median(np.diag(self.gram)[self.varies])) if self.varies.any() else 0.0

    def columns(self, chosen: NDArray[np.int64]) -> NormalEquations:
        """Keep some outputs, in the given order; copy nothing if these are all."""
        if np.array_equal(chosen, np.arange(len(self.right))):
            return self
        gram = self.gram[np.ix_(chosen, chosen)]
        return evolve(self, gram=gram, right=self.right[chosen], mean=self.mean[chosen])

    def loss(self, weights: NDArray[np.float64]) -> float:
        """Mean of 1/2 |y - a - B'h|^2 for weights (C, M)."""
        return 0.5 * float(self.target_variance + (weights * (self.gram @ weights - 2 * self.right)).sum())

    def intercept(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the best constants: float64 (M,)."""
        return np.asarray(self.target_mean - self.mean @ weights)

    def solve(self, penalty: NDArray[np.float64]) -> NDArray[np.float64]:
        """Minimize loss + 1/2 sum_c penalty_c |B_c|^2, eq. 14: float64 (C, M)."""
        return solve_scaled(self.gram, self.right, penalty)
