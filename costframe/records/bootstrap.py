"""Bootstraps of donors: rows that chance draws again and again, as often as their weights say."""

from __future__ import annotations

import numpy as np

from costframe.core.arrays import B1, F8, I8


def draw_rows(rows: I8, count: int, weight: F8 | None, rng: np.random.Generator) -> I8:
    """Return `count` of some rows, drawn with replacement, with chances proportional to their positive weights.

    Weights are of all rows of the table, (n,). Equal ones give the same draws as None.
    """
    shares = None if weight is None else weight[rows]
    if shares is None or not len(rows) or (shares == shares[0]).all():
        return rng.choice(rows, count)
    shares = shares / shares.max()  # the sum of very large weights is not finite
    return rng.choice(rows, count, p=shares / shares.sum())


def find_giving(made: B1, weight: F8 | None) -> B1:
    """Return which rows can give a test, bool as `made`, (n,) or (n, T): those with it whose weight, (n,), is not 0."""
    if weight is None:
        return made
    return np.asarray((made.T & (weight > 0)).T)
