"""Thresholds that halve rows."""

from __future__ import annotations

import numpy as np

from costframe.plugin import F8

_EVEN = 1e-9  # sums of weights differ by rounding; the first of two equal places wins
_ROUNDING = 1e-12  # of the largest score


def halving_threshold(scores: F8, weight: F8) -> float:
    """Return the threshold half-way between two adjacent scores that comes nearest to halving the weight.

    Scores, (n,), that differ by rounding count as equal; the threshold is infinite if all are equal.
    """
    largest = float(np.abs(scores).max(initial=0.0))
    order = np.argsort(scores, kind="stable")
    ascending, sums = scores[order], np.cumsum(weight[order])
    places = 1 + np.flatnonzero(np.diff(ascending) > _ROUNDING * largest)
    if not len(places):
        return np.inf
    off = np.abs(sums[places - 1] / weight[order].sum() - 0.5)
    at = int(places[np.flatnonzero(off <= off.min() + _EVEN)[0]])
    middle = ascending[at - 1] + 0.5 * (ascending[at] - ascending[at - 1])
    return float(middle if middle < ascending[at] else ascending[at - 1])
