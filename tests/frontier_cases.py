"""What tests of frontiers and searches share."""

from __future__ import annotations

import numpy as np

from costframe.choices import Point
from costframe.choices.sentences import describe_model
from costframe.choices.tables import distinct_points

__all__ = ["describe_model", "distinct_points"]

COSTS = {
    "unit": "CAD",
    "features": {
        "a": 1.0,
        "b": {"cost": 2.0, "needs": ["draw"]},
        "c": {"cost": 0.5, "needs": ["draw"]},
        "d": 10.0,
    },
    "resources": {"draw": 4.0},
}


def some_rows(n=400, seed=0):
    """Rows whose classes follow from `a` roughly and from all four exactly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] * (X[:, 0] > 0) + 0.5 * X[:, 3] + 0.3 * X[:, 2] > 0).astype(int)


def point(score, cost, tradeoff=0.1, *, algorithm="miser", **more):
    values = {"score_error": 0.0, "test_score": score, "test_error": 0.01, "test_cost": cost, "fixed": 0.0}
    values |= {"n_features": 1, "n_learners": 1, "rounds": 1.0, "seconds": 0.1} | more
    return Point(algorithm, tradeoff, score, cost=cost, **values)
