"""The algorithm against its naive twin and the exact evaluator."""

import hypothesis
import naive_cegb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from price_cases import priced

import costframe as cf
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.growing.grow import grow_tree
from costframe.trees.growing.lazy_prices import LazyPrices
from costframe_cegb import CEGBClassifier, CEGBRegressor

NAMES = tuple(f"x{f}" for f in range(4))


def table(seed, n, d=4, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < missing] = np.nan
    return rng, X


def splits_in_order(tree):
    """Feature and rows of each split; a node's children are numbered when it is split."""
    rows = {node: np.flatnonzero(tree.leaf_of_row == node) for node in range(len(tree.feature))}
    inner = np.flatnonzero(tree.feature >= 0)
    for node in inner[::-1]:
        rows[node] = np.sort(np.concatenate([rows[tree.left[node]], rows[tree.right[node]]]))
    return [(int(tree.feature[node]), tuple(rows[node])) for node in inner[np.argsort(tree.left[inner])]]


@hypothesis.settings(max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from([0, 2, 3]), st.sampled_from([0.0, 0.3]), priced(NAMES))
def test_the_cached_search_equals_brute_force_after_every_split(seed, n_classes, missing, costs_and_tradeoff):
    """Rounds of best-first trees at all prices: same splits in the same leaves, same charges, row by row."""
    costs, lam = costs_and_tradeoff
    rng, X = table(seed, 24, missing=missing)
    w = rng.uniform(1, 2, 24)
    y = rng.standard_normal(24) if n_classes == 0 else np.arange(24) % n_classes
    book, prices = naive_cegb.Book(costs, NAMES, 24), LazyPrices(costs.select(NAMES), lam, 24, w)
    data = BinMapper.fit(X, sample_weight=w).transform(X)
    scores = rng.standard_normal((24, max(1, n_classes if n_classes > 2 else 1)))
    for _ in range(2):
        gradients, hessians = naive_cegb.derivatives(y, scores, n_classes)
        for k in range(scores.shape[1]):
            g, h = gradients[:, k] * w, hessians[:, k] * w
            values, order = naive_cegb.grow(X, g, h, w, book, lam, 5, 0.5, 2)
            tree = grow_tree(data, g, h, prices=prices, max_leaves=5, l2=0.5, min_samples_leaf=2)
            assert splits_in_order(tree) == order
            np.testing.assert_allclose(tree.outputs[tree.leaf_of_row], values, rtol=1e-5, atol=1e-6)
            scores[:, k] += 0.5 * values
    assert prices.spent == pytest.approx((book.per_row * w).sum(), rel=1e-9, abs=1e-9)
    assert prices.fixed == pytest.approx(book.fixed)


@hypothesis.settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    priced(NAMES),
    st.sampled_from([1.0, 0.7, 0.3]),
    st.sampled_from([0, 2, 3]),
    st.booleans(),
    st.sampled_from(["best", "breadth"]),
)
def test_what_training_believes_it_pays_is_what_is_paid(
    seed, costs_and_tradeoff, subsample, n_classes, weighted, growth
):
    """For every kind of price; rows that a tree was not grown on pass through it and pay as well."""
    costs, lam = costs_and_tradeoff
    rng, X = table(seed, 60, missing=0.2)
    y = rng.standard_normal(60) + np.nan_to_num(X[:, 0]) if n_classes == 0 else np.arange(60) % n_classes
    kind = CEGBClassifier if n_classes else CEGBRegressor
    settings = {"n_estimators": 6, "learning_rate": 0.5, "max_leaves": 6, "min_samples_leaf": 3, "growth": growth}
    model = kind(costs, lam, subsample=subsample, max_features=subsample, random_state=seed, **settings)
    weight = rng.integers(1, 4, 60).astype(float) if weighted else None
    model.fit(X, y, weight)
    report = model.cost(X, sample_weight=weight)
    assert model.believed_cost_ == pytest.approx(report.mean, rel=1e-9, abs=1e-9)
    assert model.believed_fixed_ == pytest.approx(report.fixed)


def test_a_once_price_paid_makes_other_leaves_cheaper_by_what_they_were_charged():
    """With a once-price alone, the second split on the feature is made at exactly its gain, in any leaf."""
    X = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0) for _ in range(10)])
    y = 10 * X[:, 0] + X[:, 1]  # splitting on b gains 2.5 in each half, together less than its price
    costs = cf.CostModel.from_dict({"features": {"a": 0.0, "b": {"cost": 0.0, "once": 2.4}}})
    settings = {"n_estimators": 1, "learning_rate": 1.0, "min_samples_leaf": 1, "max_leaves": 4}
    bought = CEGBRegressor(costs, 1.0, **settings).fit(X, y)
    assert len(bought.bank_.trees.values) == 4  # 2.5 > 2.4 pays in the first half, then it is free in the second
    assert bought.cost(X).fixed == 2.4
    dearer = cf.CostModel.from_dict({"features": {"a": 0.0, "b": {"cost": 0.0, "once": 2.6}}})
    assert len(CEGBRegressor(dearer, 1.0, **settings).fit(X, y).bank_.trees.values) == 2


def test_rows_pay_for_a_resource_once_and_lazily():
    X = np.array([[a, b, c] for a in (0.0, 1.0) for b in (0.0, 1.0) for c in (0.0, 1.0) for _ in range(10)])
    y = np.where(X[:, 0] == 1, 4 * X[:, 1] + 2 * X[:, 2], 0.0) + 20 * X[:, 0]
    costs = cf.CostModel.from_dict(
        {
            "features": {"a": 0.0, "b": {"cost": 0.0, "needs": ["r"]}, "c": {"cost": 0.0, "needs": ["r"]}},
            "resources": {"r": {"cost": 0.5, "needs": ["s"]}, "s": 0.5},
        }
    )
    model = CEGBRegressor(costs, 1.0, n_estimators=1, learning_rate=1.0, min_samples_leaf=1).fit(X, y)
    report = model.cost(X)
    assert report.by_resource == {"r": 0.25, "s": 0.25}  # only the half with a = 1, and once for b and c together
    assert model.believed_cost_ == report.mean == 0.5


@pytest.mark.parametrize("n_classes", [0, 2])
@pytest.mark.parametrize("weights", [(1, 4), (4, 5)])
def test_whole_weights_are_repetitions_for_the_least_number_of_rows_too(n_classes, weights):
    rng, X = table(8, 120, missing=0.1)
    signal = np.nan_to_num(X[:, 0]) + 0.5 * rng.standard_normal(120)
    weight = rng.integers(*weights, 120)
    again = np.repeat(np.arange(120), weight)
    kind, y = (CEGBClassifier, (signal > 0).astype(int)) if n_classes else (CEGBRegressor, signal)
    for least in (1, 7, 30):
        settings = {"tradeoff": 1e-3, "n_estimators": 5, "min_samples_leaf": least}
        weighted, repeated = kind(**settings).fit(X, y, weight), kind(**settings).fit(X[again], y[again])
        np.testing.assert_allclose(
            weighted.predictor_.decision_function(X), repeated.predictor_.decision_function(X), rtol=1e-6, atol=1e-6
        )


def test_weights_that_are_not_whole_say_nothing_about_the_number_of_rows():
    rng, X = table(8, 120)
    y = X[:, 0] + 0.5 * rng.standard_normal(120)
    settings = {"tradeoff": 1e-3, "n_estimators": 5, "min_samples_leaf": 10}
    plain, light = CEGBRegressor(**settings).fit(X, y), CEGBRegressor(**settings).fit(X, y, np.full(120, 0.125))
    np.testing.assert_allclose(plain.predict(X), light.predict(X), rtol=1e-6)
