"""What linear models minimize: (OPT2) for given shares, and the bound that (OPT1) and (OPT2) lower in turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen
from scipy.special import entr, expit, softmax

from costframe.proximal.newton import penalty_of
from costframe_adapt.problem import Problem, cheap_losses
from costframe_adapt.shares import share_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.proximal.group_norms import GroupNorms
    from costframe_adapt.shares import Shares

    F8 = NDArray[np.float64]

__all__ = ["RIDGE", "LinearObjective"]

RIDGE = 1e-6  # on weights of standardized columns, and intercepts: what keeps them finite where nothing else does


@frozen(eq=False)
class LinearObjective:
    """A problem with its columns, and shares q. Weights are (1 + K, C + 1): the gate's, then f1's; intercepts last.

    Attributes
    ----------
    columns : float64 (n, C)
        Of mean zero and variance one.
    problem : Problem
    full_price : float64 (n,)
        What the cost of f0 is worth in loss, row by row.
    norms : GroupNorms
    q : float64 (n,)
        Shares of f0.
    ridge : float
        Half of it times the sum of the squares of all weights is paid as well; for intercepts never more than RIDGE.
    """

    columns: F8
    problem: Problem
    full_price: F8
    norms: GroupNorms
    q: F8
    ridge: float = RIDGE

    @property
    def gated(self) -> bool:
        """Whether f0 may get anything."""
        return self.problem.full_share != 0

    @property
    def nothing(self) -> F8:
        """Weights of zero."""
        return np.zeros((1 + self.problem.n_scores, self.columns.shape[1] + 1))

    @property
    def ridges(self) -> F8:
        """The ridge of each weight: float64 (C + 1,)."""
        return np.append(np.full(self.columns.shape[1], self.ridge), RIDGE)

    def given(self, q: F8) -> LinearObjective:
        """Take other shares."""
        return evolve(self, q=q)

    def take(self, rows: NDArray[np.int64], weight: F8) -> LinearObjective:
        """Keep some rows, with new weights of any sum."""
        problem = evolve(
            self.problem,
            y=self.problem.y[rows],
            weight=weight * (len(rows) / weight.sum()),
            loss0=self.problem.loss0[rows],
        )
        columns = np.ascontiguousarray(self.columns[rows])
        return evolve(self, columns=columns, problem=problem, full_price=self.full_price[rows], q=self.q[rows])

    def share_out(self, scores: F8) -> Shares:
        """Solve (OPT1) for scores of the gate and f1, float64 (1 + K, n)."""
        below = cheap_losses(scores[1:].T, self.problem.y) + np.logaddexp(0.0, scores[0])
        above = self.problem.loss0 + self.full_price + np.logaddexp(0.0, -scores[0])
        return share_out(below, above, self.problem.weight, self.problem.full_share)

    def smooth(self, scores: F8) -> float:
        """Return the objective of (OPT2) without the norms."""
        losses = (1 - self.q) * cheap_losses(scores[1:].T, self.problem.y)
        if self.gated:
            losses += (1 - self.q) * np.logaddexp(0.0, scores[0]) + self.q * np.logaddexp(0.0, -scores[0])
        return self.problem.mean(losses)

    def bound(self, weights: F8, scores: F8) -> float:
        """Return mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)], and the penalty."""
        fixed = self.q * (self.problem.loss0 + self.full_price) - entr(self.q) - entr(1 - self.q)
        return self.smooth(scores) + self.problem.mean(fixed) + penalty_of(self, weights)

    def slopes(self, scores: F8) -> tuple[F8, F8]:
        """Return the derivatives of the smooth part by each score, and curvatures: float64 (1 + K, n) each.

        The curvatures are exact but for the scores of three classes and more, where each row has the smaller of two
        diagonals that are not below diag(p) - pp' in any direction: p, and, as that is diagonally dominant,
        2 p (1 - p).
        """
        slope, curvature = np.zeros_like(scores), np.zeros_like(scores)
        share = self.problem.weight / len(self.q)
        if self.gated:
            gate = expit(scores[0])
            slope[0], curvature[0] = share * (gate - self.q), share * gate * (1 - gate)
        two = len(scores) == 2
        chance = expit(scores[1:]) if two else softmax(scores[1:], axis=0)
        right = self.problem.y == (np.ones((1, 1)) if two else np.arange(len(chance))[:, np.newaxis])
        slope[1:] = share * (1 - self.q) * (chance - right)
        bent = chance * (1 - chance)
        if not two:
            bent = np.where(bent.sum(axis=0) < 1 / 2, 2 * bent, chance)
        curvature[1:] = share * (1 - self.q) * bent
        return slope, curvature

    def accuracy(self, scores: F8) -> float:
        """Return the share of rows that f1 classifies well."""
        chosen = scores[1] > 0 if len(scores) == 2 else scores[1:].argmax(axis=0)
        return self.problem.mean((chosen == self.problem.y).astype(np.float64))
