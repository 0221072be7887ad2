"""Q-steps and M-steps in turn, until neither changes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, field, frozen

from costframe_adapt.linear.newton import TIGHT, TURN, Effort, minimize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_adapt.linear.division import Division

    F8 = NDArray[np.float64]

__all__ = ["Turns", "alternate", "begin", "finish"]

_ACCURACY = 1e-5
_SHARES = 1e-4


@frozen(eq=False)
class Turns:
    """Where alternation stands.

    Attributes
    ----------
    weights : float64 (1 + K, C + 1)
    q : float64 (n,)
    shift : float
    bounds : float64 (rounds,)
        After each round.
    settled : bool
        Whether it stopped by itself.
    """

    weights: F8
    q: F8
    shift: float
    bounds: F8 = field(factory=lambda: np.empty(0))
    settled: bool = False


def begin(division: Division, weights: F8, q: F8 | None = None, effort: Effort = TURN) -> Turns:
    """Begin with weights, or with an M-step from them for given shares."""
    if q is None:
        return Turns(weights, np.zeros(len(division.Z)), 0.0)
    return Turns(minimize(division, q, weights, effort), q, 0.0)


def alternate(division: Division, turns: Turns, most: int, effort: Effort = TURN) -> Turns:
    """Go on for some rounds: until accuracy changes by < 1e-5 and q by < 1e-4 a row, or `most` are done."""
    weights, q, shift, bounds, settled = turns.weights, turns.q, turns.shift, turns.bounds.tolist(), False
    scores = division.scores(weights)
    accuracy = division.accuracy(scores)
    for _ in range(most):
        shares = division.share_out(scores)
        moved = division.problem.mean(np.abs(shares.q - q))
        q, shift = shares.q, shares.shift
        weights = minimize(division, q, weights, effort)
        scores = division.scores(weights)
        before, accuracy = accuracy, division.accuracy(scores)
        bounds.append(division.bound(weights, scores, q))
        settled = abs(accuracy - before) < _ACCURACY and moved < _SHARES
        if settled:
            break
    return Turns(weights, q, shift, np.array(bounds), settled)


def finish(division: Division, turns: Turns) -> Turns:
    """End with an M-step that is not cut short; the last bound is the one after it."""
    weights = minimize(division, turns.q, turns.weights, TIGHT)
    bound = division.bound(weights, division.scores(weights), turns.q)
    return evolve(turns, weights=weights, bounds=np.append(turns.bounds[:-1], bound))
