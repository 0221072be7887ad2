"""The weighted mean of squares as a function of a bank's weights."""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.outputs import BankOutputs
from costframe.core.machine import thread_count
from costframe.core.sums import exact_sum
from costframe.stagewise.linear_systems import solve_scaled
from costframe.training.blas import blas_for

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

    gram: F8
    right: F8
    mean: F8
    target_mean: F8
    target_variance: float

    @classmethod
    def of(cls, outputs: BankOutputs, y: F8, weight: F8) -> NormalEquations:
        """Sum over rows with labels (n, M) and weights (n,), divided by the sum of weights."""
        w = weight / exact_sum(weight)
        mean = outputs.mean(w)
        target_mean = w @ y
        y = y - target_mean
        with blas_for(int(np.count_nonzero(w)), len(mean), small=None, large=thread_count()):
            gram, right = outputs.centered(mean).products(w, y)
        return cls(gram, right, mean, target_mean, float(w @ np.square(y).sum(axis=1)))

    @property
    def varies(self) -> B1:
        """Which outputs are not constant: bool (C,)."""
        return np.asarray(self.deviation > _LEAST * np.maximum(np.abs(self.mean), np.finfo(np.float64).tiny))

    @property
    def deviation(self) -> F8:
        """Standard deviations: float64 (C,)."""
        return np.sqrt(np.diag(self.gram))

    @property
    def unit(self) -> float:
        """The unit of a ridge: the median variance of the outputs that vary."""
        return float(np.median(np.diag(self.gram)[self.varies])) if self.varies.any() else 0.0

    def columns(self, chosen: I8) -> NormalEquations:
        """Keep some outputs, in the given order; copy nothing if these are all."""
        if np.array_equal(chosen, np.arange(len(self.right))):
            return self
        gram = self.gram[np.ix_(chosen, chosen)]
        return evolve(self, gram=gram, right=self.right[chosen], mean=self.mean[chosen])

    def loss(self, weights: F8) -> float:
        """Mean of 1/2 |y - a - B'h|^2 for weights (C, M)."""
        return 0.5 * float(self.target_variance + (weights * (self.gram @ weights - 2 * self.right)).sum())

    def intercept(self, weights: F8) -> F8:
        """Return the best constants: float64 (M,)."""
        return np.asarray(self.target_mean - self.mean @ weights)

    def fit_ridge(self, kept: B1, ridge: float) -> F8:
        """Fit by ridge on a support, bool (C,), with zeros elsewhere: float64 (C, M)."""
        weights, support = np.zeros(self.right.shape), np.flatnonzero(kept)
        weights[support] = self.columns(support).solve(np.full(len(support), ridge))
        return weights

    def solve(self, penalty: F8) -> F8:
        """Minimize loss + 1/2 sum_c penalty_c |B_c|^2, eq. 14: float64 (C, M)."""
        return solve_scaled(self.gram, self.right, penalty)
