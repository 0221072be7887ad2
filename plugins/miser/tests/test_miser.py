"""The algorithm against its naive twin, outside oracles, and its own laws."""

import hypothesis
import naive_miser
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.ensemble import GradientBoostingRegressor

import costframe as cf
from costframe.core.errors import CostframeError
from costframe_miser import MiserClassifier, MiserRanker, MiserRegressor

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


@pytest.mark.parametrize("kind", [MiserRegressor, MiserRanker])
def test_a_constant_target_buys_nothing(kind):
    _, X = table(0, 50, 3)
    model = kind(tradeoff=0).fit(X, np.full(50, 0.1))
    assert len(model.bank_) == 0
    assert model.cost(X).mean == 0
    np.testing.assert_allclose(model.predict(X), 0.1, rtol=1e-15)


def test_what_is_not_worth_its_price_is_not_bought():
    _, X = table(1, 300, 3)
    y = X[:, 0] + 0.5 * X[:, 1]
    costs = {"features": {"a": 1.0, "b": 1.0, "c": 1.0}}
    used = [MiserRegressor(costs, lam, n_estimators=50).fit(X, y).cost(X).mean for lam in (0.0, 0.05, 0.3, 10.0, 1e300)]
    assert used[0] > 2.0  # plain boosting looks at noise too
    assert used[1] == 2.0
    assert used[2] == 1.0
    assert used[3:] == [0.0, 0.0]


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


def test_huge_prices_and_tradeoffs_are_no_fault():
    _, X = table(1, 100, 2)
    for costs, lam in (({"features": {"a": 1e308, "b": 0.0}}, 1e300), ({"features": {"a": 1.0, "b": 0.0}}, 1.7e308)):
        assert MiserRegressor(costs, lam, n_estimators=3).fit(X, X.sum(axis=1)).cost(X).mean == 0.0


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


def test_ranker_scores_queries():
    rng, X = table(2, 400, 4)
    y = np.clip(np.round(X[:, 0] + 1), 0, 4)
    qid = np.repeat(np.arange(40), 10)
    model = MiserRanker(tradeoff=1e-3).fit(
        X[:200], y[:200], qid=qid[:200], X_val=X[200:300], y_val=y[200:300], qid_val=qid[200:300]
    )
    assert model.score(X[300:], y[300:], qid=qid[300:]) > 0.9
    shuffled = rng.permutation(100)
    again = model.score(X[300:][shuffled], y[300:][shuffled], qid=qid[300:][shuffled])
    assert again == pytest.approx(model.score(X[300:], y[300:], qid=qid[300:]))


def test_threads_do_not_change_a_bit():
    _, X = table(2, 3000, 6, missing=0.1)
    y = np.nan_to_num(X[:, 0] * X[:, 1])
    one, two = (MiserRegressor(tradeoff=1e-3, n_estimators=10, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert np.array_equal(one.bank_.trees.values, two.bank_.trees.values)
    assert np.array_equal(one.bank_.trees.threshold, two.bank_.trees.threshold)


PRICED = {
    "features": {"a": 1.0, "b": {"cost": 0.5, "needs": ["r"]}, "c": {"cost": 2.0, "needs": ["r"], "once": 3.0}},
    "resources": {"r": 4.0},
    "split": 0.01,
    "learner": 0.02,
    "reuse": 0.005,
}


def test_every_point_of_a_path_costs_what_it_says():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    filled = np.nan_to_num(X)
    y = (filled[:, 0] + filled[:, 1] * filled[:, 2] > 0).astype(int)
    model = MiserClassifier(PRICED, 0.01, n_estimators=40)
    path = model.fit_path(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert len(path.points) > 100
    for point in path.points[:: len(path.points) // 30]:
        predictor = path.predictor(point)
        assert predictor.cost(X[300:]).mean == pytest.approx(point.cost, rel=1e-12)
        p = np.clip(predictor.predict(X[300:]), 1e-15, 1)
        assert -np.mean(np.where(y[300:] == 1, np.log(p), np.log1p(-p))) == pytest.approx(point.loss)
    assert path.frontier()[0].cost == 0.0
    assert {point.tradeoff for point in path.points if point.branch == path.plain().branch} == {0.0}
    assert model.n_iter_ == path.at(0.01).n_rounds
    assert model.cost(X[300:]).mean == pytest.approx(path.at(0.01).cost, rel=1e-12)


def test_a_path_looks_ahead_for_a_dear_resource():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 9))
    y = X[:, 0] + 0.8 * X[:, 1:].sum(axis=1)
    costs = {
        "features": {"cheap": 1.0} | {f"report{f}": {"cost": 0.0, "needs": ["bureau"]} for f in range(8)},
        "resources": {"bureau": 20.0},
    }
    tradeoff = 0.03  # the report costs 0.6 of loss, more than one tree gains by it and less than all do
    greedy = MiserRegressor(costs, tradeoff, n_estimators=150).fit(X[:600], y[:600], X_val=X[600:], y_val=y[600:])
    assert greedy.cost(X).mean <= 1.0
    model = MiserRegressor(costs, tradeoff, n_estimators=150)
    for look_ahead in (False, True):
        path = model.fit_path(
            X[:600], y[:600], X_val=X[600:], y_val=y[600:], tradeoffs=(1.0, tradeoff), look_ahead=look_ahead
        )
        end = evolve(path.points[0], branch=len(path.branches) - 1, n_rounds=len(path.branches[-1].rounds))
        assert (path.predictor(end).cost(X).mean >= 20.0) == look_ahead  # of the line at prices
