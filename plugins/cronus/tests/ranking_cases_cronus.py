"""Rows and prices that tests of rankers share."""

import numpy as np

import costframe as cf

NAMES = tuple("abcdef")
COSTS = cf.CostModel.from_dict({
    "features": dict.fromkeys("abc", 1.0) | {name: {"cost": 2.0, "needs": ["lab"]} for name in "def"},
    "resources": {"lab": 20.0},
})  # fmt: skip


def table(seed, n_queries=40, size=15):
    """Grades 0 to 4, most of them 0; cheap columns tell roughly, dear ones the rest; queries do not lie together."""
    rng = np.random.default_rng(seed)
    n = n_queries * size
    X = rng.standard_normal((n, 6))
    y = np.clip(np.floor(X[:, 0] + X[:, 1] + X[:, 3] + X[:, 4]), 0, 4)
    X[:, :2] += 0.4 * rng.standard_normal((n, 2))
    return X, y, rng.permutation(np.repeat(np.arange(n_queries), size))
