"""Accounts that other implementations get wrong, and all kinds of prices in one account."""

import naive_cegb
import numpy as np
import pytest

import costframe as cf
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.growing.grow import grow_tree
from costframe.trees.growing.lazy_prices import LazyPrices
from costframe_cegb import CEGBClassifier, CEGBRegressor

ALL_KINDS = {
    "features": {
        "x0": {"cost": 0.3, "once": 2.0},
        "x1": {"cost": 1.0, "needs": ["r"], "split": 0.07},
        "x2": {"cost": 0.5, "needs": ["r", "t"], "once": 5.0},
        "x3": 0.0,
    },
    "resources": {"r": {"cost": 0.4, "needs": ["s"]}, "s": 0.6, "t": {"cost": 0.2, "needs": ["s"]}},
    "split": 0.01,
    "learner": 0.03,
    "reuse": 0.005,
}


@pytest.mark.parametrize("growth", ["best", "breadth"])
@pytest.mark.parametrize("subsample", [1.0, 0.7, 0.3])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_kinds_of_prices_at_once_are_paid_as_training_believes(growth, subsample, n_classes, weighted):
    """A case where every kind is really paid, and not every feature by every row."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    Z = np.nan_to_num(X)
    score = Z[:, 0] + (Z[:, 0] > 0) * 1.5 * (Z[:, 1] + Z[:, 2])
    y = score if n_classes == 0 else np.digitize(score, [-0.5, 0.5][: n_classes - 1])
    kind = CEGBClassifier if n_classes else CEGBRegressor
    settings = {"n_estimators": 4, "learning_rate": 0.5, "max_leaves": 8, "min_samples_leaf": 3, "growth": growth}
    model = kind(ALL_KINDS, 0.06, subsample=subsample, random_state=3, **settings)
    weight = rng.uniform(0.5, 3, 400) if weighted else None
    report = model.fit(X, y, weight).cost(X, sample_weight=weight)
    assert model.believed_cost_ == pytest.approx(report.mean, rel=1e-12)
    assert model.believed_fixed_ == report.fixed == 7.0
    parts = [report.evaluation.learners, report.evaluation.comparisons, report.evaluation.reuse]
    assert min(parts) > 0
    assert all(report.by_feature[name] > 0 for name in ("x0", "x1", "x2"))
    assert min(report.by_resource.values()) > 0
    assert not report.acquired.all()


def test_rows_out_of_the_bag_pay_and_have_it_free_from_then_on():
    X = np.random.default_rng(0).standard_normal((40, 4))
    names = tuple(f"x{f}" for f in range(4))
    prices = LazyPrices(cf.CostModel.uniform(names).select(names), 1.0, 40)
    data = BinMapper.fit(X).transform(X)
    g = np.where(X[:, 0] > 0, 1.0, -1.0) * 100
    half = np.arange(0, 40, 2, dtype=np.int32)
    tree = grow_tree(data, g, rows=half, prices=prices, max_leaves=2)
    prices.charge_rows(tree, half + 1)
    assert prices.spent == 40
    grow_tree(data, g, rows=half + 1, prices=prices, max_leaves=2)
    assert prices.spent == 40


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
