"""Where linear models may begin: alternation finds only what is near, so it is tried from several sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.cost.sampled_prices import drawn_rows
from costframe_adapt.linear.alternation import Turns, alternate, begin
from costframe_adapt.linear.newton import ROUGH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe_adapt.linear.division import Division

    F8 = NDArray[np.float64]

__all__ = ["best_start", "extreme_shares"]

_ROWS = 2000
_SEEN = 8  # starts that get more than one round
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


def best_start(division: Division, plain: F8) -> F8:
    """Return the weights from which a sample of rows ends lowest.

    Tried are a plain f1 with a gate of zero, and for each column and direction the M-step of a q that sends its
    extreme rows to f0. After one round the best eight are kept, and after every two more the better half.

    Parameters
    ----------
    division : Division
    plain : float64 (1 + K, C + 1)
        Of the plain f1.
    """
    sample = _sample(division)
    share = division.problem.full_share
    part = 0.5 if share is None or share == 1 else share
    begun = [begin(sample, plain), *(begin(sample, plain, q, ROUGH) for q in _sides(sample, part))]
    tried = _lowest([alternate(sample, turns, 1, ROUGH) for turns in begun], _SEEN)
    while len(tried) > 1:
        tried = [turns if turns.settled else alternate(sample, turns, _ROUNDS) for turns in tried]
        tried = _lowest(tried, len(tried) // 2)
    return tried[0].weights


def _lowest(tried: list[Turns], most: int) -> list[Turns]:
    """Keep those of the lowest bounds; of equals the first."""
    return [tried[i] for i in np.argsort([turns.bounds[-1] for turns in tried], kind="stable")[:most]]


def _sides(sample: Division, share: float) -> Iterator[F8]:
    for column in sample.Z.T:
        for values in (column, -column):
            yield extreme_shares(values, sample.problem.weight, share)


def _sample(division: Division) -> Division:
    """Draw rows by weight, evenly by class, loss of f0 and values, so that the order of rows is no matter."""
    problem = division.problem
    order = np.lexsort((*division.Z.T[::-1], problem.loss0, problem.y))
    drawn, weight = drawn_rows(problem.weight[order], _ROWS)
    return division.take(order[drawn], weight)
