"""Least squares over rows that lose weight from stage to stage: what they lose is taken from sums already there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.stagewise.normal import NormalEquations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.outputs import BankOutputs

__all__ = ["WeightedSums"]

_NOTHING = 1e-9  # of the share that all rows keep of their weight: rows that keep less are left out
_SAME = 1e-9  # of a row's weight: what it may lose and still count as before
_LEFT = 1e-5  # of an output's sum of squares: where less is left, rounding would show
_BLOCK = 256  # rows of a matrix


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
