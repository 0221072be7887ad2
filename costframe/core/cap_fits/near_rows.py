"""Rows like those from which a model learned, but none of these: each has some values of a near row."""

from __future__ import annotations

import numpy as np

from costframe.core.arrays import F8, I8

_BLOCK = 2_000  # rows, among which each finds a near one
_SHARE = 0.25  # of the values


def cross_with_near_rows(X: F8, used: I8) -> F8:
    """Return rows, float64 (n, d), each with a share of its values from a near row, in the columns used, (U,).

    A model knows by heart rows that it learned from. Their scores repeat chance more where they have more features, so
    large sets of features would seem better on them than they are, and answers surer. Near rows are those whose values
    have near ranks, so that what depends on something else still does.
    """
    crossed, rng = X.copy(), np.random.default_rng(0)
    for begin in range(0, len(X), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        part = X[rows, used]
        taken = rng.random(part.shape) < _SHARE
        crossed[rows, used] = np.where(taken, part[_nearest(part)], part)
    return crossed


def _nearest(X: F8) -> I8:
    """Return the nearest other row of each, int64 (n,), by the ranks of their values; the row itself if it is alone."""
    ranks = np.empty(X.shape)
    for f, column in enumerate(X.T):
        _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        ranks[:, f] = (2 * np.cumsum(counts) - counts)[place]  # whole numbers, so that sums depend on no order
    sizes = (ranks * ranks).sum(axis=1)
    distances = sizes[:, np.newaxis] + sizes - 2.0 * (ranks @ ranks.T)
    np.fill_diagonal(distances, np.inf)
    nearest: I8 = distances.argmin(axis=1)
    return nearest
