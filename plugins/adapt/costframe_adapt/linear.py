"""ADAPT-LIN: Algorithm 1, for a gate and a cheap model that are linear in columns.

It alternates between the shares q of rows for the expensive model (OPT1) and both models given q (OPT2), with norms of
the weights as the price of acquisitions. `linear_stage` has its starts, and what one stage makes of its solutions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, field, frozen
from scipy.special import entr, expit

from costframe.gates import (
    REFIT,
    RIDGE,
    SURE,
    TIGHT,
    TURN,
    Effort,
    GroupNorms,
    Scores,
    Standardized,
    cheap_losses,
    cross_entropy_slopes,
    minimize,
    penalty_of,
    scores_of,
)
from costframe.plugin import DataError, hash_rows, sum_over_rows
from costframe_adapt.judge import solve_shares

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.plugin import PricedGroups, Rows

    F8 = NDArray[np.float64]

__all__ = ["LinearObjective", "LinearPair", "Problem", "alternate", "finish", "fit_linear", "refit"]

_ACCURACY = 1e-5
_SHARES = 1e-4


@frozen(eq=False)
class Problem:
    """Rows to divide between a cheap model and the expensive one.

    Attributes
    ----------
    y : int64 (n,)
        Class codes 0..M-1.
    n_classes : int
        M. For two classes a cheap model f1 has K = 1 score, the log odds of class 1; for more, K = M (softmax).
    weight : float64 (n,)
        Positive, of mean one.
    loss0 : float64 (n,)
        -log P(y_i | x_i; f0), of the clipped probability; without P, plus the cost of f0 in units of loss.
    full_share : float or None
        P, the largest mean share of rows for f0; None if only the cost of f0 decides.
    key : uint64 (n,), optional
        Of each row, for samples; by default of its columns.
    """

    y: NDArray[np.int64]
    n_classes: int
    weight: NDArray[np.float64]
    loss0: NDArray[np.float64]
    full_share: float | None
    key: NDArray[np.uint64] | None = None

    @classmethod
    def of(cls, rows: Rows, n_classes: int, loss0: NDArray[np.float64], full_share: float | None) -> Problem:
        """Scale weights to a mean of one."""
        weight = rows.weight * (len(rows) / rows.total_weight)
        return cls(rows.y, n_classes, weight, loss0, full_share, hash_rows(rows.X.T, len(rows)))

    @property
    def n_scores(self) -> int:
        """K."""
        return 1 if self.n_classes == 2 else self.n_classes

    def mean(self, values: NDArray[np.float64]) -> float:
        """Return the weighted mean of values, (n,)."""
        return float(sum_over_rows(values[:, np.newaxis], self.weight)[0]) / len(self.weight)


@frozen(eq=False)
class LinearObjective:
    """A problem with its columns and shares q. Weights are (1 + K, C + 1): the gate's, then f1's; intercepts last.

    Attributes
    ----------
    columns : float64 (n, C)
        Of mean zero and variance one.
    problem : Problem
    norms : GroupNorms
    q : float64 (n,)
        Shares of f0.
    ridge : float
        The objective has half of it times the sum of squares of all weights; for intercepts at most RIDGE.
    """

    columns: F8
    problem: Problem
    norms: GroupNorms
    q: F8
    ridge: float = RIDGE

    @property
    def gated(self) -> bool:
        """Whether f0 may get rows."""
        return self.problem.full_share != 0

    @property
    def ridges(self) -> F8:
        """The ridge of each weight: float64 (C + 1,)."""
        return np.append(np.full(self.columns.shape[1], self.ridge), RIDGE)

    def solve_shares(self, scores: F8) -> F8:
        """Solve (OPT1) for scores of the gate and f1, float64 (1 + K, n)."""
        below = cheap_losses(scores[1:].T, self.problem.y) + np.logaddexp(0.0, scores[0])
        above = self.problem.loss0 + np.logaddexp(0.0, -scores[0])
        return solve_shares(below, above, self.problem.weight, self.problem.full_share)

    def smooth(self, scores: F8) -> float:
        """Return the objective of (OPT2) without the norms."""
        losses = (1 - self.q) * cheap_losses(scores[1:].T, self.problem.y)
        if self.gated:
            losses += (1 - self.q) * np.logaddexp(0.0, scores[0]) + self.q * np.logaddexp(0.0, -scores[0])
        return self.problem.mean(losses)

    def bound(self, weights: F8, scores: F8) -> float:
        """Return mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] + penalty."""
        fixed = self.q * self.problem.loss0 - entr(self.q) - entr(1 - self.q)
        return self.smooth(scores) + self.problem.mean(fixed) + penalty_of(self, weights)

    def slopes(self, scores: F8) -> tuple[F8, F8]:
        """Return the derivatives of the smooth part by each score, and curvatures: float64 (1 + K, n) each."""
        slope, curvature = np.zeros_like(scores), np.zeros_like(scores)
        share = self.problem.weight / len(self.columns)
        if self.gated:
            gate = expit(scores[0])
            slope[0], curvature[0] = share * (gate - self.q), share * gate * (1 - gate)
        kept = share * (1 - self.q)
        slope[1:], curvature[1:] = (kept * part for part in cross_entropy_slopes(self.problem.y, scores[1:]))
        return slope, curvature

    def accuracy(self, scores: F8) -> float:
        """Return the accuracy of f1."""
        chosen = scores[1] > 0 if len(scores) == 2 else scores[1:].argmax(axis=0)
        return self.problem.mean((chosen == self.problem.y).astype(np.float64))


@frozen(eq=False)
class LinearPair:
    """A gate g and a cheap model f1 over C columns, and the state of their alternation.

    Attributes
    ----------
    weights : float64 (1 + K, C + 1)
        The gate's, then f1's; intercepts last. Zeros are exact: a column with only zeros is not acquired.
    q : float64 (n,)
        Probability of sending each training row to f0.
    bounds : float64 (rounds,)
        mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] + penalty after each round; it does not rise.
    converged : bool
    """

    weights: F8
    q: F8
    bounds: F8 = field(factory=lambda: np.empty(0))
    converged: bool = False

    @property
    def used(self) -> NDArray[np.int64]:
        """The columns with a weight."""
        return np.flatnonzero(self.weights[:, :-1].any(axis=0))

    def scores(self, H: F8) -> Scores:
        """Return the scores of rows with columns H, (n, C)."""
        gate, *cheap = scores_of(H, self.weights)
        return Scores(np.stack(cheap, axis=1), gate)


def alternate(objective: LinearObjective, pair: LinearPair, most: int, effort: Effort = TURN) -> LinearPair:
    """Alternate until accuracy changes by less than 1e-5 and q by less than 1e-4 per row, or for `most` rounds."""
    weights, q, bounds, converged = pair.weights, pair.q, pair.bounds.tolist(), False
    scores = scores_of(objective.columns, weights)
    accuracy = objective.accuracy(scores)
    for _ in range(most):
        before, q = q, objective.solve_shares(scores)
        step = evolve(objective, q=q)
        weights = minimize(step, weights, effort)
        scores = scores_of(objective.columns, weights)
        known, accuracy = accuracy, objective.accuracy(scores)
        bounds.append(step.bound(weights, scores))
        converged = abs(accuracy - known) < _ACCURACY and objective.problem.mean(np.abs(q - before)) < _SHARES
        if converged:
            break
    return LinearPair(weights, q, np.array(bounds), converged)


def finish(objective: LinearObjective, pair: LinearPair) -> LinearPair:
    """Minimize both models for the last q to full precision, and append the bound."""
    step = evolve(objective, q=pair.q)
    weights = minimize(step, pair.weights, TIGHT)
    bound = step.bound(weights, scores_of(objective.columns, weights))
    return evolve(pair, weights=weights, bounds=np.append(pair.bounds[:-1], bound))


def fit_linear(
    H: F8,
    problem: Problem,
    groups: PricedGroups,
    *,
    choose_start: Callable[[LinearObjective, F8], F8] | None = None,
    start: LinearPair | None = None,
    max_rounds: int = 50,
) -> LinearPair:
    """Alternate between the shares q (OPT1), and the gate and f1 given q (OPT2).

    For given q, g and f1 minimize mean_i [(1 - q_i) (l(f1_i, y_i) + log(1 + exp(g_i))) + q_i log(1 + exp(-g_i))]
    + sum_G price_G * sqrt(sum of squares of all weights of the columns of group G). Intercepts have no price. If f0 may
    get no rows, the gate is a constant.

    Parameters
    ----------
    H : float64 (n, C)
        Finite columns in any units.
    problem : Problem
    groups : PricedGroups
        Of the C columns, with prices in units of loss.
    choose_start : callable, optional
        Chooses weights to begin with, from f1 fitted to all rows and a gate of 0, which are the start by default.
    start : LinearPair, optional
        A solution of a similar problem, and then the only start.
    max_rounds : int
    """
    if groups.member.shape[1] != H.shape[1]:
        raise DataError(f"groups: expected {H.shape[1]} columns, got {groups.member.shape[1]}")
    columns = Standardized.of(H, problem.weight)
    norms = GroupNorms.of_groups(groups, columns.chosen, columns.spread)
    objective = LinearObjective(columns.columns(H), problem, norms, np.zeros(len(H)))
    nothing = np.zeros((1 + problem.n_scores, len(columns.chosen) + 1))
    weights = nothing if start is None else columns.weights(start.weights)
    if start is None or not (objective.gated and (start.q > 0).any()):
        weights[0] = 0.0
        weights = minimize(evolve(objective, problem=evolve(problem, full_share=0.0)), weights, TURN)
        if objective.gated and choose_start is not None and start is None:
            weights = choose_start(objective, weights)
    pair = finish(objective, alternate(objective, LinearPair(weights, np.zeros(len(H))), max_rounds))
    return _in_units(pair, columns, objective, H.shape[1])


def refit(H: F8, problem: Problem, pair: LinearPair) -> LinearPair:
    """Fit again without the penalty's shrinkage: for the same q and columns, with a small ridge in its place.

    Parameters
    ----------
    H : float64 (n, C)
    problem : Problem
    pair : LinearPair
        A solution for these rows.
    """
    kept, few = np.append(pair.used, H.shape[1]), H[:, pair.used]
    problem = evolve(problem, full_share=None if (pair.q > 0).any() else 0.0)
    columns = Standardized.of(few, problem.weight)
    objective = LinearObjective(columns.columns(few), problem, GroupNorms.none(len(columns.chosen)), pair.q, REFIT)
    weights = columns.weights(pair.weights[:, kept])
    if not objective.gated:
        weights[0] = 0.0
    found = evolve(pair, weights=minimize(objective, weights))
    spread = np.zeros_like(pair.weights)
    spread[:, kept] = _in_units(found, columns, objective, few.shape[1]).weights
    return evolve(pair, weights=spread)


def _in_units(pair: LinearPair, columns: Standardized, objective: LinearObjective, n_columns: int) -> LinearPair:
    weights = columns.raw(pair.weights, n_columns)
    if not objective.gated:
        weights[0, -1] = np.log(SURE / (1 - SURE))
    return evolve(pair, weights=weights)
