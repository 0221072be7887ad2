"""The q-step: which share of each row the expensive model should get, in closed form but for one number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from scipy.special import entr, expit

from costframe.gates.expensive import SURE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Shares", "divergence", "share_out"]

_FARTHEST = 2.0**11  # where the search for b ends: far beyond any difference of losses
_HALVINGS = 200  # a double has no more


@frozen(eq=False)
class Shares:
    """The solution of OPT1.

    Attributes
    ----------
    q : float64 (n,)
        Probability of sending each row to the expensive model, in [SURE, 1 - SURE]; zeros if it may get nothing.
    shift : float
        b >= 0; zero where the constraint does not bind.
    """

    q: NDArray[np.float64]
    shift: float


def share_out(
    cheap: NDArray[np.float64], full: NDArray[np.float64], weight: NDArray[np.float64], full_share: float | None
) -> Shares:
    """Minimize mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] over q, with mean q <= P.

    q_i = 1 / (1 + exp(B_i - A_i + b)) with the smallest b >= 0 that meets the constraint, found by bisection.

    Parameters
    ----------
    cheap, full : float64 (n,)
        A and B: what it costs a row to be answered by the cheap model, and by the expensive one.
    weight : float64 (n,)
        Of the rows in the mean.
    full_share : float or None
        P in [0, 1]; None for no constraint.
    """
    if full_share == 0:
        return Shares(np.zeros(len(cheap)), np.inf)
    odds = cheap - full

    def q_at(shift: float) -> NDArray[np.float64]:
        return np.clip(expit(odds - shift), SURE, 1 - SURE)

    share = weight / weight.sum()
    if full_share is None or float(share @ q_at(0.0)) <= full_share:
        return Shares(q_at(0.0), 0.0)
    low, high = 0.0, 1.0
    while float(share @ q_at(high)) > full_share and high < _FARTHEST:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if float(share @ q_at(middle)) > full_share else (low, middle)
    return Shares(_exactly(q_at(high), share, full_share), high)


def _exactly(q: NDArray[np.float64], share: NDArray[np.float64], full_share: float) -> NDArray[np.float64]:
    """Meet a constraint that the clipped shares cannot: one below SURE."""
    mean = float(share @ q)
    return q * (full_share / mean) if mean > full_share else q


def divergence(q: NDArray[np.float64], gate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return KL(q || sigma(g)) of each row: float64 (n,) for the gate's scores g, (n,)."""
    entropy = entr(q) + entr(1 - q)
    return np.asarray((1 - q) * np.logaddexp(0.0, gate) + q * np.logaddexp(0.0, -gate) - entropy)
