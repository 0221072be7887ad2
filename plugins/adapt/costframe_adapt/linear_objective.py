"""The objective of Algorithm 1, of a gate and a cheap model given the shares of rows."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import entr, expit

from costframe.gates import GroupNorms, PenalizedObjective
from costframe.plugin import F8, I8, Rows, hash_rows, log_loss_slopes, loss_for, sum_over_rows
from costframe_adapt.judge import solve_shares

_RIDGE = 1e-6  # on weights of standardized columns and on intercepts, to keep them finite


@frozen(eq=False)
class GateProblem:
    """Rows to divide between a cheap model and the expensive one."""

    y: I8  # (n,): class codes 0..M-1
    # M. For two classes a cheap model f1 has K = 1 score, the log odds of class 1; for more, K = M (softmax)
    n_classes: int
    weight: F8  # (n,): positive, of mean one
    # (n,): -log P(y_i | x_i; f0), of the clipped probability; without P, plus the cost of f0 in units of loss
    loss0: F8
    full_share: float | None  # P, the largest mean share of rows for f0; None if only the cost of f0 decides
    key: NDArray[np.uint64] | None = None  # (n,): of each row, for samples; by default of its columns

    @classmethod
    def of(cls, rows: Rows, n_classes: int, loss0: F8, full_share: float | None) -> GateProblem:
        """Scale weights to a mean of one."""
        weight = rows.weight * (len(rows) / rows.total_weight)
        return cls(rows.y, n_classes, weight, loss0, full_share, hash_rows(rows.X.T, len(rows)))

    @property
    def n_scores(self) -> int:
        """K."""
        return 1 if self.n_classes == 2 else self.n_classes

    def losses(self, scores: F8) -> F8:
        """Return the loss of f1 in each row, float64 (n,), for its scores (n, K)."""
        return loss_for(self.n_classes).by_row(self.y, scores)

    def mean(self, values: F8) -> float:
        """Return the weighted mean of values, (n,)."""
        return float(sum_over_rows(values[:, np.newaxis], self.weight)[0]) / len(self.weight)


@frozen(eq=False)
class LinearObjective(PenalizedObjective):
    """A problem with its columns and shares q. Weights are (1 + K, C + 1): the gate's, then f1's; intercepts last."""

    columns: F8  # (n, C): of mean zero and variance one
    problem: GateProblem
    norms: GroupNorms
    q: F8  # (n,): shares of f0
    # the objective has half of it times the sum of squares of all weights; for intercepts at most _RIDGE
    ridge: float = _RIDGE

    @property
    def gated(self) -> bool:
        """Whether f0 may get rows."""
        return self.problem.full_share != 0

    @property
    def ridges(self) -> F8:
        """The ridge of each weight: float64 (C + 1,)."""
        return np.append(np.full(self.columns.shape[1], self.ridge), _RIDGE)

    def solve_shares(self, scores: F8) -> F8:
        """Solve (OPT1) for scores of the gate and f1, float64 (1 + K, n)."""
        below = self.problem.losses(scores[1:].T) + np.logaddexp(0.0, scores[0])
        above = self.problem.loss0 + np.logaddexp(0.0, -scores[0])
        return solve_shares(below, above, self.problem.weight, self.problem.full_share)

    def smooth(self, scores: F8) -> float:
        """Return the objective of (OPT2) without the norms."""
        losses = (1 - self.q) * self.problem.losses(scores[1:].T)
        if self.gated:
            losses += (1 - self.q) * np.logaddexp(0.0, scores[0]) + self.q * np.logaddexp(0.0, -scores[0])
        return self.problem.mean(losses)

    def bound(self, weights: F8, scores: F8) -> float:
        """Return mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] + penalty."""
        fixed = self.q * self.problem.loss0 - entr(self.q) - entr(1 - self.q)
        return self.smooth(scores) + self.problem.mean(fixed) + self.penalty(weights)

    def slopes(self, scores: F8) -> tuple[F8, F8]:
        """Return the derivatives of the smooth part by each score, and curvatures: float64 (1 + K, n) each."""
        slope, curvature = np.zeros_like(scores), np.zeros_like(scores)
        share = self.problem.weight / len(self.columns)
        if self.gated:
            gate = expit(scores[0])
            slope[0], curvature[0] = share * (gate - self.q), share * gate * (1 - gate)
        staying = share * (1 - self.q)
        slope[1:], curvature[1:] = (staying * part for part in log_loss_slopes(self.problem.y, scores[1:]))
        return slope, curvature

    def accuracy(self, scores: F8) -> float:
        """Return the accuracy of f1."""
        chosen = scores[1] > 0 if len(scores) == 2 else scores[1:].argmax(axis=0)
        return self.problem.mean((chosen == self.problem.y).astype(np.float64))
