"""The algorithm against its naive twin, outside oracles, and its own laws."""

import hypothesis
import naive_miser
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.ensemble import GradientBoostingRegressor

import costframe as cf
from costframe.core.errors import CostframeError
from costframe_miser import MiserClassifier, MiserRegressor

KINDS = {0: MiserRegressor, 2: MiserClassifier, 3: MiserClassifier}


def table(seed, n, d, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < missing] = np.nan
    return rng, X


def priced(d, rng):
    return cf.CostModel.from_dict(
        {
            "features": {
                f"x{f}": {"cost": float(rng.choice([0, 0.5, 1, 4])), "needs": ["r"] if f % 2 else [], "once": 0.25}
                for f in range(d)
            },
            "resources": {"r": {"cost": 2.0, "needs": ["s"]}, "s": 1.0},
        }
    )


def splits(predictor):
    """Features that each tree splits on, in the order in which breadth-first growth made the splits."""
    trees = predictor.bank.trees
    return [
        [int(f) for f in trees.feature[a:b] if f >= 0] for a, b in zip(trees.first[:-1], trees.first[1:], strict=True)
    ]


@hypothesis.settings(max_examples=40)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0, 2, 3]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([0.0, 1e-3, 0.01, 0.05, 0.3]),
    st.booleans(),
)
def test_equals_the_naive_twin(seed, n_classes, missing, lam, weighted):
    rng, X = table(seed, 30, 4, missing)
    y = rng.standard_normal(30) + np.nan_to_num(X[:, 0]) if n_classes == 0 else np.arange(30) % n_classes
    w = rng.uniform(1, 2, 30) if weighted or n_classes else np.ones(30)  # classes alone would tie all the time
    costs = priced(4, rng)
    settings = {"n_estimators": 4, "learning_rate": 0.5, "max_depth": 2, "min_samples_leaf": 1}
    model = KINDS[n_classes](costs, lam, **settings).fit(X, y, w)
    scores, orders = naive_miser.miser(X, y, w, costs, costs.names, lam, 0.5, 4, 2, n_classes)
    assert sorted(map(sorted, splits(model.predictor_))) == sorted(map(sorted, orders))
    found = model.predictor_.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(found, scores, rtol=1e-4, atol=1e-5)


def test_at_tradeoff_zero_it_is_plain_gradient_boosting():
    _, X = table(0, 200, 5)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    ours = MiserRegressor(tradeoff=0, n_estimators=40, learning_rate=0.3, min_samples_leaf=1).fit(X, y).predict(X)
    oracle = GradientBoostingRegressor(n_estimators=40, learning_rate=0.3, max_depth=3).fit(X, y).predict(X)
    np.testing.assert_allclose(ours, oracle, atol=2e-4)


def test_a_feature_bought_by_one_class_is_free_for_the_others():
    X, y = load_wine(return_X_y=True)
    model = MiserClassifier(tradeoff=0.05, n_estimators=20).fit(X, y)
    first_use, late = {}, 0
    for t, order in enumerate(splits(model.predictor_)):
        for f in order:
            late += f not in first_use and t > 0
            first_use.setdefault(f, t)
    assert model.predictor_.n_outputs == 3
    assert len(first_use) < X.shape[1]  # the price kept some out
    report = model.cost(X)
    assert report.mean <= len(first_use)
    alone = MiserClassifier(cf.CostModel.uniform([f"x{f}" for f in range(13)], 3.0), 0.05, n_estimators=20).fit(X, y)
    assert len(alone.predictor_.layout.used) <= len(first_use)


def test_a_resource_makes_its_other_features_free():
    """Two features together repay the shared resource; with prices of their own, no second one is bought."""
    _, X = table(3, 400, 2)
    y = X[:, 0] + X[:, 1]
    shared = {"features": {"a": {"cost": 0, "needs": ["r"]}, "b": {"cost": 0, "needs": ["r"]}}, "resources": {"r": 3.0}}
    model = MiserRegressor(shared, 0.1, n_estimators=30).fit(X, y)
    report = model.cost(X)
    assert report.by_resource == {"r": 3.0}
    assert report.mean == 3.0
    assert set(model.predictor_.layout.used) == {0, 1}


def test_prices_that_recur_hold_back_growth():
    _, X = table(1, 300, 3)
    y = X[:, 0] + 0.1 * X[:, 1]
    free = {"features": {"a": 0.0, "b": 0.0, "c": 0.0}}

    def size(shrink=None, **prices):
        model = MiserRegressor(free | prices, 0.01, n_estimators=60, shrink_recurring=shrink).fit(X, y)
        return int((model.bank_.trees.feature >= 0).sum())

    assert size() > size(split=0.1) > size(split=1.0)
    assert size() > size(learner=1.0)
    assert size() > size(reuse=1.0)
    assert size(learner=0.1) >= size(True, learner=0.1)
    with pytest.raises(CostframeError, match="shrink_recurring: has no effect"):
        size(True)


def test_a_weight_of_two_counts_as_two_rows_in_a_leaf():
    X, y = [[0.0], [1.0]], [0.0, 1.0]
    settings = {"tradeoff": 0, "n_estimators": 1, "min_samples_leaf": 4}
    assert len(MiserRegressor(**settings).fit(X, y, [4, 4]).bank_) == 1
    assert len(MiserRegressor(**settings).fit(X, y, [3, 5]).bank_) == 0
    with pytest.raises(CostframeError, match="two leaves of 4 need a total sample weight of 8"):
        MiserRegressor(**settings).fit(X * 4, y * 4, np.full(8, 0.1))


def test_early_stopping_keeps_the_best_prefix():
    rng, X = table(5, 300, 6)
    y = (X[:, 0] + rng.standard_normal(300) > 0).astype(int)
    valid = {"X_val": X[200:], "y_val": y[200:]}
    full = MiserClassifier(tradeoff=0, n_estimators=200).fit(X[:200], y[:200])
    model = MiserClassifier(tradeoff=0, n_estimators=200, n_iter_no_change=10).fit(X[:200], y[:200], **valid)
    assert model.n_iter_ < full.n_iter_ == 200
    assert len(model.bank_) == model.n_iter_

    def loss(classifier):
        p = classifier.predict_proba(X[200:])[np.arange(100), y[200:]]
        return -np.log(p).mean()

    assert loss(model) < loss(full)
    shorter = MiserClassifier(tradeoff=0, n_estimators=max(1, model.n_iter_ - 3)).fit(X[:200], y[:200])
    longer = MiserClassifier(tradeoff=0, n_estimators=model.n_iter_ + 3).fit(X[:200], y[:200])
    assert loss(model) <= min(loss(shorter), loss(longer))


@pytest.mark.parametrize("scoring", [None, "loss", "roc_auc", lambda y, p: -abs(y - p).mean()])
def test_scoring_chooses_what_is_watched(scoring):
    rng, X = table(5, 300, 6)
    y = (X[:, 0] + rng.standard_normal(300) > 0).astype(int)
    model = MiserClassifier(tradeoff=0.01, scoring=scoring, n_iter_no_change=5)
    model.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    assert 0 < model.n_iter_ < 300


def test_validation_cost_is_watched_exactly():
    """The monitor's running cost is the evaluator's cost of that prefix."""
    from costframe.core.cost.accounts import PrefixCost

    rng, X = table(7, 200, 5, missing=0.2)
    costs = cf.CostModel.from_dict(priced(5, rng).to_dict() | {"split": 0.1, "learner": 0.2, "reuse": 0.3})
    y = np.nan_to_num(X).sum(axis=1)
    model = MiserRegressor(costs, 1e-3, n_estimators=12).fit(X, y)
    running = PrefixCost(X, np.ones(200), costs.select(costs.names))
    for t in range(len(model.bank_)):
        running.add(model.bank_.trees.restrict([t]))
        prefix = MiserRegressor(costs, 1e-3, n_estimators=t + 1).fit(X, y)
        assert running.mean == pytest.approx(prefix.cost(X).mean, rel=1e-12)
