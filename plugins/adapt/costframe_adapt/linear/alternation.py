"""Algorithm 1, ADAPT-LIN: shares for models, and models for shares, in turns until neither changes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, field, frozen

from costframe.proximal.newton import TIGHT, TURN, Effort, minimize, scores_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_adapt.linear.objective import LinearObjective

    F8 = NDArray[np.float64]

__all__ = ["Alternation", "alternate", "begin", "finish"]

_ACCURACY = 1e-5
_SHARES = 1e-4


@frozen(eq=False)
class Alternation:
    """Where it stands.

    Attributes
    ----------
    weights : float64 (1 + K, C + 1)
    q : float64 (n,)
    shift : float
    bounds : float64 (rounds,)
        After each round.
    converged : bool
    """

    weights: F8
    q: F8
    shift: float
    bounds: F8 = field(factory=lambda: np.empty(0))
    converged: bool = False


def begin(objective: LinearObjective, weights: F8, q: F8 | None = None, effort: Effort = TURN) -> Alternation:
    """Begin with weights, or with the best ones for given shares."""
    if q is None:
        return Alternation(weights, np.zeros(len(objective.columns)), 0.0)
    return Alternation(minimize(objective.given(q), weights, effort), q, 0.0)


def alternate(objective: LinearObjective, state: Alternation, most: int, effort: Effort = TURN) -> Alternation:
    """Go on until accuracy changes by less than 1e-5 and q by less than 1e-4 a row, or `most` rounds are done."""
    weights, q, shift, bounds, converged = state.weights, state.q, state.shift, state.bounds.tolist(), False
    scores = scores_of(objective.columns, weights)
    accuracy = objective.accuracy(scores)
    for _ in range(most):
        shares = objective.share_out(scores)
        moved = objective.problem.mean(np.abs(shares.q - q))
        q, shift = shares.q, shares.shift
        step = objective.given(q)
        weights = minimize(step, weights, effort)
        scores = scores_of(objective.columns, weights)
        before, accuracy = accuracy, objective.accuracy(scores)
        bounds.append(step.bound(weights, scores))
        converged = abs(accuracy - before) < _ACCURACY and moved < _SHARES
        if converged:
            break
    return Alternation(weights, q, shift, np.array(bounds), converged)


def finish(objective: LinearObjective, state: Alternation) -> Alternation:
    """End with models that are minimized to the end; the last bound is the one after it."""
    step = objective.given(state.q)
    weights = minimize(step, state.weights, TIGHT)
    bound = step.bound(weights, scores_of(objective.columns, weights))
    return evolve(state, weights=weights, bounds=np.append(state.bounds[:-1], bound))
