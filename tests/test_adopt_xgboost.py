from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from naive_adopt import magnitude, nasty_rows, outputs, parts, scores, walk

from costframe.adoption.xgboost import adopt_xgboost, is_xgboost
from costframe.adoption.xgboost_files import load_xgboost
from costframe.core.errors import AdoptionError

EPS32 = float(np.finfo(np.float32).eps)
N_ROWS, N_FEATURES = 240, 4
RNG = np.random.default_rng(7)
X = np.round(RNG.normal(size=(N_ROWS, N_FEATURES)), 1)  # few distinct values: many ties
X[RNG.random(X.shape) < 0.1] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * np.isnan(X[:, 2]) + 0.3 * RNG.normal(size=N_ROWS)
TARGETS = {
    "real": SIGNAL,
    "positive": np.abs(SIGNAL),
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
    "binary, approx": ("two", BINARY | {"tree_method": "approx"}, "sigmoid"),
    "binary, exact": ("two", BINARY | {"tree_method": "exact"}, "sigmoid"),
    "binary, exact, pruned": ("two", BINARY | {"tree_method": "exact", "gamma": 2.0, "max_depth": 5}, "sigmoid"),
    "binary, leaf by leaf": ("two", BINARY | {"grow_policy": "lossguide", "max_leaves": 7, "max_depth": 0}, "sigmoid"),
    "binary, base_score": ("two", BINARY | {"base_score": 0.3}, "sigmoid"),
    "binary, tiny base_score": ("two", BINARY | {"base_score": 1e-7}, "sigmoid"),
    "binary, forest": ("two", BINARY | FOREST, "sigmoid"),
    "binary, dart": ("two", BINARY | DART, "sigmoid"),
    "binary, raw": ("two", {"objective": "binary:logitraw"}, "identity"),
    "binary, raw, base_score": ("two", {"objective": "binary:logitraw", "base_score": 0.3}, "identity"),
    "logistic regression": ("two", {"objective": "reg:logistic"}, "sigmoid"),
    "multiclass": ("three", SOFTPROB, "softmax"),
    "multiclass labels": ("three", SOFTMAX, "softmax"),
    "multiclass, base_score": ("three", SOFTPROB | {"base_score": 0.3}, "softmax"),
    "multiclass, forest": ("three", SOFTPROB | FOREST, "softmax"),
    "multiclass, dart": ("three", SOFTPROB | DART, "softmax"),
    "multiclass, vector leaves": ("three", SOFTPROB | {"multi_strategy": "multi_output_tree"}, "softmax"),
    "regression": ("real", {}, "identity"),
    "regression, base_score": ("real", {"base_score": -7.3}, "identity"),
    "regression, pruned": ("real", {"tree_method": "exact", "gamma": 1.0, "max_depth": 6}, "identity"),
    "regression, absolute": ("real", {"objective": "reg:absoluteerror"}, "identity"),
    "regression, huber": ("real", {"objective": "reg:pseudohubererror"}, "identity"),
    "regression, logarithmic": ("positive", {"objective": "reg:squaredlogerror"}, "identity"),
    "regression, quantile": ("real", {"objective": "reg:quantileerror", "quantile_alpha": 0.3}, "identity"),
    "regression, two outputs": ("pair", {}, "identity"),
    "regression, vector leaves": ("pair", {"multi_strategy": "multi_output_tree"}, "identity"),
    "rank, pairwise": ("two", {"objective": "rank:pairwise"}, "identity"),
    "rank, ndcg": ("two", {"objective": "rank:ndcg"}, "identity"),
    "rank, map": ("two", {"objective": "rank:map"}, "identity"),
}


def train(target, parameters, rounds=6, **options):
    defaults = {"max_depth": 3, "nthread": 1, "verbosity": 0, "seed": 3}
    data = xgb.DMatrix(X, TARGETS[target], **options)
    if parameters.get("objective", "").startswith("rank:"):
        data.set_info(group=[40] * (N_ROWS // 40))
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
    rows = np.concatenate([X, nasty_rows(adopted.table, N_FEATURES, 150, missing=True, infinite=False)])
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
    rows = nasty_rows(adopted.table, N_FEATURES, 150, missing=True, infinite=False, seed=1)
    margin = booster.predict(xgb.DMatrix(rows), output_margin=True).reshape(len(rows), -1)
    leaves = walk(adopted.table, rows)
    assert np.array_equal(scores(adopted, leaves, np.float32), margin)
    error = np.abs(scores(adopted, leaves) - margin)
    assert error.max() <= len(adopted.table) * EPS32 * magnitude(adopted)


def test_infinities_are_followed_where_the_original_accepts_them(case):
    booster, adopted, _ = case
    rows = nasty_rows(adopted.table, N_FEATURES, 150, missing=True, infinite=True, seed=2)
    assert_equal_in_float32(adopted, rows, booster.inplace_predict(rows, predict_type="margin"))


def test_the_link_gives_the_originals_prediction(case):
    booster, adopted, link = case
    raw = scores(adopted, walk(adopted.table, X))
    if link == "softmax":
        exponentials = np.exp(raw - raw.max(1, keepdims=True))
        expected = exponentials / exponentials.sum(1, keepdims=True)
    else:
        expected = 1 / (1 + np.exp(-raw)) if link == "sigmoid" else raw
    theirs = booster.predict(xgb.DMatrix(X))
    if theirs.ndim == 1 and adopted.intercept.size > 1:  # softmax as labels
        assert (np.argmax(expected, 1) == theirs).all()
    else:
        assert np.allclose(theirs.reshape(len(X), -1), expected, rtol=1e-5, atol=1e-6)


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
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers(name):
    model, target = WRAPPERS[name]
    model.fit(X, TARGETS[target])
    adopted = parts(adopt_xgboost(model))
    rows = nasty_rows(adopted.table, N_FEATURES, 150, missing=True, infinite=True)
    assert_equal_in_float32(adopted, rows, model.predict(rows, output_margin=True))


def test_ranker_wrapper():
    model = xgb.XGBRanker(n_estimators=4, max_depth=3).fit(X, TARGETS["two"], qid=np.arange(N_ROWS) // 40)
    adopted = parts(adopt_xgboost(model))
    assert np.array_equal(scores(adopted, walk(adopted.table, X), np.float32)[:, 0], model.predict(X))


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


def test_names_come_from_the_data_the_caller_or_the_position():
    names = ["age", "chol", "thal", "bp"]
    frame = pd.DataFrame(X, columns=names)
    model = xgb.XGBClassifier(n_estimators=2).fit(frame, TARGETS["two"])
    booster = train("two", BINARY)
    assert adopt_xgboost(model).feature_names == tuple(names)
    assert adopt_xgboost(model, ["a", "b", "c", "d"]).feature_names == ("a", "b", "c", "d")
    assert adopt_xgboost(booster).feature_names == ("f0", "f1", "f2", "f3")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b"], r"4 features.*got 2 feature names \(a, b\)"),
        (["a", "b", "c", "a"], "4 features.*more than once: a"),
        ("abcd", "single text 'abcd'"),
    ],
)
def test_bad_names_are_refused(names, message):
    with pytest.raises(AdoptionError, match=message):
        adopt_xgboost(train("two", BINARY), names)


@pytest.mark.parametrize(
    ("target", "parameters", "message"),
    [
        ("positive", {"objective": "count:poisson"}, "count:poisson"),
        ("positive", {"objective": "reg:gamma"}, "reg:gamma"),
        ("positive", {"objective": "reg:tweedie"}, "reg:tweedie"),
        ("positive", {"objective": "survival:cox"}, "survival:cox"),
        ("two", {"objective": "binary:hinge"}, "binary:hinge"),
        ("two", {"booster": "gblinear"}, "'gblinear' has no trees"),
        ("labels", BINARY, "multi-label"),
    ],
)
def test_unsupported_boosters_are_refused_by_name(target, parameters, message):
    parameters = dict(parameters) if "booster" in parameters else parameters | {"max_depth": 2}
    booster = xgb.train(
        parameters | {"verbosity": 0}, xgb.DMatrix(np.nan_to_num(X), TARGETS[target] + (target == "positive")), 2
    )
    with pytest.raises(AdoptionError, match=message):
        adopt_xgboost(booster)


def categorical_frame(used):
    color = RNG.integers(0, 3, N_ROWS) if used else np.zeros(N_ROWS, int)
    return pd.DataFrame({"size": X[:, 0], "color": pd.Categorical.from_codes(color, ["red", "blue", "green"])}), color


def test_categorical_split_is_refused_with_its_feature():
    frame, color = categorical_frame(used=True)
    model = xgb.XGBRegressor(n_estimators=3, enable_categorical=True).fit(frame, (color == 1) * 1.0)
    with pytest.raises(AdoptionError, match="'color' by categories"):
        adopt_xgboost(model)


def test_categorical_feature_that_no_tree_splits_is_no_hindrance():
    frame, _ = categorical_frame(used=False)
    model = xgb.XGBRegressor(n_estimators=3, enable_categorical=True).fit(frame, SIGNAL)
    adopted = parts(adopt_xgboost(model))
    rows = np.column_stack([X[:, 0], np.zeros(N_ROWS)])
    margin = model.predict(frame, output_margin=True)
    assert np.array_equal(scores(adopted, walk(adopted.table, rows), np.float32)[:, 0], margin)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (xgb.XGBClassifier(), "XGBClassifier: is not fitted"),
        (xgb.Booster(), "Booster: is not fitted"),
        (xgb.XGBRegressor(missing=-1.0, n_estimators=2).fit(X, SIGNAL), "missing=-1.0 cannot be adopted"),
        (train("two", BINARY, rounds=0), "has no trees"),
        (object(), "object: expected an xgboost Booster"),
    ],
    ids=["unfitted wrapper", "unfitted booster", "missing", "no rounds", "stranger"],
)
def test_what_is_no_whole_model_is_refused(model, message):
    with pytest.raises(AdoptionError, match=message):
        adopt_xgboost(model)


@pytest.mark.parametrize("suffix", ["json", "ubj"])
@pytest.mark.parametrize("name", ["binary, dart", "multiclass, vector leaves", "regression, pruned"])
def test_loaded_file_is_adopted_like_the_model(tmp_path, suffix, name):
    booster = train(*CASES[name][:2])
    path = tmp_path / f"model.{suffix}"
    booster.save_model(path)
    ours, theirs = parts(adopt_xgboost(load_xgboost(path))), parts(adopt_xgboost(booster))
    assert np.array_equal(ours.table.threshold, theirs.table.threshold, equal_nan=True)
    assert np.array_equal(ours.table.values, theirs.table.values)
    assert np.array_equal(ours.weights, theirs.weights)
    assert np.array_equal(ours.intercept, theirs.intercept)


@pytest.mark.parametrize("suffix", ["json", "ubj"])
def test_truncated_file_is_refused(tmp_path, suffix):
    path = tmp_path / f"model.{suffix}"
    train("two", BINARY, rounds=1).save_model(path)
    data = path.read_bytes()
    for end in range(0, len(data), 37):
        path.write_bytes(data[:end])
        with pytest.raises(AdoptionError, match=f"model.{suffix}: is not a"):
            load_xgboost(path)


def altered(change):
    document = json.loads(train("two", BINARY, rounds=2).save_raw("json"))
    boosting = document["learner"]["gradient_booster"]["model"]
    change(boosting, boosting["trees"][1])
    return json.dumps(document)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _, tree: tree["left_children"].__setitem__(0, 99), "tree 1: its nodes do not form a tree"),
        (lambda _, tree: tree["left_children"].__setitem__(0, 0), "tree 1: its nodes do not form a tree"),
        (lambda _, tree: tree["left_children"].__setitem__(-1, -7), "tree 1: its nodes do not form a tree"),
        (lambda _, tree: tree["parents"].__setitem__(1, 2**30), "tree 1: its nodes do not form a tree"),
        (lambda _, tree: tree["split_indices"].__setitem__(0, 4), "tree 1: splits a feature beyond the 4"),
        (lambda _, tree: tree["split_type"].__setitem__(0, 1), "tree 1: 'split_type' and 'categories_nodes'"),
        (lambda _, tree: tree["split_conditions"].pop(), "tree 1: 'split_conditions' must hold one entry"),
        (lambda _, tree: tree["tree_param"].__setitem__("size_leaf_vector", "5"), "tree 1: 'base_weights'"),
        (lambda _, tree: tree.__setitem__("id", 9), "tree 1: carries another number"),
        (lambda model, _: model["tree_info"].__setitem__(1, 3), "'tree_info' must hold one of 1 groups"),
        (lambda model, _: model["iteration_indptr"].__setitem__(1, 5), "'iteration_indptr' must rise"),
        (lambda model, _: model["trees"].pop(), "1 trees, where 'num_trees' tells of 2"),
        (lambda model, _: model.pop("trees"), "lacks or garbles 'trees'"),
    ],
)
def test_altered_file_is_refused_before_xgboost_follows_it(tmp_path, change, message):
    path = tmp_path / "model.json"
    path.write_text(altered(change))
    with pytest.raises(AdoptionError, match=message):
        load_xgboost(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.bin", b"", r"model.bin: expected an xgboost model saved as .json or .ubj"),
        ("model.json", b"[]", "is not a"),
        ("model.json", b"{}", "lacks or garbles 'learner'"),
        ("model.json", b"\xff\xfe", "is not a whole"),
        ("model.ubj", b"{L", "is not a whole"),
        ("model.ubj", b"[" * 5000, "nested deeper"),
        ("model.ubj", b"{i\x01a[$d#L\x7f" + b"\xff" * 7, "truncated"),
    ],
)
def test_files_of_something_else_are_refused(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(AdoptionError, match=message):
        load_xgboost(path)


def test_absent_file_is_refused(tmp_path):
    with pytest.raises(AdoptionError, match=r"absent\.json: cannot be read"):
        load_xgboost(tmp_path / "absent.json")


def test_is_xgboost_tells_models_apart():
    assert is_xgboost(xgb.Booster())
    assert is_xgboost(xgb.XGBRFRegressor())
    assert is_xgboost(type("Mine", (xgb.XGBClassifier,), {})())
    assert not is_xgboost(xgb.DMatrix(np.zeros((1, 1))))
    assert not is_xgboost(object())


def test_is_xgboost_does_not_import_xgboost():
    code = (
        "import sys; from costframe.adoption.xgboost import is_xgboost as f; f(3); sys.exit('xgboost' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own code
