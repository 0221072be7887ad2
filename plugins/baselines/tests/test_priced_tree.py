"""The priced tree: the best of all trees of two tests, pairs that tell only together, prices on a way, pruning."""

import numpy as np
import pandas as pd
import pytest

import costframe as cf
from costframe.plugin import TrainingData
from costframe_baselines import PricedTreeClassifier
from costframe_baselines.priced_tree import _Grower
from costframe_baselines.split_tests import SplitTests
from costframe_baselines.tree_stakes import TreeStakes
from costframe_baselines.way_prices import WayPrices

PRICES = {
    "features": {
        "a": {"cost": 0.5, "needs": ["blood"]},
        "b": {"cost": 0.25, "needs": ["blood"], "split": 0.125},
        "c": {"cost": 1.0, "needs": ["lab"]},
        "d": 2.0,
    },
    "resources": {"blood": {"cost": 1.5, "round": 0.25}, "lab": {"cost": 0.75, "needs": ["blood"]}},
    "learner": 0.0625,
}
NAMES = [*PRICES["features"]]


def draw(seed, n=60, values=3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (n, 4)).astype(float)
    y = (X[:, 0] * X[:, 2] + X[:, 1] + (rng.random(n) < 0.1)).astype(np.int64) % 3
    return X, y, rng.integers(1, 4, n).astype(float), np.round(np.exp(rng.normal(1, 0.2, (3, 3))), 1) * (1 - np.eye(3))


def training_data(X, y, weight, errors):
    class Kept(PricedTreeClassifier):
        def _train(self, data):
            self.data = data
            return super()._train(data)

    costs = cf.CostModel.of(PRICES | {"errors": {"matrix": errors.tolist()}})
    model = Kept(costs).fit(pd.DataFrame(X, columns=NAMES), y, weight)
    assert isinstance(model.data, TrainingData)
    return model.data


def naive_price(tested):
    """Return what a row pays that is tested for these features in turn, one by one."""
    paid, total = set(), 0.0
    for place, name in enumerate(tested):
        own = PRICES["features"][name] if isinstance(PRICES["features"][name], dict) else {"cost": 2.0}
        total += own.get("split", 0.0)
        if name in tested[:place]:
            continue
        needed = {"blood"} if name in "ab" else {"blood", "lab"} if name == "c" else set()
        total += own["cost"] + sum({"blood": 1.5, "lab": 0.75}[each] for each in needed - paid)
        total += 0.25 * ("blood" in needed & paid)  # a further round
        paid |= needed
    return total + PRICES["learner"] * bool(tested)


def naive_best(X, y, weight, errors, prior):
    """Return the least loss + price over all trees of at most two tests on a way, by trying them all."""
    tests = [(f, t) for f in range(4) for t in np.unique(X[:, f])[:-1]]

    def leaf(rows):
        counts = np.bincount(y[rows], weight[rows], 3)
        total = counts.sum()
        return ((counts + prior) / (total + 1) @ errors).min() * total

    def side(rows, name):
        options = [leaf(rows) + naive_price([name]) * weight[rows].sum()]
        for f, t in tests:
            low = X[:, f] <= t
            price = naive_price([name, NAMES[f]]) * weight[rows].sum()
            options.append(leaf(rows & low) + leaf(rows & ~low) + price)
        return min(options)

    every = [leaf(np.ones(len(y), bool))]
    for f, t in tests:
        low = X[:, f] <= t
        every.append(side(low, NAMES[f]) + side(~low, NAMES[f]))
    return min(every)


@pytest.mark.parametrize("seed", range(6))
def test_two_tests_ahead_it_finds_the_best_of_all_trees(seed):
    X, y, weight, errors = draw(seed)
    data = training_data(X, y, weight, 8 * errors)
    stakes = TreeStakes.of(data, data.train, money=True)
    prices = WayPrices.of(data.prices, 1.0)
    tests = SplitTests.of(data, data.train, prices, stakes)
    tree = _Grower(data.train, tests, prices.reading(tests.columns), stakes, 2).grow(np.arange(len(y)))
    assert any(side.sides for side in tree.sides)
    prior = np.bincount(y, weight, 3) / weight.sum()
    assert tree.prune(0.0)[1] == pytest.approx(naive_best(X, y, weight, 8 * errors, prior), rel=1e-12)


def test_features_that_tell_only_together_are_bought_and_paid_once():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 4)).astype(float)
    y = (X[:, 0] != X[:, 1]).astype(int)
    costs = PRICES | {"learner": 0.0, "errors": {"0": {"1": 20.0}, "1": {"0": 20.0}}}
    frame = pd.DataFrame(X, columns=NAMES)
    model = PricedTreeClassifier(costs).fit(frame, y)
    report = model.cost(frame, y)
    assert set(model.predictor_.used_features) == {"a", "b"}
    assert report.mean_errors == 0
    np.testing.assert_allclose(report.per_row, 0.5 + 0.25 + 0.125 + 1.5)  # in one round, as every way has both


def test_noise_buys_nothing_and_dear_features_are_not_worth_an_error():
    rng = np.random.default_rng(1)
    X, errors = rng.normal(size=(400, 4)), {"errors": {"0": {"1": 20.0}, "1": {"0": 20.0}}}
    assert not PricedTreeClassifier(PRICES | errors).fit(X, rng.integers(0, 2, 400)).predictor_.used_features
    cheap = {"errors": {"0": {"1": 2.0}, "1": {"0": 2.0}}}
    assert not PricedTreeClassifier(PRICES | cheap).fit(X, (X[:, 0] > 0).astype(int)).predictor_.used_features
    used = PricedTreeClassifier(PRICES | errors).fit(X, (X[:, 0] > 0).astype(int)).predictor_.used_features
    assert list(used) == ["a"]


def test_missing_values_tell_alone_and_categories_one_by_one():
    rng = np.random.default_rng(2)
    x = rng.normal(size=300)
    x[rng.random(300) < 0.4] = np.nan
    errors = {"errors": {"0": {"1": 20.0}, "1": {"0": 20.0}}}
    frame = pd.DataFrame({"a": x, "b": rng.choice(list("stuv"), 300)})
    prices = {"features": {"a": 1.0, "b": 1.0}} | errors
    for y in (np.isnan(x), (frame.b == "t").to_numpy(), np.isnan(x) | (x > 0.5)):
        model = PricedTreeClassifier(prices).fit(frame, y.astype(int))
        assert (model.predict(frame) == y).mean() > 0.99 - 0.05 * bool((x[y] > 0.5).any())
        assert len(model.predictor_.used_features) == 1


def test_many_columns_and_rows_leave_the_best_tests():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6_000, 200))
    y = (X[:, 150] > 0.3).astype(int)
    names = [f"f{k}" for k in range(200)]
    costs = {"features": dict.fromkeys(names, 1.0), "errors": {"0": {"1": 20.0}, "1": {"0": 20.0}}}
    model = PricedTreeClassifier(costs).fit(pd.DataFrame(X, columns=names), y)
    assert list(model.predictor_.used_features) == ["f150"]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_row_has_at_most_so_many_tests(depth):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(800, 4))
    y = (X > 0).sum(axis=1)
    model = PricedTreeClassifier({"features": dict.fromkeys(NAMES, 0.001)}, tradeoff=0, max_depth=depth).fit(X, y)
    assert model.predictor_.bank.trees.node_levels().max() == depth


def test_prices_of_errors_may_be_columns():
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=(500, 2)), rng.uniform(10, 30, 500)])
    y = (X[:, 0] > 0).astype(int)
    costs = {
        "features": {"a": 1.0, "b": 1.0, "amount": 0.0},
        "errors": {"0": {"1": {"column": "amount"}}, "1": {"0": 5.0}},
    }
    frame = pd.DataFrame(X, columns=["a", "b", "amount"])
    model = PricedTreeClassifier(costs).fit(frame, y)
    assert set(model.predictor_.used_features) <= {"a", "amount"}
    constant = min(5.0 * y.mean(), (X[:, 2] * (1 - y)).mean())
    assert model.cost(frame, y).mean_bill < 0.8 * constant
