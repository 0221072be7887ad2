"""Rows, prices and a bank from other rows, for algorithms that weigh banks."""

from functools import cache

import numpy as np
import xgboost

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
    return bank_of_xgboost(X, 2.0 * y - 1, n_estimators, NAMES, eta=0.3, colsample_bytree=0.25)


def bank_of_xgboost(X, y, n_estimators, names, **settings):
    """Adopt the trees of xgboost, of depth 3."""
    asked = {"max_depth": 3, "tree_method": "hist", "max_bin": 255, "nthread": 1, "verbosity": 0, **settings}
    trained = xgboost.train(asked, xgboost.DMatrix(X, y), n_estimators)
    return cf.WeakLearnerBank.from_trees(cf.adopt(trained).bank.trees, names)
