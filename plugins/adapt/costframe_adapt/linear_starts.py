"""Starts of Algorithm 1, compared on a sample of the rows."""

from __future__ import annotations

import numpy as np
from attrs import evolve

from costframe.gates import Effort
from costframe.plugin import F8, draw_rows, hash_rows
from costframe_adapt.linear import LinearPair, alternate
from costframe_adapt.linear_objective import LinearObjective

_ROUGH = Effort(3, 60, 1e-2, 1e-6)
_ROWS = 2000  # on which starts are compared
_PROMISING = 8  # starts that get more than one round
_ROUNDS_OF_STARTS = 2  # of each of them before the worse half is dropped
_HIGH, _LOW = 0.95, 0.05


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
    begun += [LinearPair(evolve(sample, q=q).minimize(plain, _ROUGH), q) for q in extremes]
    tried = _lowest([alternate(sample, pair, 1, _ROUGH) for pair in begun], _PROMISING)
    while len(tried) > 1:
        tried = [pair if pair.converged else alternate(sample, pair, _ROUNDS_OF_STARTS) for pair in tried]
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
