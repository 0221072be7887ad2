"""What linear models minimize: the bound on the loss of a gate and a cheap model, given who gets which row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from attrs import evolve, frozen
from scipy.special import entr, expit, softmax

from costframe_adapt.problem import Problem, cheap_losses
from costframe_adapt.shares import Shares, share_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_adapt.linear.penalty import GroupPenalty

    F8 = NDArray[np.float64]

__all__ = ["RIDGE", "Division"]

RIDGE = 1e-6  # on weights of standardized columns, and intercepts: what keeps them finite where nothing else does


@frozen(eq=False)
class Division:
    """A problem with its columns. Weights are (1 + K, C + 1): the gate's, then those of f1; intercepts last.

    Attributes
    ----------
    Z : float64 (n, C)
        Columns of mean zero and variance one.
    problem : Problem
    full_price : float64 (n,)
        What the cost of f0 is worth in loss, row by row.
    penalty : GroupPenalty
    distance : "kl" or "squares"
        Between the gate and q.
    ridge : float
        Half of it times the sum of the squares of all weights is paid as well; for intercepts never more than RIDGE.
    """

    Z: F8
    problem: Problem
    full_price: F8
    penalty: GroupPenalty
    distance: Literal["kl", "squares"]
    ridge: float = RIDGE

    @property
    def gated(self) -> bool:
        """Whether f0 may get anything."""
        return self.problem.full_share != 0

    @property
    def nothing(self) -> F8:
        """Weights of zero."""
        return np.zeros((1 + self.problem.n_scores, self.Z.shape[1] + 1))

    @property
    def ridges(self) -> F8:
        """The ridge of each weight: float64 (C + 1,)."""
        return np.append(np.full(self.Z.shape[1], self.ridge), RIDGE)

    def take(self, rows: NDArray[np.int64], weight: F8) -> Division:
        """Keep some rows, with new weights of any sum."""
        problem = evolve(
            self.problem,
            y=self.problem.y[rows],
            weight=weight * (len(rows) / weight.sum()),
            loss0=self.problem.loss0[rows],
        )
        return evolve(self, Z=np.ascontiguousarray(self.Z[rows]), problem=problem, full_price=self.full_price[rows])

    def scores(self, weights: F8) -> F8:
        """Return g and f1: float64 (1 + K, n)."""
        return np.asarray(weights[:, :-1] @ self.Z.T + weights[:, -1:])

    def charge(self, weights: F8) -> float:
        """Return penalty and ridge."""
        return self.penalty.value(weights[:, :-1]) + float((np.square(weights) @ self.ridges).sum()) / 2

    def share_out(self, scores: F8) -> Shares:
        """Take the q-step."""
        losses = cheap_losses(scores[1:].T, self.problem.y)
        full = self.problem.loss0 + self.full_price
        if self.distance == "kl":
            losses, full = losses + np.logaddexp(0.0, scores[0]), full + np.logaddexp(0.0, -scores[0])
        return share_out(losses, full, self.problem.weight, self.problem.full_share)

    def apart(self, scores: F8, q: F8) -> F8:
        """Return what the gate's distance from q adds to each row, without the entropy of q for "kl"."""
        if not self.gated:
            return np.zeros(len(q))
        if self.distance == "squares":
            return np.asarray(np.square(scores[0] - np.log(q / (1 - q))) / 2)
        return np.asarray((1 - q) * np.logaddexp(0.0, scores[0]) + q * np.logaddexp(0.0, -scores[0]))

    def smooth(self, scores: F8, q: F8) -> float:
        """Return what the M-step minimizes, but for the charge."""
        losses = cheap_losses(scores[1:].T, self.problem.y)
        return self.problem.mean((1 - q) * losses + self.apart(scores, q))

    def bound(self, weights: F8, scores: F8, q: F8) -> float:
        """Return J: mean loss, distance of the gate from q, and charge."""
        fixed = q * (self.problem.loss0 + self.full_price) - entr(q) - entr(1 - q)
        return self.smooth(scores, q) + self.problem.mean(fixed) + self.charge(weights)

    def slopes(self, scores: F8, q: F8) -> tuple[F8, F8]:
        """Return the derivatives of the smooth part by each score, and curvatures: float64 (1 + K, n) each.

        The curvatures are exact but for the scores of three classes and more, where each row has the smaller of two
        diagonals that are not below diag(p) - pp' in any direction: p, and, as that is diagonally dominant,
        2 p (1 - p).
        """
        slope, curvature = np.zeros_like(scores), np.zeros_like(scores)
        share = self.problem.weight / len(q)
        if self.gated and self.distance == "squares":
            slope[0], curvature[0] = share * (scores[0] - np.log(q / (1 - q))), share
        elif self.gated:
            gate = expit(scores[0])
            slope[0], curvature[0] = share * (gate - q), share * gate * (1 - gate)
        two = len(scores) == 2
        chance = expit(scores[1:]) if two else softmax(scores[1:], axis=0)
        right = self.problem.y == (np.ones((1, 1)) if two else np.arange(len(chance))[:, np.newaxis])
        slope[1:] = share * (1 - q) * (chance - right)
        bent = chance * (1 - chance)
        if not two:
            bent = np.where(bent.sum(axis=0) < 1 / 2, 2 * bent, chance)
        curvature[1:] = share * (1 - q) * bent
        return slope, curvature

    def accuracy(self, scores: F8) -> float:
        """Return the share of rows that f1 classifies well."""
        chosen = scores[1] > 0 if len(scores) == 2 else scores[1:].argmax(axis=0)
        return self.problem.mean((chosen == self.problem.y).astype(np.float64))
