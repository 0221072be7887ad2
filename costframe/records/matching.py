"""Rows that are near in predictions."""

from __future__ import annotations

import numpy as np

from costframe.core.arrays import F8, I8

DONORS = 5  # nearest ones, of which chance takes one


def draw_near(giving: F8, taking: F8, rng: np.random.Generator) -> I8:
    """Return for each row of `taking`, float64 (m, any), the place of one of the nearest rows of `giving`."""
    from scipy.spatial import cKDTree

    count = min(DONORS, len(giving))
    near = np.asarray(cKDTree(giving).query(taking, k=count)[1]).reshape(len(taking), count)
    return np.asarray(near[np.arange(len(taking)), rng.integers(0, count, len(taking))])


def distance_to_nearest(giving: F8, taking: F8) -> F8:
    """Return for each row of `taking`, float64 (m, d), the mean distance a column to the nearest row of `giving`."""
    from scipy.spatial import cKDTree

    if not len(taking):
        return np.zeros(0)
    return np.asarray(cKDTree(giving).query(taking)[0] / np.sqrt(giving.shape[1]))
