"""Monotone constraints: predictions rise and fall as told, and trees are those of xgboost."""

import numpy as np
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe_cegb import CEGBClassifier, CEGBRanker, CEGBRegressor

pytestmark = pytest.mark.engine


def table(seed, n=200, d=3, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < missing] = np.nan
    return rng, X


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["number", "class", "ranking"]),
    st.tuples(st.sampled_from([-1, 0, 1]), st.sampled_from([-1, 1]), st.just(0)),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([0.0, 1e-2]),
    st.sampled_from(["best", "breadth"]),
    st.booleans(),
)
def test_predictions_are_monotone(seed, kind, signs, missing, tradeoff, growth, named):
    """Along each constrained feature, whatever the others are, although the labels say otherwise.

    What rises must do so for every category of another feature, below tests for categories and above them.
    """
    rng, X = table(seed, missing=missing)
    X[:, 2] = rng.choice([0.0, 1.0, 2.0, np.nan], 200) if named else X[:, 2]
    full = np.nan_to_num(X)
    signal = np.sin(3 * full[:, 0]) - full[:, 1] * (full[:, 2] == 1 if named else full[:, 2])
    signal += 0.3 * rng.standard_normal(200)
    y = {"number": signal, "class": (signal > 0).astype(int), "ranking": np.digitize(signal, [-1, 0, 1])}[kind]
    model = {"number": CEGBRegressor, "class": CEGBClassifier, "ranking": CEGBRanker}[kind](
        None, tradeoff, n_estimators=8, learning_rate=0.5, min_samples_leaf=2, growth=growth,
        monotone_constraints=signs, categorical_features=[2] if named else None,
    )  # fmt: skip
    model.fit(X, y, **({"qid": np.arange(200) // 20} if kind == "ranking" else {}))
    assert model.believed_cost_ == pytest.approx(model.cost(X).mean)
    if named:
        assert np.isnan(model.bank_.trees.threshold[model.bank_.trees.feature == 2]).all()
    for feature in (0, 1):
        lines = np.repeat(X[:10], 60, axis=0)
        lines[:, feature] = np.tile(np.linspace(-3, 3, 60), 10)
        steps = np.diff(model.predictor_.decision_function(lines).reshape(10, 60), axis=1)
        assert (signs[feature] * steps >= 0).all()


@pytest.mark.parametrize("seed", range(2))
def test_a_tree_is_that_of_xgboost(seed):
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
    plain, none, named, listed = (
        CEGBRegressor(costs, n_estimators=5, monotone_constraints=given).fit(X, y).predict(X)
        for given in (None, [0, 0, 0], {"a": 1}, [1, 0, 0])
    )
    assert np.array_equal(plain, none)
    assert np.array_equal(named, listed)
    assert not np.array_equal(named, plain)


@pytest.mark.parametrize(
    ("given_", "words"), [([1, 0, 2], "-1, 0 or 1 for"), ({"q": 1}, "names of"), ("rising", "one")]
)
def test_what_makes_no_sense_is_refused(given_, words):
    _, X = table(0)
    with pytest.raises(cf.CostframeError, match=f"monotone_constraints: expected {words}"):
        CEGBRegressor(monotone_constraints=given_).fit(X, X[:, 0])
    with pytest.raises(cf.CostframeError, match="monotone_constraints: expected None for more than two classes"):
        CEGBClassifier(monotone_constraints=[1, 0, 0]).fit(X, np.arange(200) % 3)
