"""What a hostile user gives CEGB: prices beyond doubles, queries that are none, and fits after paths."""

import numpy as np
import pytest

import costframe as cf
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.growing.grow import grow_tree
from costframe.trees.growing.lazy_prices import LazyPrices
from costframe_cegb import CEGBRegressor

QUICK = {"n_estimators": 3, "max_leaves": 4, "min_samples_leaf": 2}


@pytest.fixture
def rows():
    X = np.random.default_rng(0).standard_normal((60, 3))
    return X, X[:, 0] + X[:, 1]


@pytest.mark.parametrize(
    "costs",
    [
        {"features": {"a": {"cost": 1e300, "once": 1e300}, "b": 1e300, "c": {"cost": 0.0, "needs": ["r"]}}}
        | {"resources": {"r": 1e300}},
        {"features": dict.fromkeys("abc", 0.0), "split": 1e300},
        {"features": dict.fromkeys("abc", 0.0), "learner": 1e300},
        {"features": dict.fromkeys("abc", 1.0), "reuse": 1e300},
    ],
)
def test_at_tradeoff_zero_prices_whose_sums_are_infinite_change_nothing(rows, costs):
    X, y = rows
    weight = np.full(60, 1e10)
    free = CEGBRegressor(tradeoff=0, **QUICK).fit(X, y, weight)
    dear = CEGBRegressor(costs, tradeoff=0, **QUICK).fit(X, y, weight)
    with np.errstate(over="ignore"):
        parts = [
            CEGBRegressor(each, tradeoff=0, subsample=0.5, **QUICK).fit(X, y, weight, X_val=X, y_val=y)
            for each in (None, costs)
        ]
    assert len(free.bank_) == 3
    assert np.array_equal(free.predict(X), dear.predict(X))
    assert np.array_equal(*(part.predict(X) for part in parts))


def test_a_path_leaves_nothing_of_an_earlier_fit(rows):
    """Neither what that believed to pay, nor trees that a warm start would go on from."""
    X, y = rows
    model = CEGBRegressor(tradeoff=1e-3, warm_start=True, **QUICK).fit(X, y)
    model.set_params(warm_start=False, n_estimators=2).fit_path(X, y, X_val=X, y_val=y)
    assert not {"n_grown_", "believed_cost_", "believed_fixed_"} & set(vars(model))
    model.set_params(warm_start=True, n_estimators=1).fit(X, y)  # of three rounds it would refuse to keep one
    assert model.n_grown_ == 1
    assert model.believed_cost_ == pytest.approx(model.cost(X).mean)


class Noting:
    """Lazy prices that keep what they said."""

    def __init__(self, prices):
        self.prices_of, self.said = prices, []

    def prices(self, leaf):
        self.said.append(self.prices_of.prices(leaf))
        return self.said[-1]

    def __getattr__(self, name):
        return getattr(self.prices_of, name)


def test_what_is_paid_is_free_to_the_last_digit_whatever_the_weights(rows):
    """Weights of a leaf and of those of its rows that have paid are sums, which must round alike."""
    X, y = np.tile(rows[0], (20, 1)), np.tile(rows[1], 20)
    weight = np.random.default_rng(1).uniform(0.1, 3, len(X))
    features = {"x0": 1.0, "x1": {"cost": 1.0, "needs": ["r"]}, "x2": 1e9}
    costs = cf.CostModel.from_dict({"features": features, "resources": {"r": 2.0}})
    prices = LazyPrices(costs.select(costs.names), 0.0, len(X), weight)
    data = BinMapper.fit(X).transform(X)
    for feature in range(3):  # all rows buy it
        only = np.arange(3) == feature
        grow_tree(data, -X[:, feature] * weight, weight, prices=prices, features=only, max_leaves=2)
    prices.tradeoff = 1.0
    noting = Noting(prices)
    tree = grow_tree(data, -y * weight, weight, prices=noting, max_leaves=20)
    assert tree.n_leaves == 20
    assert not np.any(noting.said)


def test_what_is_waived_is_not_charged_once_either_but_counted(rows):
    X, y = rows
    costs = cf.CostModel.from_dict({"features": {"x0": {"cost": 1.0, "once": 1e6}, "x1": 0.0, "x2": 0.0}})
    data, tradeoff = BinMapper.fit(X).transform(X), 0.01
    for waived in (False, True):
        prices = LazyPrices(costs.select(costs.names), tradeoff, len(X))
        if waived:
            prices.mark_paid(np.array([True, False, False]), np.zeros(0, bool))
        tree = grow_tree(data, -y, prices=prices, max_leaves=4)
        assert (0 in tree.feature) == waived
        assert (prices.fixed, prices.spent > 0) == ((1e6, True) if waived else (0.0, False))
