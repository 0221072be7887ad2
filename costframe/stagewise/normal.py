"""Least squares over a bank, from one Gram matrix: sums over rows are taken once, then weights can be tried quickly.

Where rows lose weight from stage to stage, their part is taken from sums already there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.threads import thread_count
from costframe.stagewise.systems import blas_for, solve_scaled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.outputs import BankOutputs

__all__ = ["NormalEquations", "WeightedSums"]

_LEAST = 1e-12  # of a standard deviation to the mean, below which an output is constant
_NOTHING = 1e-9  # of the share that all rows keep of their weight: rows that keep less are left out
_SAME = 1e-9  # of a row's weight: what it may lose and still count as before
_LEFT = 1e-5  # of an output's sum of squares: where less is left, rounding would show
_BLOCK = 256  # rows of a matrix


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
        """Sum over rows with labels (n, M) and weights (n,), which are normalized to a sum of one."""
        w = weight / weight.sum()
        mean, target_mean = outputs.mean(w), w @ y
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
        """The outputs' median variance, of those that vary: what a ridge is in units of."""
        return float(np.median(np.diag(self.gram)[self.varies])) if self.varies.any() else 0.0

    def columns(self, chosen: NDArray[np.int64]) -> NormalEquations:
        """Keep some outputs, in the order given; nothing is copied if these are all."""
        if np.array_equal(chosen, np.arange(len(self.right))):
            return self
        gram = self.gram[np.ix_(chosen, chosen)]
        return NormalEquations(gram, self.right[chosen], self.mean[chosen], self.target_mean, self.target_variance)

    def loss(self, weights: NDArray[np.float64]) -> float:
        """Mean of 1/2 |y - a - B'h|^2 for weights (C, M)."""
        return 0.5 * float(self.target_variance + (weights * (self.gram @ weights - 2 * self.right)).sum())

    def intercept(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the best constants: float64 (M,)."""
        return np.asarray(self.target_mean - self.mean @ weights)

    def solve(self, penalty: NDArray[np.float64]) -> NDArray[np.float64]:
        """Minimize loss + 1/2 sum_c penalty_c |B_c|^2, eq. 14: float64 (C, M)."""
        return solve_scaled(self.gram, self.right, penalty)


@frozen(eq=False)
class WeightedSums:
    """Normal equations of rows, and what is needed to have them of the same rows with less weight.

    The products of outputs that rows lose, weighted by what they lose, are taken away; means and right sides, which
    cost little, are taken anew. Rows that keep less than 1e-9 of the share of weight that all keep together are left
    out, and losses below 1e-9 of a row's weight wait until they are more.

    Attributes
    ----------
    outputs : BankOutputs
        C of them on n rows.
    target : float64 (n, M)
    first, weight : float64 (n,)
        What rows weighed at first, and what they are counted with.
    normal : NormalEquations
    begun : float64 (C,)
        Sums of squares about the mean when products were last taken of all rows that are counted.
    """

    outputs: BankOutputs
    target: NDArray[np.float64]
    first: NDArray[np.float64]
    weight: NDArray[np.float64]
    normal: NormalEquations
    begun: NDArray[np.float64]

    @classmethod
    def of(cls, outputs: BankOutputs, target: NDArray[np.float64], weight: NDArray[np.float64]) -> WeightedSums:
        """Sum over rows with targets (n, M) and weights (n,)."""
        normal = NormalEquations.of(outputs, target, weight)
        return cls(outputs, target, weight, weight, normal, weight.sum() * np.diag(normal.gram))

    def left(self, weight: NDArray[np.float64]) -> WeightedSums:
        """Return the sums for weights (n,), none larger than before.

        They are taken anew from the rows that are left where those are fewer than the rows that lost weight, where an
        output that varies keeps less than 1e-5 of its sum of squares, as differences would be inexact, and where rows
        matter again as others have lost more.
        """
        wanted = np.where(weight > _NOTHING * weight.sum() / self.first.sum() * self.first, weight, 0.0)
        changed = self.weight - wanted > _SAME * wanted
        counted = np.where(changed, wanted, np.maximum(self.weight, wanted))
        if changed.sum() < np.count_nonzero(counted) and not (counted > self.weight).any():
            normal = self._subtract(self.weight - counted, counted)
            enough = counted.sum() * np.diag(normal.gram) > _LEFT * self.begun
            if enough[self.normal.varies].all():
                return evolve(self, weight=counted, normal=normal)
            del normal  # before it is made anew: it is large
        return evolve(WeightedSums.of(self.outputs, self.target, counted), first=self.first)

    def _subtract(self, lost: NDArray[np.float64], left: NDArray[np.float64]) -> NormalEquations:
        """Turn sums S about means m over weights W into those about means m + c over weights W - V.

        They are S - sum_i v_i (h_i - m) (h_i - m)' - (W - V) c c'.
        """
        before, total = self.weight.sum(), left.sum()
        about = self.outputs.centered(self.normal.mean)
        target_mean = left @ self.target / total
        y = self.target - target_mean
        firsts = about.rmatvec(left[:, np.newaxis] * np.hstack([np.ones((len(left), 1)), y])) / total
        moved, right = firsts[:, 0], firsts[:, 1:]
        gram = about.gram(lost)
        for begin in range(0, len(gram), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            gram[part] = (before * self.normal.gram[part] - gram[part]) / total - np.outer(moved[part], moved)
        constant = ~self.normal.varies  # and so it stays: what is left there is rounding
        gram[constant], gram[:, constant], right[constant] = 0.0, 0.0, 0.0
        variance = float(left @ np.square(y).sum(axis=1)) / total
        return NormalEquations(gram, right, self.normal.mean + moved, target_mean, variance)
