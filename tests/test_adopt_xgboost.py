from __future__ import annotations

import json

import numpy as np
import pytest
import xgboost as xgb
from hypothesis import given
from hypothesis import strategies as st
from naive_adopt import magnitude, nasty_rows, outputs, parts, scores, walk

from costframe.adoption.xgboost.adopt import adopt_xgboost, adopt_xgboost_file
from costframe.core.errors import AdoptionError

EPS32 = float(np.finfo(np.float32).eps)
N_ROWS, N_FEATURES = 240, 4
RNG = np.random.default_rng(7)
X = np.round(RNG.normal(size=(N_ROWS, N_FEATURES)), 1)  # few distinct values: many ties
X[RNG.random(X.shape) < 0.1] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * np.isnan(X[:, 2]) + 0.3 * RNG.normal(size=N_ROWS)
TARGETS = {
    "real": SIGNAL,
    "positive": np.abs(SIGNAL) + 0.1,
    "two": (SIGNAL > 0.2).astype(float),
    "three": np.digitize(SIGNAL, [-0.5, 0.5]).astype(float),
    "pair": np.column_stack([SIGNAL, np.abs(SIGNAL)]),
    "labels": np.column_stack([SIGNAL > 0, SIGNAL > 0.5]).astype(float),
}
SOFTPROB = {"objective": "multi:softprob", "num_class": 3}
SOFTMAX = {"objective": "multi:softmax", "num_class": 3}
BINARY = {"objective": "binary:logistic"}
DART = {"booster": "dart", "rate_drop": 0.5, "one_drop": 1}
FOREST = {"num_parallel_tree": 3, "subsample": 0.6, "colsample_bynode": 0.7}

CASES = {
    "binary, hist": ("two", BINARY | {"tree_method": "hist"}, "sigmoid"),
    "binary, exact": ("two", BINARY | {"tree_method": "exact"}, "sigmoid"),
    "binary, exact, pruned": ("two", BINARY | {"tree_method": "exact", "gamma": 2.0, "max_depth": 5}, "sigmoid"),
    "binary, leaf by leaf": ("two", BINARY | {"grow_policy": "lossguide", "max_leaves": 7, "max_depth": 0}, "sigmoid"),
    "binary, base_score": ("two", BINARY | {"base_score": 0.3}, "sigmoid"),
    "binary, tiny base_score": ("two", BINARY | {"base_score": 1e-7}, "sigmoid"),
    "binary, forest": ("two", BINARY | FOREST, "sigmoid"),
    "binary, dart": ("two", BINARY | DART, "sigmoid"),
    "binary, raw": ("two", {"objective": "binary:logitraw"}, "identity"),
    "logistic regression": ("two", {"objective": "reg:logistic"}, "sigmoid"),
    "multiclass": ("three", SOFTPROB, "softmax"),
    "multiclass labels": ("three", SOFTMAX, "softmax"),
    "multiclass, forest": ("three", SOFTPROB | FOREST, "softmax"),
    "multiclass, dart": ("three", SOFTPROB | DART, "softmax"),
    "multiclass, vector leaves": ("three", SOFTPROB | {"multi_strategy": "multi_output_tree"}, "softmax"),
    "regression": ("real", {}, "identity"),
    "regression, pruned": ("real", {"tree_method": "exact", "gamma": 1.0, "max_depth": 6}, "identity"),
    "regression, absolute": ("real", {"objective": "reg:absoluteerror"}, "identity"),
    "regression, logarithmic": ("positive", {"objective": "reg:squaredlogerror"}, "identity"),
    "regression, quantile": ("real", {"objective": "reg:quantileerror", "quantile_alpha": 0.3}, "identity"),
    "regression, two outputs": ("pair", {}, "identity"),
    "regression, vector leaves": ("pair", {"multi_strategy": "multi_output_tree"}, "identity"),
    "regression, three quantiles": (
        "real",
        {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]},
        "identity",
    ),
    "multi-label": ("labels", BINARY, "sigmoid"),
    "hinge": ("two", {"objective": "binary:hinge"}, "step"),
    "counts": ("positive", {"objective": "count:poisson"}, "exp"),
    "gamma": ("positive", {"objective": "reg:gamma", "base_score": 0.3}, "exp"),
    "hazards": ("positive", {"objective": "survival:cox"}, "exp"),
    "failure times": ("positive", {"objective": "survival:aft", "base_score": 0.3}, "exp"),
    "rank, ndcg": ("two", {"objective": "rank:ndcg"}, "identity"),
}


def train(target, parameters, rounds=6, rows=X):
    defaults = {"max_depth": 3, "nthread": 1, "verbosity": 0, "seed": 3}
    data = xgb.DMatrix(rows, TARGETS[target])
    if parameters.get("objective", "").startswith("rank:"):
        data.set_info(group=[40] * (N_ROWS // 40))
    if parameters.get("objective") == "survival:aft":
        data.set_info(label_lower_bound=TARGETS[target], label_upper_bound=TARGETS[target])
    return xgb.train(defaults | parameters, data, rounds)


def assert_equal_in_float32(adopted, rows, margin):
    """The same bits; only to rounding for dart in place, which takes the base score off and puts it back."""
    ours = scores(adopted, walk(adopted.table, rows), np.float32)
    error = np.abs(ours - margin.reshape(len(rows), -1))
    dart = not np.isin(adopted.weights, (0, 1)).all()
    assert error.max() <= dart * 2 * len(adopted.table) * EPS32 * magnitude(adopted)


def trees_of(booster):
    boosting = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]
    return boosting.get("gbtree", boosting)["model"]["trees"]


@pytest.fixture(scope="module", params=CASES)
def case(request):
    target, parameters, link = CASES[request.param]
    booster = train(target, parameters)
    return booster, parts(adopt_xgboost(booster)), link


def test_every_row_reaches_the_originals_leaf(case):
    booster, adopted, _ = case
    rows = np.concatenate([X[:60], nasty_rows(adopted.table, N_FEATURES, 90, missing=True, infinite=False)])
    theirs = booster.predict(xgb.DMatrix(rows), pred_leaf=True).reshape(len(rows), -1).astype(int)
    ours = walk(adopted.table, rows)
    for number, tree in enumerate(trees_of(booster)):
        if tree["tree_param"]["num_deleted"] == "0":
            assert np.array_equal(ours[:, number], theirs[:, number])
            continue
        pairs = set(zip(ours[:, number].tolist(), theirs[:, number].tolist(), strict=True))
        assert len(pairs) == len({mine for mine, _ in pairs}) == len({their for _, their in pairs})
        held = np.array(tree["split_conditions"], np.float32)[theirs[:, number]]
        assert np.array_equal(outputs(adopted.table, ours)[number][:, 0], held)


def test_scores_are_the_originals_to_the_last_bit_in_its_own_arithmetic(case):
    booster, adopted, link = case
    assert adopted.link == link
    rows = nasty_rows(adopted.table, N_FEATURES, 80, missing=True, infinite=False, seed=1)
    margin = booster.predict(xgb.DMatrix(rows), output_margin=True).reshape(len(rows), -1)
    leaves = walk(adopted.table, rows)
    assert np.array_equal(scores(adopted, leaves, np.float32), margin)
    error = np.abs(scores(adopted, leaves) - margin)
    assert error.max() <= len(adopted.table) * EPS32 * magnitude(adopted)


def test_predictions_are_the_originals(case):
    booster, _, link = case
    ours, theirs = adopt_xgboost(booster).predict(X), booster.predict(xgb.DMatrix(X))
    if link == "softmax" and theirs.ndim == 1:  # multi:softmax as labels
        assert np.array_equal(ours.argmax(axis=1), theirs)
    else:
        assert ours.shape == theirs.shape
        assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(CASES)), st.integers(1, 9), st.booleans())
def test_models_of_any_data_have_the_originals_scores(seed, name, digits, infinite):
    rng = np.random.default_rng(seed)
    target, parameters, _ = CASES[name]
    magnitudes = np.float64(10.0) ** rng.integers(-30, 30, N_FEATURES)
    rows = np.round(rng.normal(size=(N_ROWS, N_FEATURES)), digits) * magnitudes
    rows[rng.random(rows.shape) < 0.2] = np.nan
    booster = train(target, parameters | {"min_child_weight": 0, "seed": seed % 999}, rounds=2, rows=rows)
    adopted = adopt_xgboost(booster)
    nasty = nasty_rows(adopted.bank.trees, N_FEATURES, 40, missing=True, infinite=infinite, seed=seed)
    theirs = booster.inplace_predict(nasty, predict_type="margin")
    error = np.abs(adopted.decision_function(nasty) - theirs)
    assert error.max() <= 2 * len(adopted.bank) * EPS32 * magnitude(parts(adopted))


def test_exact_case_really_has_deleted_nodes():
    trees = trees_of(train(*CASES["binary, exact, pruned"][:2]))
    assert any(tree["tree_param"]["num_deleted"] != "0" for tree in trees)


def test_dart_case_really_has_weights():
    adopted = parts(adopt_xgboost(train(*CASES["binary, dart"][:2])))
    assert len(set(adopted.weights.ravel())) > 1


def test_vector_leaves_are_one_learner_a_round():
    adopted = parts(adopt_xgboost(train(*CASES["multiclass, vector leaves"][:2])))
    assert adopted.table.width.tolist() == [3] * 6
    assert adopted.weights.shape == (18, 3)


WRAPPERS = {
    "classifier": (xgb.XGBClassifier(n_estimators=5, max_depth=3), "two"),
    "multiclass": (xgb.XGBClassifier(n_estimators=5, max_depth=3), "three"),
    "forest classifier": (xgb.XGBRFClassifier(n_estimators=5, max_depth=3), "three"),
    "regressor": (xgb.XGBRegressor(n_estimators=5, max_depth=3), "real"),
    "forest regressor": (xgb.XGBRFRegressor(n_estimators=5, max_depth=3), "real"),
    "dart": (xgb.XGBRegressor(n_estimators=5, booster="dart", rate_drop=0.5), "real"),
    "ranker": (xgb.XGBRanker(n_estimators=4, max_depth=3), "two"),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers(name):
    model, target = WRAPPERS[name]
    model.fit(X, TARGETS[target], **{"qid": np.arange(N_ROWS) // 40} if name == "ranker" else {})
    adopted = parts(adopt_xgboost(model))
    rows = nasty_rows(adopted.table, N_FEATURES, 80, missing=True, infinite=True)
    assert_equal_in_float32(adopted, rows, model.predict(rows, output_margin=True))


@pytest.mark.parametrize(
    ("model", "target", "classes"),
    [
        (xgb.XGBClassifier(n_estimators=2), "two", [0, 1]),
        (xgb.XGBRFClassifier(n_estimators=2), "three", [0, 1, 2]),
        (xgb.XGBClassifier(n_estimators=2, objective="binary:hinge"), "two", [0, 1]),
        (xgb.XGBClassifier(n_estimators=2, booster="gblinear"), "three", [0, 1, 2]),
        (xgb.XGBClassifier(n_estimators=2, objective="binary:logitraw"), "two", None),
        (xgb.XGBClassifier(n_estimators=2), "labels", None),
        (xgb.XGBRegressor(n_estimators=2), "two", None),
    ],
)
def test_classifiers_give_the_labels_of_their_classes(model, target, classes, tmp_path):
    model.fit(X, TARGETS[target])
    model.save_model(tmp_path / "model.ubj")
    saved = adopt_xgboost_file((tmp_path / "model.ubj").read_bytes(), "model.ubj")
    for adopted in (adopt_xgboost(model), saved):
        assert (None if adopted.classes is None else adopted.classes.tolist()) == classes


@pytest.mark.parametrize("parameters", [{}, {"booster": "dart", "rate_drop": 0.3}], ids=["gbtree", "dart"])
@pytest.mark.parametrize("target", ["two", "three"])
def test_early_stopping_cuts_a_wrapper_where_its_own_predict_does(target, parameters):
    model = xgb.XGBClassifier(n_estimators=40, early_stopping_rounds=3, learning_rate=0.8, **parameters)
    shuffled = RNG.permutation(TARGETS[target])
    model.fit(X, TARGETS[target], eval_set=[(X, shuffled)], verbose=False)
    adopted, whole = parts(adopt_xgboost(model)), parts(adopt_xgboost(model.get_booster()))
    assert len(adopted.table) < len(whole.table)
    assert_equal_in_float32(adopted, X, model.predict(X, output_margin=True))
    margin = model.get_booster().predict(xgb.DMatrix(X), output_margin=True).reshape(N_ROWS, -1)
    assert np.array_equal(scores(whole, walk(whole.table, X), np.float32), margin)


@pytest.mark.parametrize(
    ("target", "parameters"),
    [
        ("real", {}),
        ("two", BINARY | {"base_score": 0.3}),
        ("three", SOFTPROB),
        ("pair", {"alpha": 0.5}),
        ("positive", {"objective": "count:poisson"}),
    ],
)
def test_linear_models_are_columns_that_skip_missing_values(target, parameters):
    booster = train(target, parameters | {"booster": "gblinear"})
    adopted = adopt_xgboost(booster)
    theirs = booster.predict(xgb.DMatrix(X), output_margin=True)
    assert np.allclose(adopted.decision_function(X), theirs, rtol=1e-6, atol=1e-6)
    assert np.allclose(adopted.predict(X), booster.predict(xgb.DMatrix(X)), rtol=1e-5, atol=1e-6)
    weights = np.array(json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["weights"])
    assert len(adopted.bank) == (weights.reshape(N_FEATURES + 1, -1)[:-1] != 0).any(axis=1).sum()


def test_own_objective_is_adopted_as_raw_scores():
    data = xgb.DMatrix(X, SIGNAL)
    booster = xgb.train({"max_depth": 2}, data, 3, obj=lambda scores, d: (scores - d.get_label(), np.ones(len(scores))))
    assert np.allclose(adopt_xgboost(booster).predict(X), booster.predict(data, output_margin=True), atol=1e-6)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (xgb.Booster(), "Booster: is not fitted"),
        (
            xgb.XGBRegressor(missing=-1.0, n_estimators=2).fit(X, SIGNAL),
            r"missing=-1.0 cannot be adopted.*get_booster\(\)",
        ),
        (train("two", BINARY, rounds=0), "has no trees"),
    ],
    ids=["unfitted booster", "missing", "no rounds"],
)
def test_what_is_no_whole_model_is_refused(model, message):
    with pytest.raises(AdoptionError, match=message):
        adopt_xgboost(model)
