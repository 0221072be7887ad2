"""Accounts that other implementations get wrong, and all kinds of prices in one account."""

import naive_cegb
import numpy as np

from costframe_cegb import CEGBRegressor


def test_a_once_price_paid_leaves_the_gains_of_other_leaves_as_they_are():
    """The feature is free in other leaves then, and no better than that."""
    X, y, costs = naive_cegb.once_price_case()
    settings = {"n_estimators": 1, "learning_rate": 1.0, "min_samples_leaf": 1, "max_leaves": 4}
    trees = CEGBRegressor(costs, 1.0, **settings).fit(X, y).bank_.trees
    assert [int(f) for f in trees.feature if f >= 0] == [0, 1, 2]


def test_once_one_leaf_has_paid_another_splits_that_could_not_afford_to():
    """The feature gains 5 for a = 0 at a price of 4; for a = 1 it gains 1.8, less, but now it is free."""
    X, _, costs = naive_cegb.once_price_case()
    y = np.where(X[:, 0] == 0, X[:, 1], 10 + 0.6 * X[:, 1])
    settings = {"n_estimators": 1, "learning_rate": 1.0, "min_samples_leaf": 1, "max_leaves": 4}
    trees = CEGBRegressor(costs, 1.0, **settings).fit(X, y).bank_.trees
    assert [int(f) for f in trees.feature if f >= 0] == [0, 1, 1]
