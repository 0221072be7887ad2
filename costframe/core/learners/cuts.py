"""Ascending cuts of features, laid out for counting those below a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_STEPS = 1024  # of a feature's table
_CUTS_AT_A_TIME = 1 << 20  # so that memory stays near that of the cuts


class Cuts(NamedTuple):
    """Cuts of features, with a table of equal steps for each.

    Entry (x - low) * scale of a feature's table is a number of cuts certainly below x, and the others below x are among
    the next `window`. Rounding keeps the order of values, so this is exact; see engine/cuts.h.
    """

    first: NDArray[np.int64]  # (features + 1,)
    cut: NDArray[np.float64]  # ascending in each feature, each once, no NaN
    low: NDArray[np.float64]  # (features,)
    scale: NDArray[np.float64]  # (features,)
    first_step: NDArray[np.int64]  # (features + 1,)
    certain: NDArray[np.int32]
    window: NDArray[np.int64]  # (features,)


def lay_out_cuts(first: NDArray[np.int64], cut: NDArray[np.float64]) -> Cuts:
    """Make the tables for cuts that begin at `first` in each feature."""
    d, count = len(first) - 1, np.diff(first)
    first_step = np.concatenate([[0], np.cumsum(np.clip(2 * count, 1, _MOST_STEPS))])  # one for a feature without cuts
    certain = np.zeros(first_step[-1], np.int32)
    cuts = Cuts(first, cut, np.zeros(d), np.zeros(d), first_step, certain, np.zeros(d, np.int64))
    features = np.flatnonzero(count)
    for some in np.split(features, np.flatnonzero(np.diff(first[features] // _CUTS_AT_A_TIME)) + 1):
        if len(some):
            _tabulate(cuts, some)
    return cuts


def _tabulate(cuts: Cuts, features: NDArray[np.int64]) -> None:
    """Fill the tables of neighboring features with cuts."""
    begin, end = cuts.first[features], cuts.first[features + 1]
    lowest = cuts.cut[np.minimum(begin + np.isneginf(cuts.cut[begin]), end - 1)]  # finite, if several cuts are
    highest = cuts.cut[np.maximum(end - 1 - np.isposinf(cuts.cut[end - 1]), begin)]
    n_steps = cuts.first_step[features + 1] - cuts.first_step[features]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        rising = highest > lowest
        cuts.low[features] = np.where(rising, lowest, 0.0)
        cuts.scale[features] = np.where(rising, n_steps / (highest - lowest), 0.0)
        owner = np.repeat(features, end - begin)
        step = (cuts.cut[begin[0] : end[-1]] - cuts.low[owner]) * cuts.scale[owner]  # as the engine rounds it
    last = np.diff(cuts.first_step)[owner] - 1
    steps = slice(cuts.first_step[features[0]], cuts.first_step[features[-1] + 1])
    at = cuts.first_step[owner] - steps.start + np.clip(np.nan_to_num(step, nan=0.0), 0, last).astype(np.int64)
    inside = np.bincount(at, minlength=steps.stop - steps.start)
    cuts.window[features] = np.maximum.reduceat(inside, cuts.first_step[features] - steps.start)
    every = np.arange(features[0], features[-1] + 1)
    of_step = np.repeat(every, np.diff(cuts.first_step[features[0] : features[-1] + 2]))
    below = np.cumsum(inside) - inside - (cuts.first[of_step] - begin[0])
    # the search stays inside the feature's cuts
    cuts.certain[steps] = np.minimum(below, (np.diff(cuts.first) - cuts.window)[of_step])
