"""Greedy Miser: the kit's laws and scikit-learn's checks, a naive twin, an outside oracle, and its own promises."""

import hypothesis
import naive_trees as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit_cases import parametrize_laws
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import costframe as cf
from costframe import CostframeError
from costframe_miser import MiserClassifier, MiserRanker, MiserRegressor

WEIGHTED = {"check_class_weight_classifiers": "sets n_iter_no_change without validation data; here that is an error"}


@parametrize_laws("miser")
def test_laws(check):
    check()


@parametrize_with_checks(  # the shell of all boosted estimators, of each task
    [kind(n_estimators=20) for kind in (MiserClassifier, MiserRegressor, MiserRanker)],
    expected_failed_checks=lambda estimator: WEIGHTED if isinstance(estimator, MiserClassifier) else {},
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn(estimator, check):
    check(estimator)


def table(seed, n, d, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < missing] = np.nan
    return rng, X


def priced(d, rng):
    features = {
        f"x{f}": {"cost": float(rng.choice([0, 0.5, 1, 4])), "needs": ["r"] if f % 2 else [], "once": 0.25}
        for f in range(d)
    }
    return cf.CostModel.from_dict({"features": features, "resources": {"r": {"cost": 2.0, "needs": ["s"]}, "s": 1.0}})


def residuals(y, H, n_classes):
    if n_classes == 0:
        return y[:, None] - H
    if n_classes == 2:
        return y[:, None] - 1 / (1 + np.exp(-H))
    e = np.exp(H - H.max(axis=1, keepdims=True))
    return np.eye(n_classes)[y] - e / e.sum(axis=1, keepdims=True)


def miser(X, y, w, costs, lam, eta, rounds, depth, n_classes):
    """Scores of the training rows by the book, and the features split on, tree by tree."""
    prices, n, share = costs.select(costs.names), w.sum(), np.array([w[y == k].sum() for k in range(n_classes)])
    start = [w @ y / n] if n_classes == 0 else np.log(share / n if n_classes > 2 else share[1:] / share[0])
    purse = naive.Prices(
        lam * (n * prices.cost + prices.once), lam * n * prices.resource_cost,
        [set(np.flatnonzero(row)) for row in prices.needs], [0.0] * 9, 0.0, 0.0, w,
    )  # fmt: skip
    cuts = [naive.thresholds(x, np.ones(len(x)), 255) for x in X.T]
    bins = [[naive.bin_of(x, cut) for x, cut in zip(row, cuts, strict=True)] for row in X]
    H, trees = np.tile(start, (len(y), 1)), []
    for _ in range(rounds):
        r = residuals(y, H, n_classes)
        for k in range(H.shape[1]):
            tree = naive.Tree(
                bins, [len(cut) for cut in cuts], -w * r[:, k], w, purse, rows=range(len(y)),
                features=range(X.shape[1]), growth="breadth", depth=depth, leaves=99, l2=0.0, min_rows=1, min_hessian=0,
            )  # fmt: skip
            if len(tree.nodes) > 1:  # a constant is no learner
                H[:, k] += eta * np.array(tree.outputs)[tree.leaf_of_row]
                trees.append([node[0] for node in tree.nodes if node[0] >= 0])
    return H, trees


@hypothesis.settings(max_examples=25)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0, 2, 3]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([0.0, 1e-3, 0.01, 0.05, 0.3]),
)
def test_equals_the_naive_twin(seed, n_classes, missing, lam):
    rng, X = table(seed, 30, 4, missing)
    y = rng.standard_normal(30) + np.nan_to_num(X[:, 0]) if n_classes == 0 else np.arange(30) % n_classes
    w, costs = rng.uniform(1, 2, 30), priced(4, rng)
    settings = {"n_estimators": 4, "learning_rate": 0.5, "max_depth": 2, "min_samples_leaf": 1}
    model = (MiserClassifier if n_classes else MiserRegressor)(costs, lam, **settings).fit(X, y, w)
    scores, expected = miser(X, y, w, costs, lam, 0.5, 4, 2, n_classes)
    trees = model.predictor_.bank.trees
    found = [[int(f) for f in trees.feature[a:b] if f >= 0] for a, b in zip(trees.first, trees.first[1:], strict=False)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
    np.testing.assert_allclose(model.predictor_.decision_function(X).reshape(30, -1), scores, rtol=1e-4, atol=1e-5)


def test_at_tradeoff_zero_it_is_plain_gradient_boosting():
    _, X = table(0, 200, 5)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    ours = MiserRegressor(tradeoff=0, n_estimators=40, learning_rate=0.3, min_samples_leaf=1).fit(X, y).predict(X)
    oracle = GradientBoostingRegressor(n_estimators=40, learning_rate=0.3, max_depth=3).fit(X, y).predict(X)
    np.testing.assert_allclose(ours, oracle, atol=2e-4)


def test_a_weight_of_two_counts_as_two_rows_in_a_leaf_and_class_weights_are_sample_weights():
    X, y = [[0.0], [1.0]], [0.0, 1.0]
    settings = {"tradeoff": 0, "n_estimators": 1, "min_samples_leaf": 4}
    assert len(MiserRegressor(**settings).fit(X, y, [4, 4]).bank_) == 1
    assert len(MiserRegressor(**settings).fit(X, y, [3, 5]).bank_) == 0
    with pytest.raises(CostframeError, match="two leaves of 4 need a total sample weight of 8"):
        MiserRegressor(**settings).fit(X * 4, y * 4, np.full(8, 0.1))
    _, X = table(1, 200, 3)
    y = (X[:, 0] > 0.3).astype(int)
    weighted = MiserClassifier(n_estimators=5, class_weight={0: 3.0, 1: 1.0}).fit(X, y)
    repeated = MiserClassifier(n_estimators=5).fit(X, y, np.where(y == 0, 3.0, 1.0))
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    for weights in ({0: -1.0, 1: 1.0}, {7: 1.0}, "uneven"):
        with pytest.raises(CostframeError, match="class_weight: "):
            MiserClassifier(class_weight=weights).fit(X, y)
    with pytest.raises(CostframeError, match="shrink_recurring: has no effect"):
        MiserClassifier(shrink_recurring=True).fit(X, y)
    with pytest.raises(CostframeError, match="y: expected grades from 0 to 100"):
        MiserRanker().fit(X, y + 1000)


@pytest.mark.parametrize("scoring", [None, "roc_auc", lambda y, p: -abs(y - p).mean()])
def test_early_stopping_keeps_the_best_prefix_by_what_is_watched(scoring):
    rng, X = table(5, 300, 6)
    y = (X[:, 0] + rng.standard_normal(300) > 0).astype(int)
    usual = {"tradeoff": 0, "n_estimators": 100}
    model = MiserClassifier(n_iter_no_change=10, scoring=scoring, **usual)
    model.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    assert 0 < len(model.bank_) == model.n_iter_ < 100
    if scoring is None:
        losses = [
            -np.log(other.fit(X[:200], y[:200]).predict_proba(X[200:])[np.arange(100), y[200:]]).mean()
            for rounds in (model.n_iter_, model.n_iter_ - 3, model.n_iter_ + 3, 100)
            for other in [MiserClassifier(**usual | {"n_estimators": rounds})]
        ]
        assert losses[0] == min(losses)
