"""ADAPT-LIN: Algorithm 1, for a gate and a cheap model that are linear in columns.

It alternates between the shares q of rows for the expensive model (OPT1) and both models given q (OPT2), with norms of
the weights as the price of acquisitions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import evolve, field, frozen

from costframe.gates import Effort, GroupNorms, Scores, Standardized
from costframe.plugin import F8, I8, DataError, PricedGroups
from costframe_adapt.judge import SURE
from costframe_adapt.linear_objective import GateProblem, LinearObjective

_TURN = Effort(8, 500, 1e-4, 1e-7)
_REFIT = 1e-3  # ridge that takes the place of the penalty
_ACCURACY = 1e-5
_SHARES = 1e-4


@frozen(eq=False)
class LinearPair:
    """A gate g and a cheap model f1 over C columns, and the state of their alternation."""

    # (1 + K, C + 1): the gate's, then f1's; intercepts last. Zeros are exact: a column with only zeros is not
    # acquired
    weights: F8
    q: F8  # (n,): probability of sending each training row to f0
    # (rounds,): mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] + penalty after each round; it does not rise
    bounds: F8 = field(factory=lambda: np.empty(0))
    converged: bool = False

    @property
    def used(self) -> I8:
        """The columns with a weight."""
        return np.flatnonzero(self.weights[:, :-1].any(axis=0))

    def scores(self, H: F8) -> Scores:
        """Return the scores of rows with columns H, (n, C)."""
        gate, *cheap = LinearObjective.scores_of(H, self.weights)
        return Scores(np.stack(cheap, axis=1), gate)


def alternate(objective: LinearObjective, pair: LinearPair, most: int, effort: Effort = _TURN) -> LinearPair:
    """Alternate until accuracy changes by less than 1e-5 and q by less than 1e-4 per row, or for `most` rounds."""
    weights, q, bounds, converged = pair.weights, pair.q, pair.bounds.tolist(), False
    scores = objective.scores_of(objective.columns, weights)
    accuracy = objective.accuracy(scores)
    for _ in range(most):
        before, q = q, objective.solve_shares(scores)
        step = evolve(objective, q=q)
        weights = step.minimize(weights, effort)
        scores = objective.scores_of(objective.columns, weights)
        known, accuracy = accuracy, objective.accuracy(scores)
        bounds.append(step.bound(weights, scores))
        converged = abs(accuracy - known) < _ACCURACY and objective.problem.mean(np.abs(q - before)) < _SHARES
        if converged:
            break
    return LinearPair(weights, q, np.array(bounds), converged)


def finish(objective: LinearObjective, pair: LinearPair) -> LinearPair:
    """Minimize both models for the last q to full precision, and append the bound."""
    step = evolve(objective, q=pair.q)
    weights = step.minimize(pair.weights)
    bound = step.bound(weights, objective.scores_of(objective.columns, weights))
    return evolve(pair, weights=weights, bounds=np.append(pair.bounds[:-1], bound))


def fit_pair(
    H: F8,
    problem: GateProblem,
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
        weights = evolve(objective, problem=evolve(problem, full_share=0.0)).minimize(weights, _TURN)
        if objective.gated and choose_start is not None and start is None:
            weights = choose_start(objective, weights)
    pair = finish(objective, alternate(objective, LinearPair(weights, np.zeros(len(H))), max_rounds))
    return _in_units(pair, columns, objective, H.shape[1])


def refit_pair(H: F8, problem: GateProblem, pair: LinearPair) -> LinearPair:
    """Fit again without the penalty's shrinkage: for the same q and columns, with a small ridge in its place.

    Parameters
    ----------
    H : float64 (n, C)
    problem : Problem
    pair : LinearPair
        A solution for these rows.
    """
    used, few = np.append(pair.used, H.shape[1]), H[:, pair.used]
    problem = evolve(problem, full_share=None if (pair.q > 0).any() else 0.0)
    columns = Standardized.of(few, problem.weight)
    objective = LinearObjective(columns.columns(few), problem, GroupNorms.none(len(columns.chosen)), pair.q, _REFIT)
    weights = columns.weights(pair.weights[:, used])
    if not objective.gated:
        weights[0] = 0.0
    refitted = evolve(pair, weights=objective.minimize(weights))
    spread = np.zeros_like(pair.weights)
    spread[:, used] = _in_units(refitted, columns, objective, few.shape[1]).weights
    return evolve(pair, weights=spread)


def _in_units(pair: LinearPair, columns: Standardized, objective: LinearObjective, n_columns: int) -> LinearPair:
    weights = columns.raw(pair.weights, n_columns)
    if not objective.gated:
        weights[0, -1] = np.log(SURE / (1 - SURE))
    return evolve(pair, weights=weights)
