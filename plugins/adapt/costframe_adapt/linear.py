"""ADAPT-LIN: a gate and a cheap model, linear in columns, with norms of the weights as the price of acquisitions.

Algorithm 1 alternates between shares and models until neither changes. It finds a local optimum, so it has several
starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.errors import DataError
from costframe.core.tables.row_hashes import draw_rows, hash_rows
from costframe.gates.composite import SURE, Scores
from costframe.proximal.logistic import REFIT, Standardized
from costframe.proximal.newton import ROUGH, TIGHT, TURN, Effort, GroupNorms, minimize, scores_of
from costframe_adapt.objective import LinearObjective

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.groups import PricedGroups
    from costframe_adapt.objective import Problem

    F8 = NDArray[np.float64]

__all__ = ["LinearPair", "alternate", "best_start", "extreme_shares", "finish", "fit_linear", "refit"]

_ACCURACY = 1e-5
_SHARES = 1e-4
_ROWS = 2000
_PROMISING = 8  # starts that get more than one round
_ROUNDS = 2  # of each of them before the worse half is dropped
_HIGH, _LOW = 0.95, 0.05


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


def extreme_shares(values: F8, weight: F8, share: float) -> F8:
    """Return q = .95 on the rows of the highest values, of total weight `share`, and .05 elsewhere.

    Rows of equal values get equal q, perhaps in between: the order of rows has no effect.
    """
    distinct, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place, weight, len(distinct)) / weight.sum()
    above = np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)
    part = np.clip((share - above) / mass, 0.0, 1.0)[place]
    return np.asarray(_LOW + (_HIGH - _LOW) * part)


def best_start(objective: LinearObjective, plain: F8) -> F8:
    """Return the starting weights with the lowest bound after alternations on a sample of rows.

    It tries a plain f1 with a gate of zero, and for each column and direction the best models for a q that sends the
    extreme rows to f0. It keeps the best eight after one round, and the better half after every two more.

    Parameters
    ----------
    objective : LinearObjective
    plain : float64 (1 + K, C + 1)
        Of the plain f1, with a gate of zero.
    """
    sample = _sample(objective)
    share = sample.problem.full_share
    part = 0.5 if share is None or share == 1 else share
    extremes = [
        extreme_shares(values, sample.problem.weight, part)
        for column in sample.columns.T
        for values in (column, -column)
    ]
    begun = [LinearPair(plain, np.zeros(len(sample.columns)))]
    begun += [LinearPair(minimize(evolve(sample, q=q), plain, ROUGH), q) for q in extremes]
    tried = _lowest([alternate(sample, pair, 1, ROUGH) for pair in begun], _PROMISING)
    while len(tried) > 1:
        tried = [pair if pair.converged else alternate(sample, pair, _ROUNDS) for pair in tried]
        tried = _lowest(tried, len(tried) // 2)
    return tried[0].weights


def _lowest(tried: list[LinearPair], most: int) -> list[LinearPair]:
    """Keep the pairs with the lowest bounds, the first of equal ones."""
    return [tried[i] for i in np.argsort([pair.bounds[-1] for pair in tried], kind="stable")[:most]]


def _sample(objective: LinearObjective) -> LinearObjective:
    """Draw a subsample of rows by weight, spread over class and loss of f0; their order has no effect."""
    problem = objective.problem
    key = hash_rows(objective.columns.T, len(problem.y)) if problem.key is None else problem.key
    n_bits = (problem.n_classes - 1).bit_length()
    loss = problem.loss0.view(np.uint64) >> np.uint64(46)  # the bits of doubles >= 0 are in order
    stratum = problem.y.astype(np.uint64) << np.uint64(17) | loss
    key = stratum << np.uint64(47 - n_bits) | key >> np.uint64(17 + n_bits)
    draw = draw_rows(key, problem.weight, _ROWS)
    columns, loss0, q = map(draw.of, (objective.columns, problem.loss0, objective.q))
    y = draw.of(problem.y)
    order = np.lexsort((draw.share, *columns.T[::-1], loss0, y))
    weight = draw.share[order] * (len(order) / draw.share.sum())
    few = evolve(problem, y=y[order], weight=weight, loss0=loss0[order], key=None)
    return evolve(objective, columns=np.ascontiguousarray(columns[order]), problem=few, q=q[order])


def fit_linear(
    H: F8,
    problem: Problem,
    groups: PricedGroups,
    *,
    starts: bool = True,
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
    starts : bool
        Whether to try each column and direction as a start too; else f1 begins with a fit to all rows, the gate at 0.
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
        if objective.gated and starts and start is None:
            weights = best_start(objective, weights)
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
