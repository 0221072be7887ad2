"""XGBoost's models, live and as files, against the library: every row reaches the original's leaf."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from adoption_cases import READS
from hypothesis import given
from hypothesis import strategies as st
from naive_adopt import magnitude, nasty_rows, parts, scores, walk

import costframe as cf
from costframe.errors import AdoptionError

EPS32 = float(np.finfo(np.float32).eps)
N_ROWS, N_FEATURES = 240, 4
RNG = np.random.default_rng(7)
X = np.round(RNG.normal(size=(N_ROWS, N_FEATURES)), 1)  # few distinct values: many ties
X[RNG.random(X.shape) < 0.1] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * np.isnan(X[:, 2]) + 0.3 * RNG.normal(size=N_ROWS)
TARGETS = {
    "real": SIGNAL,
    "positive": np.abs(SIGNAL) + 0.1,
    "two": (SIGNAL > 0.2).astype(int),
    "three": np.digitize(SIGNAL, [-0.5, 0.5]),
    "pair": np.column_stack([SIGNAL, np.abs(SIGNAL)]),
    "labels": np.column_stack([SIGNAL > 0, SIGNAL > 0.5]).astype(int),
}
SOFTPROB = {"objective": "multi:softprob", "num_class": 3}
BINARY = {"objective": "binary:logistic"}
DART = {"booster": "dart", "rate_drop": 0.5, "one_drop": 1}
FOREST = {"num_parallel_tree": 3, "subsample": 0.6, "colsample_bynode": 0.7}
VECTORS = {"multi_strategy": "multi_output_tree"}
QUANTILES = {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]}

CASES = {
    "binary": ("two", BINARY | {"tree_method": "hist"}, "sigmoid"),
    "binary, exact": ("two", BINARY | {"tree_method": "exact"}, "sigmoid"),
    "binary, pruned": ("two", BINARY | {"tree_method": "exact", "gamma": 2.0, "max_depth": 5}, "sigmoid"),
    "binary, leaf by leaf": ("two", BINARY | {"grow_policy": "lossguide", "max_leaves": 7, "max_depth": 0}, "sigmoid"),
    "binary, tiny base_score": ("two", BINARY | {"base_score": 1e-7}, "sigmoid"),
    "binary, forest": ("two", BINARY | FOREST, "sigmoid"),
    "binary, dart": ("two", BINARY | DART, "sigmoid"),
    "binary, raw": ("two", {"objective": "binary:logitraw"}, "identity"),
    "logistic regression": ("two", {"objective": "reg:logistic", "base_score": 0.3}, "sigmoid"),
    "multiclass": ("three", SOFTPROB, "softmax"),
    "multiclass labels": ("three", SOFTPROB | {"objective": "multi:softmax"}, "softmax"),
    "multiclass, forest": ("three", SOFTPROB | FOREST, "softmax"),
    "multiclass, dart": ("three", SOFTPROB | DART, "softmax"),
    "multiclass, vector leaves": ("three", SOFTPROB | VECTORS, "softmax"),
    "regression": ("real", {}, "identity"),
    "absolute": ("real", {"objective": "reg:absoluteerror"}, "identity"),
    "logarithmic": ("positive", {"objective": "reg:squaredlogerror"}, "identity"),
    "two outputs": ("pair", {}, "identity"),
    "vector leaves": ("pair", VECTORS, "identity"),
    "three quantiles": ("real", QUANTILES, "identity"),
    "multi-label": ("labels", BINARY, "sigmoid"),
    "hinge": ("two", {"objective": "binary:hinge"}, "step"),
    "counts": ("positive", {"objective": "count:poisson"}, "exp"),
    "gamma": ("positive", {"objective": "reg:gamma", "base_score": 0.3}, "exp"),
    "hazards": ("positive", {"objective": "survival:cox"}, "exp"),
    "failure times": ("positive", {"objective": "survival:aft", "base_score": 0.3}, "exp"),
    "ranks": ("two", {"objective": "rank:ndcg"}, "identity"),
}


def train(target, parameters, rounds=6, rows=X):
    defaults = {"max_depth": 3, "nthread": 1, "verbosity": 0, "seed": 3}
    data = xgb.DMatrix(rows, TARGETS[target])
    if parameters.get("objective", "").startswith("rank:"):
        data.set_info(group=[40] * (N_ROWS // 40))
    if parameters.get("objective") == "survival:aft":
        data.set_info(label_lower_bound=TARGETS[target], label_upper_bound=TARGETS[target])
    return xgb.train(defaults | parameters, data, rounds)


def files(booster):
    return [READS["xgboost"](bytes(booster.save_raw(form)), "model") for form in ("json", "ubj")]


@pytest.mark.parametrize("name", CASES)
def test_live_models_and_files_reach_the_originals_leaves_and_scores(name):
    """Scores are equal to the last bit in XGBoost's own float32, predictions to rounding."""
    target, parameters, link = CASES[name]
    booster = train(target, parameters)
    live = cf.adopt(booster)
    adopted = parts(live)
    rows = np.concatenate([X[:60], nasty_rows(adopted.table, N_FEATURES, 90, missing=True, infinite=False)])
    data, ours = xgb.DMatrix(rows), walk(adopted.table, rows)
    theirs = booster.predict(data, pred_leaf=True).reshape(len(rows), -1).astype(int)
    if name != "binary, pruned":  # where nodes are deleted, leaves have other numbers
        np.testing.assert_array_equal(ours, theirs)
    assert adopted.link == link
    margin = booster.predict(data, output_margin=True).reshape(len(rows), -1)
    assert np.array_equal(scores(adopted, ours, np.float32), margin)
    assert np.abs(scores(adopted, ours) - margin).max() <= len(adopted.table) * EPS32 * magnitude(adopted)
    found, said = live.predict(rows), booster.predict(data)
    if link == "softmax" and said.ndim == 1:  # multi:softmax as labels
        assert np.array_equal(found.argmax(axis=1), said)
    else:
        assert found.shape == said.shape
        assert np.allclose(found, said, rtol=1e-5, atol=1e-6)
    for one in files(booster):
        assert np.array_equal(one.predict(rows), found)


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(CASES)), st.integers(1, 9), st.booleans())
def test_models_of_any_data_have_the_originals_scores(seed, name, digits, infinite):
    rng = np.random.default_rng(seed)
    target, parameters, _ = CASES[name]
    magnitudes = np.float64(10.0) ** rng.integers(-30, 30, N_FEATURES)
    rows = np.round(rng.normal(size=(N_ROWS, N_FEATURES)), digits) * magnitudes
    rows[rng.random(rows.shape) < 0.2] = np.nan
    booster = train(target, parameters | {"min_child_weight": 0, "seed": seed % 999}, rounds=2, rows=rows)
    adopted = cf.adopt(booster)
    nasty = nasty_rows(adopted.bank.trees, N_FEATURES, 40, missing=True, infinite=infinite, seed=seed)
    theirs = booster.inplace_predict(nasty, predict_type="margin")
    error = np.abs(adopted.decision_function(nasty) - theirs)
    assert error.max() <= 2 * len(adopted.bank) * EPS32 * magnitude(parts(adopted))


@pytest.mark.parametrize("target", ["real", "two", "three", "pair", "positive"])
def test_linear_models_are_columns_that_skip_missing_values(target):
    more = {"two": BINARY | {"base_score": 0.3}, "three": SOFTPROB, "positive": {"objective": "count:poisson"}}
    booster = train(target, {"booster": "gblinear", "alpha": 0.5} | more.get(target, {}))
    data = xgb.DMatrix(X)
    for adopted in (cf.adopt(booster), *files(booster)):
        theirs = booster.predict(data, output_margin=True)
        assert np.allclose(adopted.decision_function(X), theirs, rtol=1e-6, atol=1e-6)
        assert np.allclose(adopted.predict(X), booster.predict(data), rtol=1e-5, atol=1e-6)
        weights = np.array(json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["weights"])
        assert len(adopted.bank) == (weights.reshape(N_FEATURES + 1, -1)[:-1] != 0).any(axis=1).sum()


# --- estimators --------------------------------------------------------------------------------------------------

STOPS = {"n_estimators": 30, "early_stopping_rounds": 3, "learning_rate": 1.0}
FEW = {"n_estimators": 4}
WRAPPERS = {  # with the labels that they give
    "classifier": (xgb.XGBClassifier, STOPS, "three", [0, 1, 2]),
    "two classes": (xgb.XGBClassifier, STOPS, "two", [0, 1]),
    "dart": (xgb.XGBRegressor, STOPS | {"booster": "dart", "rate_drop": 0.3}, "real", None),
    "parallel trees": (xgb.XGBClassifier, STOPS | {"num_parallel_tree": 3, "subsample": 0.7}, "three", [0, 1, 2]),
    "vectors": (xgb.XGBRegressor, STOPS | VECTORS, "pair", None),
    "ranker": (xgb.XGBRanker, STOPS, "three", None),
    "forest": (xgb.XGBRFClassifier, FEW, "three", [0, 1, 2]),
    "forest of numbers": (xgb.XGBRFRegressor, FEW, "real", None),
    "hinge": (xgb.XGBClassifier, FEW | {"objective": "binary:hinge"}, "two", [0, 1]),
    "linear": (xgb.XGBClassifier, FEW | {"booster": "gblinear", "max_depth": None}, "three", [0, 1, 2]),
    "raw": (xgb.XGBClassifier, FEW | {"objective": "binary:logitraw"}, "two", None),
    "several labels": (xgb.XGBClassifier, FEW, "labels", None),
    "regression of labels": (xgb.XGBRegressor, FEW, "two", None),
}


def fitted(name):
    """Return an estimator; if it stops early, its last rounds are worse than its best."""
    kind, settings, target, _ = WRAPPERS[name]
    model, y = kind(**{"max_depth": 3, "n_jobs": 1} | settings), TARGETS[target]
    more = {}
    if "early_stopping_rounds" in settings:
        more = {"eval_set": [(X, np.random.default_rng(1).permutation(y))], "verbose": False}
    if name == "ranker":
        more |= {"qid": np.arange(N_ROWS) // 40, "eval_qid": [np.arange(N_ROWS) // 40]}
    return model.fit(X, y, **more)


def answers(model, target):
    """What an adopted model predicts, by the original."""
    if model.objective == "binary:logitraw":
        return model.predict(X, output_margin=True)
    if not isinstance(model, xgb.XGBClassifier) or model.objective == "binary:hinge":
        return model.predict(X)
    return model.predict_proba(X)[:, 1] if target == "two" else model.predict_proba(X)


@pytest.mark.parametrize("form", ["json", "ubj"])
@pytest.mark.parametrize("name", WRAPPERS)
def test_estimators_and_their_files_predict_with_the_best_rounds_and_give_their_labels(name, form, tmp_path):
    model, path, (*_, target, classes) = fitted(name), tmp_path / f"model.{form}", WRAPPERS[name]
    assert name not in list(WRAPPERS)[:6] or model.get_booster().num_boosted_rounds() > model.best_iteration + 1
    model.save_model(path)
    again = type(model)()
    again.load_model(path)
    for one in (cf.adopt(path), cf.adopt(model), cf.adopt(again)):
        np.testing.assert_allclose(one.predict(X), answers(model, target), rtol=1e-5, atol=1e-5)
        assert (None if one.classes is None else one.classes.tolist()) == classes
    model.get_booster().save_model(path)  # holds the best round too, and a Booster does not stop there
    booster = xgb.Booster(model_file=path)
    for one in (cf.adopt(path), cf.adopt(booster)):
        margin = booster.predict(xgb.DMatrix(X), output_margin=True)
        np.testing.assert_allclose(one.decision_function(X), margin, rtol=1e-5, atol=1e-5)


# --- categories --------------------------------------------------------------------------------------------------

NASTY = np.array([
    *(np.nan, -1, -0.5, -0.0, -1e-46, 1e-46, 0.5, 2.9999999, 2.99999999999, 3.5, 7, 31, 32, 33, 63, 64, 100.7),
    *(2**24 - 1, 2**24 - 0.4, 2**24, 2**24 + 1, 2**31, 2**32 + 1, 1e30, -1e30),
])  # fmt: skip
CODED = {"feature_types": ["c", "q", "c"], "enable_categorical": True}


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 5, 40]), st.sampled_from([1, 4, 100]), st.booleans())
def test_codes_reach_the_originals_leaf(seed, n_categories, onehot, lossguide):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, n_categories, 160), rng.normal(size=160), rng.integers(0, 3, 160)])
    rows[rng.random(160) < 0.15, 0] = np.nan
    y = (np.nan_to_num(rows[:, 0], nan=5) * 7 % 5) * (1 + (rows[:, 2] == 1)) + rng.normal(size=160) * 0.1
    asked = {"max_depth": 4, "min_child_weight": 0, "nthread": 1, "verbosity": 0, "max_cat_to_onehot": onehot}
    asked |= {"grow_policy": "lossguide", "max_leaves": 9} if lossguide else {}
    booster = xgb.train(asked, xgb.DMatrix(rows, y, **CODED), 2)
    hard = np.concatenate([rows[:40], rng.choice(NASTY, size=(60, 3))])
    theirs = booster.predict(xgb.DMatrix(hard, **CODED), pred_leaf=True)
    for adopted in (cf.adopt(booster), *files(booster)):
        assert np.array_equal(adopted.bank.leaves(hard), theirs)
    infinite = np.array([[np.inf, 0.0, 1.0], [-np.inf, 0.0, np.inf], [1.0, np.inf, 2.0]])
    assert np.allclose(cf.adopt(booster).predict(infinite), booster.inplace_predict(infinite), atol=1e-6)


COLORS, SIZES = ["red", "green", "blue", "a b", "x"], [30, -7, 500, 8]


def frame(seed, colors=COLORS, sizes=SIZES):
    rng = np.random.default_rng(seed)
    color, size = rng.choice(COLORS, 120), rng.choice(SIZES, 120)
    columns = {
        "weight": rng.normal(size=120),
        "color": pd.Categorical(np.where(rng.random(120) < 0.1, None, color), categories=colors),
        "size": pd.Categorical(size, categories=sizes),
    }
    y = (color == "blue") * 2 + (size == -7) + (color == "x") * (size == 500) + 0.1 * rng.normal(size=120)
    return pd.DataFrame(columns), y


@pytest.mark.parametrize("onehot", [1, 100], ids=["sets", "one-hot"])
def test_frames_are_encoded_by_the_names_of_their_categories(onehot, tmp_path):
    (rows, y), (other, _) = frame(1), frame(2, colors=COLORS[::-1], sizes=SIZES[::-1])
    asked = {"n_estimators": 40, "early_stopping_rounds": 2, "learning_rate": 1.0, "max_cat_to_onehot": onehot}
    model = xgb.XGBRegressor(enable_categorical=True, **asked).fit(rows, y, eval_set=[frame(4)], verbose=False)
    model.save_model(tmp_path / "model.ubj")
    for adopted in (cf.adopt(model), cf.adopt(tmp_path / "model.ubj")):
        assert len(adopted.bank) == model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
        for each in (rows, other):
            assert np.allclose(adopted.predict(each), model.predict(each), atol=1e-5)
        texts = {name: other[name].astype(object).where(other[name].notna(), None).to_list() for name in other}
        assert np.array_equal(adopted.predict(pl.DataFrame(texts)), adopted.predict(other))
        assert adopted.categories["color"] == tuple(COLORS)
        assert {"color", "size"} <= set(adopted.used_features)


def test_numbers_of_every_kind_are_categories():
    for kind in ("int8", "int16", "int32", "int64", "uint8"):
        values = np.array([1, 5, 7] * 20, kind)
        rows = pd.DataFrame({"a": pd.Categorical(values)})
        model = xgb.XGBRegressor(enable_categorical=True, n_estimators=3).fit(rows, values == 5)
        assert np.allclose(cf.adopt(model).predict(rows), model.predict(rows), atol=1e-6)


def test_categories_beyond_ascii_hinder_only_where_a_tree_splits_them():
    rows = pd.DataFrame({"a": np.arange(60.0), "b": pd.Categorical(["да", "но"] * 30)})
    model = xgb.XGBRegressor(enable_categorical=True, n_estimators=2, max_depth=1)
    assert cf.adopt(model.fit(rows, rows["a"])).categories == {}
    with pytest.raises(AdoptionError, match="splits the feature 'b', whose categories are not all ASCII"):
        cf.adopt(model.fit(rows, rows["b"] == "да"))
