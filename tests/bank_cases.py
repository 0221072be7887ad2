"""Rows, prices and a bank from other rows, for algorithms that weigh banks."""

from functools import cache

import numpy as np

import costframe as cf

NAMES = tuple("abcdefgh")
COSTS = cf.CostModel.from_dict({
    "features": dict.fromkeys("abcd", 1.0) | {name: {"cost": 2.0, "needs": ["lab"]} for name in "efgh"},
    "resources": {"lab": 20.0}, "learner": 0.01,
})  # fmt: skip
EVERY_PRICE = cf.CostModel.from_dict({
    "features": dict.fromkeys("abcd", 1.0) | {name: {"cost": 2.0, "needs": ["lab"], "once": 30.0} for name in "efgh"},
    "resources": {"lab": {"cost": 10.0, "needs": ["visit"]}, "visit": 3.0}, "learner": 0.01, "split": 0.02,
})  # fmt: skip

CHOOSING = ("weights_are_repetitions", "threads_change_nothing", "unit_of_prices_is_free", "zero_prices_are_plain")
"""The kit's laws that settings chosen on held-out rows may break."""


def table(seed, n):
    """One row in seven is positive; a cheap look tells most of the others apart, a dear one the rest."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8))
    y = (X[:, 0] + X[:, 1] > 0.5) & (X[:, 4] + X[:, 5] > 0.2)
    X[:, [0, 1]] += 0.4 * rng.standard_normal((n, 2))
    return X, y.astype(int)


@cache
def boosted(n_estimators=100, n=2000):
    """Trees on other rows than the tests'."""
    X, y = table(0, n)
    return cf.train_bank(
        X, 2.0 * y - 1, engine="xgboost", n_estimators=n_estimators, learning_rate=0.3, max_features=0.25, max_depth=3,
        feature_names=NAMES,
    )  # fmt: skip
