"""Where linear models may begin: alternation finds only what is near, so it is tried from several sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.cost.sampled_prices import drawn_rows
from costframe.proximal.newton import ROUGH
from costframe_adapt.linear.alternation import Alternation, alternate, begin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_adapt.linear.objective import LinearObjective

    F8 = NDArray[np.float64]

__all__ = ["best_start", "extreme_shares"]

_ROWS = 2000
_PROMISING = 8  # starts that get more than one round
_ROUNDS = 2  # of each of them, before the worse half is given up
_HIGH, _LOW = 0.95, 0.05


def extreme_shares(values: F8, weight: F8, share: float) -> F8:
    """Return q = .95 on the rows of the highest values that weigh `share` together, .05 elsewhere.

    Rows of equal values get equal q, in between where only a part of them is wanted: the order of rows is no matter.
    """
    distinct, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place, weight, len(distinct)) / weight.sum()
    above = np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)
    part = np.clip((share - above) / mass, 0.0, 1.0)[place]
    return np.asarray(_LOW + (_HIGH - _LOW) * part)


def best_start(objective: LinearObjective, plain: F8) -> F8:
    """Return the weights from which a sample of rows ends lowest.

    Tried are a plain f1 with a gate of zero, and for each column and direction the best models for a q that sends its
    extreme rows to f0. After one round the best eight are kept, and after every two more the better half.

    Parameters
    ----------
    objective : LinearObjective
    plain : float64 (1 + K, C + 1)
        Of the plain f1.
    """
    sample = _sample(objective)
    share = objective.problem.full_share
    part = 0.5 if share is None or share == 1 else share
    extremes = [
        extreme_shares(values, sample.problem.weight, part)
        for column in sample.columns.T
        for values in (column, -column)
    ]
    begun = [begin(sample, plain), *(begin(sample, plain, q, ROUGH) for q in extremes)]
    tried = _lowest([alternate(sample, state, 1, ROUGH) for state in begun], _PROMISING)
    while len(tried) > 1:
        tried = [state if state.converged else alternate(sample, state, _ROUNDS) for state in tried]
        tried = _lowest(tried, len(tried) // 2)
    return tried[0].weights


def _lowest(tried: list[Alternation], most: int) -> list[Alternation]:
    """Keep those of the lowest bounds; of equals the first."""
    return [tried[i] for i in np.argsort([state.bounds[-1] for state in tried], kind="stable")[:most]]


def _sample(objective: LinearObjective) -> LinearObjective:
    """Draw rows by weight, evenly by class, loss of f0 and values, so that the order of rows is no matter."""
    problem = objective.problem
    order = np.lexsort((*objective.columns.T[::-1], problem.loss0, problem.y))
    drawn, weight = drawn_rows(problem.weight[order], _ROWS)
    return objective.take(order[drawn], weight)
