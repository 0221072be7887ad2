"""Where to divide rows in two by their scores so that what they pay is least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["best_cut", "halving_cut", "halving_threshold", "just_below"]

_NEARLY = 1e-15
_EVEN = 1e-9  # sums of weights differ by rounding; the first of two as good is taken


def best_cut(scores: NDArray[np.float64], more: NDArray[np.float64], now: float) -> float:
    """Return theta such that the rows with scores below it have the least sum of `more`.

    Scores, float64 (n,), ascend. The theta there is, `now`, stays if it is as good. It is half-way between two scores,
    or infinite where all rows are on one side.
    """
    sums = np.concatenate([[0.0], np.cumsum(more)])
    possible = np.concatenate([[True], np.diff(scores) > 0, [True]]) if len(scores) else np.array([True])
    sums = np.where(possible, sums, np.inf)
    at = int(sums.argmin())
    if sums[at] >= sums[np.searchsorted(scores, now)] - _NEARLY:
        return now
    if at in {0, len(scores)}:
        return -np.inf if at == 0 else np.inf
    return _between(scores, at)


def halving_cut(scores: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return theta half-way between the two adjacent scores that come nearest to halving the rows' weight.

    Scores, float64 (n,), ascend; it is infinite if all are equal.
    """
    places = 1 + np.flatnonzero(np.diff(scores) > 0)
    if not len(places):
        return np.inf
    off = np.abs(np.cumsum(weight)[places - 1] / weight.sum() - 0.5)
    return _between(scores, int(places[np.flatnonzero(off <= off.min() + _EVEN)[0]]))


def halving_threshold(scores: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the threshold above which about half of the rows' weight is; infinite if all scores, (n,), are equal."""
    order = np.argsort(scores, kind="stable")
    return just_below(halving_cut(scores[order], weight[order]), scores)


def just_below(theta: float, scores: NDArray[np.float64]) -> float:
    """Return the threshold above which the same scores are that are not below theta."""
    return float(np.nextafter(theta, -np.inf)) if np.isfinite(theta) and (scores == theta).any() else theta


def _between(scores: NDArray[np.float64], at: int) -> float:
    middle = scores[at - 1] + 0.5 * (scores[at] - scores[at - 1])
    return float(middle if middle > scores[at - 1] else scores[at])
