"""Monotone constraints: predictions rise and fall as told, splits are those of a naive search and of xgboost."""

import numpy as np
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.growing.grow import grow_tree
from costframe_cegb import CEGBClassifier, CEGBRanker, CEGBRegressor

pytestmark = pytest.mark.engine


def table(seed, n=200, d=3, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < missing] = np.nan
    return rng, X


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["number", "class", "ranking"]),
    st.tuples(st.sampled_from([-1, 0, 1]), st.sampled_from([-1, 1]), st.just(0)),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([0.0, 1e-2]),
    st.sampled_from(["best", "breadth"]),
)
def test_predictions_are_monotone(seed, kind, signs, missing, tradeoff, growth):
    """Along each constrained feature, whatever the others are, although the labels say otherwise."""
    rng, X = table(seed, missing=missing)
    full = np.nan_to_num(X)
    signal = np.sin(3 * full[:, 0]) - full[:, 1] * full[:, 2] + 0.3 * rng.standard_normal(200)
    y = {"number": signal, "class": (signal > 0).astype(int), "ranking": np.digitize(signal, [-1, 0, 1])}[kind]
    estimator = {"number": CEGBRegressor, "class": CEGBClassifier, "ranking": CEGBRanker}[kind]
    model = estimator(
        None,
        tradeoff,
        n_estimators=10,
        learning_rate=0.5,
        min_samples_leaf=2,
        growth=growth,
        monotone_constraints=signs,
    ).fit(X, y, **({"qid": np.arange(200) // 20} if kind == "ranking" else {}))
    for feature in (0, 1):
        lines = np.repeat(X[:10], 60, axis=0)
        lines[:, feature] = np.tile(np.linspace(-3, 3, 60), 10)
        steps = np.diff(model.predictor_.decision_function(lines).reshape(10, 60), axis=1)
        assert (signs[feature] * steps >= 0).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3]), st.sampled_from([0.0, 1.0]), st.booleans())
def test_the_first_split_is_the_best_that_keeps_the_order(seed, missing, l2, unit):
    rng, X = table(seed, 20, 2, missing)
    g, h = rng.standard_normal(20), np.ones(20) if unit else rng.uniform(0.5, 2, 20)
    signs = np.array([1, -1], np.int8)
    best = (0.0, None)
    for f in range(2):
        values = np.unique(X[~np.isnan(X[:, f]), f])
        for cut in values:
            for left in (False, True):
                goes = (X[:, f] <= cut) | (np.isnan(X[:, f]) & left)
                if min(goes.sum(), (~goes).sum()) < 2:
                    continue
                low, high = (-g[part].sum() / (h[part].sum() + l2) for part in (goes, ~goes))
                if cut < values[-1] and signs[f] * (high - low) < 0:
                    continue
                parts = sum(g[part].sum() ** 2 / (h[part].sum() + l2) for part in (goes, ~goes))
                gain = 0.5 * (parts - g.sum() ** 2 / (h.sum() + l2))
                if gain > best[0] + 1e-9:
                    best = (gain, goes)
    data = BinMapper.fit(X).transform(X)
    tree = grow_tree(data, g, None if unit else h, signs=signs, max_leaves=2, l2=l2, min_samples_leaf=2)
    assert (tree.n_leaves == 1) == (best[1] is None)
    if best[1] is not None:
        values = tree.outputs[tree.leaf_of_row]
        found = sum(
            0.5 * g[part].sum() ** 2 / (h[part].sum() + l2) for part in (values == v for v in np.unique(values))
        )
        assert found - 0.5 * g.sum() ** 2 / (h.sum() + l2) == pytest.approx(best[0], rel=1e-6, abs=1e-8)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["best", "breadth"]), st.sampled_from([0.0, 1e-2]))
def test_categories_beside_constrained_features_are_split_by_sets(seed, growth, tradeoff):
    """What rises must do so for every category, below tests for categories and above them."""
    rng, X = table(seed, 300)
    X[:, 1] = rng.choice([0.0, 1.0, 2.0, 3.0, 4.0, np.nan], 300)
    effect = rng.permutation(5)[np.nan_to_num(X[:, 1]).astype(int)]
    y = effect + np.sin(3 * X[:, 0]) * (effect % 2) + 0.1 * rng.standard_normal(300)
    model = CEGBRegressor(
        None, tradeoff, n_estimators=5, learning_rate=0.5, min_samples_leaf=2, growth=growth,
        monotone_constraints=[1, 0, -1], categorical_features=[1],
    ).fit(X, y)  # fmt: skip
    on_color = model.bank_.trees.feature == 1
    assert on_color.any()
    assert np.isnan(model.bank_.trees.threshold[on_color]).all()
    assert model.believed_cost_ == pytest.approx(model.cost(X).mean)
    for feature, sign in ((0, 1), (2, -1)):
        lines = np.repeat(X[:20], 60, axis=0)
        lines[:, feature] = np.tile(np.linspace(-3, 3, 60), 20)
        assert (sign * np.diff(model.predict(lines).reshape(20, 60), axis=1) >= 0).all()


def test_the_first_split_by_categories_is_that_without_constraints():
    rng, X = table(0)
    X[:, 1] = rng.integers(0, 6, 200)
    data = BinMapper.fit(X, categorical=np.array([False, True, False])).transform(X)
    g = rng.permutation(6)[X[:, 1].astype(int)] - 2.5 + 0.1 * rng.standard_normal(200)
    free = grow_tree(data, g, max_leaves=2)
    bound = grow_tree(data, g, max_leaves=2, signs=np.array([1, 0, -1], np.int8))
    assert free.feature[0] == 1
    assert np.array_equal(free.leaf_of_row, bound.leaf_of_row)


@pytest.mark.parametrize("seed", range(4))
def test_trees_are_those_of_xgboost(seed):
    """Whose gains of clipped values and middles of bounds are the same."""
    rng, X = table(seed, 400)
    X = np.round(X, 1)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(400)
    ours = CEGBRegressor(
        tradeoff=0, n_estimators=1, learning_rate=1.0, max_leaves=12, min_samples_leaf=1, min_hessian_leaf=5.0,
        l2_regularization=1.0, monotone_constraints=[1, -1, 0],
    ).fit(X, y)  # fmt: skip
    parameters = {
        "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 12, "max_depth": 0, "eta": 1.0, "lambda": 1.0,
        "min_child_weight": 5.0, "monotone_constraints": (1, -1, 0), "base_score": float(y.mean()), "max_bin": 256,
    }  # fmt: skip
    oracle = xgboost.train(parameters, xgboost.DMatrix(X, y), 1)
    np.testing.assert_allclose(ours.predict(X), oracle.predict(xgboost.DMatrix(X)), atol=1e-5)


def test_constraints_go_by_name_and_none_is_no_constraint():
    rng, X = table(0)
    y = -X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(200)
    costs = {"features": {"a": 1.0, "b": 1.0, "c": 1.0}}
    plain = CEGBRegressor(costs, n_estimators=5).fit(X, y).predict(X)
    none = CEGBRegressor(costs, n_estimators=5, monotone_constraints=[0, 0, 0]).fit(X, y).predict(X)
    loose = CEGBRegressor(costs, n_estimators=1, monotone_constraints={"a": -1, "b": 1}, max_leaves=2).fit(X, y)
    named = CEGBRegressor(costs, n_estimators=5, monotone_constraints={"a": 1}).fit(X, y)
    listed = CEGBRegressor(costs, n_estimators=5, monotone_constraints=[1, 0, 0]).fit(X, y)
    assert np.array_equal(plain, none)
    assert np.array_equal(CEGBRegressor(costs, n_estimators=1, max_leaves=2).fit(X, y).predict(X), loose.predict(X))
    assert np.array_equal(named.predict(X), listed.predict(X))
    assert not np.array_equal(named.predict(X), plain)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ([1, 0], "expected one number for each of 3 features, got shape"),
        ([[1], [1, 0], 0], "expected one number for each feature"),
        ([1, 0, 2], "expected -1, 0 or 1 for each feature"),
        ({"q": 1}, "expected names of features, got 'q'"),
        ("rising", "expected one number for each of 3 features"),
        (["up", "down", "up"], "expected -1, 0 or 1 for each feature"),
    ],
)
def test_what_makes_no_sense_is_refused(constraints, message):
    _, X = table(0)
    with pytest.raises(cf.CostframeError, match=f"monotone_constraints: {message}"):
        CEGBRegressor(monotone_constraints=constraints).fit(X, X[:, 0])
    with pytest.raises(cf.CostframeError, match="monotone_constraints: expected None for more than two classes"):
        CEGBClassifier(monotone_constraints=[1, 0, 0]).fit(X, np.arange(200) % 3)
