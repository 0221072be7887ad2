"""LightGBM's models: drawn ones, live and as files, against the library; files by hand, public ones and broken ones."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from adoption_cases import ADOPTS, KNOWS, READS
from hypothesis import given
from hypothesis import strategies as st
from lightgbm_cases import ROWS, SCORES, TEXT

import costframe as cf
from costframe.errors import AdoptionError
from costframe.plugin import DataError

lgb = pytest.importorskip("lightgbm", reason="needs lightgbm: pip install 'costframe[bench]'")
FOREIGN = Path(__file__).resolve().parents[2] / "shared" / "foreign"
QUIET = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 3, "min_data_in_bin": 1, "num_leaves": 6}
CATEGORY = {"min_data_per_group": 2, "cat_smooth": 0.5, "cat_l2": 0.1}
FOREST = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
BOOSTINGS = [{}, FOREST, {"boosting": "dart", "drop_rate": 0.5}, {"data_sample_strategy": "goss"}]
LINKS = dict.fromkeys(["regression", "regression_l1", "huber", "fair", "quantile", "mape"], "identity")
LINKS |= dict.fromkeys(["lambdarank", "rank_xendcg", "none"], "identity")
LINKS |= dict.fromkeys(["regression sqrt", "regression_l1 sqrt"], "signed-square")
LINKS |= dict.fromkeys(["poisson", "gamma", "tweedie"], "exp")
LINKS |= dict.fromkeys(["binary", "cross_entropy", "multiclassova"], "sigmoid")
LINKS |= {"cross_entropy_lambda": "softplus", "multiclass": "softmax"}
TINY = 1.0000000180025095e-35
EXTREMES = [0.0, -0.0, TINY, -TINY, 1e-36, -1e-36, np.nextafter(TINY, 1), np.nextafter(-TINY, -1), 5e-324, -5e-324]
EXTREMES += [*[np.nan] * 6, np.inf, -np.inf, 1e300, 1.7e308, -1e300]
CODES = [0, 1, 2, 3, 5, 9, -1, -0.5, -1.5, 0.5, 2.999, 31, 32, 33, 1e6, 2.0**31, 2.0**32 + 1, -(2.0**31) - 1]


def read(data):
    return READS["lightgbm"](data, "model.txt")


def hard_rows(predictor, n_rows, seed=0):
    """float64 (rows, features): thresholds and their neighbors, tiny, huge and missing values, odd categories."""
    rng, table = np.random.default_rng(seed), predictor.bank.trees
    rows = np.empty((n_rows, len(predictor.feature_names)))
    for f in range(rows.shape[1]):
        limits = table.threshold[(table.feature == f) & np.isfinite(table.threshold)]
        ties = [limits, np.nextafter(limits, np.inf), np.nextafter(limits, -np.inf)] if len(limits) else [CODES]
        pools = [np.concatenate(ties)] * 2 + [EXTREMES, CODES, rng.integers(0, 300, 9), rng.normal(size=9)]
        rows[:, f] = [rng.choice(pools[pool]) for pool in rng.integers(len(pools), size=n_rows)]
    return rows


def assert_equal(predictor, booster, rows):
    """Raw scores to the last bit, predictions to rounding."""
    np.testing.assert_array_equal(predictor.decision_function(rows), booster.predict(rows, raw_score=True))
    np.testing.assert_allclose(predictor.predict(rows), booster.predict(rows), rtol=1e-13, atol=1e-15)


def make_data(seed, objective="regression", n_rows=90):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, 4)), 1)  # few distinct values: many ties
    X[:, 1] = rng.choice([0.0, 1.0, -TINY, -1e-34, 3e-35, 2.0], n_rows)
    X[:, 2] = rng.choice([0, 1, 2, 3, 5, 9, 31, 32, 64, -1], n_rows)
    X[:, 3] *= rng.random(n_rows) < 0.5
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0]) + np.isin(X[:, 2], [1, 5, 31]) + np.isnan(X[:, 3]) + 0.5 * (X[:, 1] > 0)
    signal += 0.1 * rng.normal(size=n_rows)
    if objective.startswith("multiclass"):
        return X, np.digitize(signal, [0.0, 1.0])
    if LINKS[objective] in {"sigmoid", "softplus"} or "rank" in objective:
        return X, (signal > 0.5).astype(float)
    return X, np.abs(signal) + 0.1 if LINKS[objective] == "exp" else signal


def train(objective, seed=0, rounds=3, categorical=(), **parameters):
    X, y = make_data(seed, objective)
    name, _, sqrt = objective.partition(" ")
    options = QUIET | CATEGORY | {"objective": name, "reg_sqrt": bool(sqrt), "seed": seed} | parameters
    if name.startswith("multiclass"):
        options["num_class"] = 3
    if name == "none":
        options["objective"] = lambda scores, data: (scores - data.get_label(), np.ones_like(scores))
    data = lgb.Dataset(X, y, categorical_feature=list(categorical), params=options)
    if "rank" in name:
        data.set_group([30, 30, 30])
    return lgb.train(options, data, rounds)


@given(st.data())
def test_live_models_and_files_score_hard_rows_as_the_original_to_the_last_bit(data):
    draw = data.draw
    objective = draw(st.sampled_from(sorted(LINKS)))
    parameters = draw(st.sampled_from(BOOSTINGS if objective != "none" else [{}])) | {
        "zero_as_missing": draw(st.booleans()),
        "use_missing": draw(st.booleans()),
        "extra_trees": draw(st.booleans()),
        "max_bin": draw(st.sampled_from([3, 16, 255])),
        "max_cat_to_onehot": draw(st.sampled_from([1, 4, 64])),
        "num_leaves": draw(st.sampled_from([2, 6, 25])),
        "min_gain_to_split": draw(st.sampled_from([0.0, 0.0, 4.0])),  # rounds without splits
    }
    if objective in {"binary", "multiclassova"}:
        parameters["sigmoid"] = draw(st.sampled_from([1.0, 0.7]))
    categorical = draw(st.sampled_from([(), (2,), (2, 1)]))
    booster = train(objective, draw(st.integers(0, 99)), draw(st.integers(1, 4)), categorical, **parameters)
    for adopted in (cf.adopt(booster), read(booster.model_to_string().encode())):
        assert adopted.stages[0].link == LINKS[objective]
        assert_equal(adopted, booster, hard_rows(adopted, 100))


def test_models_that_stopped_early_are_cut_at_their_best_round():
    X, y = make_data(3)
    options = QUIET | {"metric": "l2", "early_stopping_round": 2, "learning_rate": 0.9}
    valid = lgb.Dataset(X[:30], -y[:30])
    booster = lgb.train(options, lgb.Dataset(X, y), 60, valid_sets=[valid], keep_training_booster=True)
    adopted = cf.adopt(booster)
    assert len(adopted.bank) == booster.best_iteration < booster.num_trees()
    assert_equal(adopted, booster, hard_rows(adopted, 50))
    wrapper = lgb.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1).fit(X, y)
    wrapper.booster_.best_iteration = 2
    np.testing.assert_array_equal(cf.adopt(wrapper).predict(X), wrapper.predict(X))


FEW = {"n_estimators": 3, "verbose": -1, "n_jobs": 1}
WRAPPERS = {
    "two": (lgb.LGBMClassifier(**FEW), np.array(["no", "yes", "yes"]), ["no", "yes"]),
    "three": (lgb.LGBMClassifier(**FEW), np.array(["ash", "elm", "oak"]), ["ash", "elm", "oak"]),
    "custom": (
        lgb.LGBMClassifier(objective=lambda y, s: (s - y, np.ones_like(s)), **FEW), np.array([0, 1, 1]), None,
    ),
    "ranker": (lgb.LGBMRanker(**FEW), np.arange(3), None),
}  # fmt: skip


@pytest.mark.parametrize("name", WRAPPERS)
def test_classifiers_alone_carry_labels(name):
    model, labels, classes = WRAPPERS[name]
    X, y = make_data(2, "multiclass")
    model.fit(X, labels[y], **{"group": [45, 45]} if name == "ranker" else {})
    adopted = cf.adopt(model)
    assert (adopted.classes if classes is None else adopted.classes.tolist()) == classes
    np.testing.assert_allclose(adopted.predict(X), model.booster_.predict(X), rtol=1e-13)


# --- categories of pandas ----------------------------------------------------------------------------------------


def frame(seed=0, n_rows=200):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"size": rng.normal(size=n_rows)})
    table["kind"] = pd.Categorical(rng.choice(["oak", "ash", "elm", "fir"], n_rows), ["oak", "ash", "elm", "fir"])
    table["zone"] = pd.Categorical(rng.choice([30, 10, 20, 45, 5], n_rows))
    table["step"] = rng.integers(0, 50, n_rows).astype(float)
    signal = table["size"] + (table["kind"] == "ash") * 2 + table["zone"].isin([10, 45]) * 3 + table["step"] / 50
    return table, signal


def changed(table):
    """The same columns with other categories, in another order, unknown and missing ones."""
    other = table.copy()
    other["kind"] = table["kind"].cat.set_categories(["fir", "yew", "ash", "oak"])
    other["zone"] = pd.Categorical(np.where(np.arange(len(table)) % 7 == 0, 15, table["zone"].astype(int)))
    other.loc[::5, "zone"] = None
    other["step"] -= 3.0
    return other


@pytest.mark.parametrize("missing", [{}, {"use_missing": False}, {"zero_as_missing": True}])
@pytest.mark.parametrize("labels", [None, ["low", "mid", "top"], [10, 20, 40], [40, 10, 20], [True, False]], ids=str)
def test_frames_are_read_by_their_categories_as_the_original_reads_them(labels, missing):
    """Also ordered ones, which LightGBM compares by their codes."""
    table, y = frame()
    if labels is not None:
        codes = np.arange(len(table)) % len(labels)
        table["grade"] = pd.Categorical([labels[code] for code in codes], labels, ordered=True)
        table.loc[::9, "grade"] = None
        y = y + codes * 2.0 + table["grade"].isna() * 3.0
    booster = lgb.train(QUIET | CATEGORY | missing, lgb.Dataset(table, y), 6)
    other = table.copy()
    if labels is not None:
        new = "new" if isinstance(labels[0], str) else 15
        other["grade"] = table["grade"].cat.set_categories([*labels[1:], new])
    for adopted in (cf.adopt(booster), read(booster.model_to_string().encode())):
        assert adopted.categories["kind"] == ("oak", "ash", "elm", "fir")
        assert {"kind", "zone"} <= set(adopted.used_features)
        for rows in (table, other, changed(table)):
            assert_equal(adopted, booster, rows)
    with pytest.raises(DataError, match="expected labels such as 'oak'"):
        adopted.predict(table.assign(kind=3))


def test_categories_whose_columns_are_unknown_are_refused_with_the_way_out():
    table, y = frame()
    table["flag"] = np.arange(len(table)) % 4
    table["grade"] = pd.Categorical(np.array(["low", "mid", "top", "all"])[table["flag"]], ordered=True)
    booster = lgb.train(QUIET | CATEGORY, lgb.Dataset(table, y + table["flag"]), 4)
    with pytest.raises(AdoptionError, match=r"3 lists .* several choices fit; .* pandas_categorical = None"):
        cf.adopt(booster)
    named = lgb.train(QUIET | CATEGORY, lgb.Dataset(table, y, categorical_feature=["kind", "flag", "step"]), 4)
    with pytest.raises(AdoptionError, match="does not tell"):
        cf.adopt(named)
    booster.pandas_categorical = None
    codes = table.assign(**{name: table[name].cat.codes for name in ("kind", "zone", "grade")}).to_numpy(float)
    assert_equal(cf.adopt(booster), booster, codes)


def test_frames_keep_the_spaces_that_lightgbm_writes_as_underscores():
    X, y = make_data(1)
    table = pd.DataFrame(X).rename(columns="column {}".format)
    model = lgb.LGBMRegressor(**FEW).fit(table, y)
    adopted = cf.adopt(model)
    assert "column_0" in adopted.feature_names
    np.testing.assert_array_equal(adopted.predict(table.assign(column=1.0)), model.predict(table))
    with pytest.raises(DataError, match="the data lack 'column_"):
        adopted.predict(table.drop(columns=f"column {adopted.used_features[0][7:]}"))


def of_mixed_categories():
    table, y = frame()
    table["kind"] = table["kind"].cat.rename_categories({"oak": 1})
    return lgb.train(QUIET | CATEGORY, lgb.Dataset(table, y), 4)


def folds():
    data = lgb.Dataset(*make_data(0))
    return lgb.cv(QUIET, data, 2, nfold=2, stratified=False, return_cvbooster=True)["cvbooster"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (of_mixed_categories, "'kind': its categories must be all texts or all numbers"),
        (
            lambda: train("regression", linear_tree=True, use_missing=True),
            r"tree 1: has linear leaves, .* feature 'Column_\d'.*linear_tree=False",
        ),
        (folds, "CVBooster: expected one lightgbm Booster"),
        (lambda: lgb.Booster(QUIET, lgb.Dataset(*make_data(0))), "has no trees"),
    ],
    ids=["mixed", "linear", "folds", "unfitted"],
)
def test_what_cannot_be_adopted_is_refused(make, words):
    model = make()
    assert KNOWS["lightgbm"](model)
    with pytest.raises(AdoptionError, match=words):
        ADOPTS["lightgbm"](model)


# --- files -------------------------------------------------------------------------------------------------------


def test_a_small_file_is_read_by_its_rules():
    adopted = read(TEXT)
    assert adopted.feature_names == ("age", "zone", "size")
    np.testing.assert_array_equal(adopted.decision_function(ROWS), SCORES)
    np.testing.assert_allclose(adopted.predict(ROWS), 1 / (1 + np.exp(-SCORES)))
    windows = b"\r\n".join(line + b" \t" for line in TEXT.split(b"\n"))
    for same in (windows, TEXT.replace(b"v4", b"v3"), TEXT[: TEXT.index(b"parameters")], TEXT.replace(b"Names", b"")):
        np.testing.assert_array_equal(read(same).decision_function(ROWS), SCORES)


def test_leaves_of_old_random_forests_hold_predictions():
    old = TEXT.replace(b"\nfeature_names", b"\naverage_output\nfeature_names")
    for one, other in ((b"v4", b"v2"), (b"-0.25", b"0.25"), (b"-0.0625", b"0.0625"), (b" 2\ncat", b" 1\ncat")):
        old = old.replace(one, other)
    adopted = read(old)
    np.testing.assert_array_equal(adopted.predict(ROWS), adopted.decision_function(ROWS) / 2)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (b"end of trees", b"", "lacks the line 'end of trees'; the file is truncated"),
        (b"=v4", b"=v5", "format v5, newer than known"),
        (b"=300 90", b"=300 90 90", "tells of 3 trees and holds 2"),
        (b"binary", b"binomial", "objective 'binomial' is unknown, and so is its link"),
        (b"is_linear", b"is_linera", "tree 0: has the entry 'is_linera', unknown"),
        (b"num_leaves=4", b"num_leaves=5", "tree 0: leaf_value: expected 5 entries, got 4"),
        (b"split_feature=0", b"split_feature=3", "split_feature: expected numbers from 0 to 2, got 3"),
        (b"left_child=1 -1", b"left_child=1 0", "tree 0, node 1: has a child that is not a later node"),
        (b":null", b':[["a", "b"], ["c"]]', "which columns have the 2 lists"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(old, new, text):
    altered = TEXT.replace(old, new, 1)
    if not new:
        altered = altered[: altered.index(b"feature_importances")]
    with pytest.raises(AdoptionError, match=r"^model.txt") as caught:
        read(altered)
    assert text in str(caught.value)


NAMES = ("leaves/lg*", "lightgbm-ruby/*.txt", "lleaves/*_model.txt", "treelite/*model*.txt")
PUBLIC = sorted(path for name in NAMES for path in FOREIGN.glob(name) if path.read_bytes().startswith(b"tree"))
KNOWN = {  # rows, and what the model is known to predict for them
    "lg_dart_breast_cancer": ("breast_cancer_test.tsv", 30),
    "lg_kddcup99": ("kddcup99_test.tsv", 41),
    "lgmulticlass": ("multiclass_test.tsv", 28),
}


@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: path.stem)
def test_public_files_score_hard_rows_as_lightgbm_does_and_predict_as_published(path):
    adopted, booster = READS["lightgbm"](path.read_bytes(), path.name), lgb.Booster(model_file=str(path))
    hard = hard_rows(adopted, 200)
    np.testing.assert_array_equal(adopted.decision_function(hard), booster.predict(hard, raw_score=True))
    if path.stem in KNOWN:
        name, width = KNOWN[path.stem]
        expected = np.loadtxt(path.with_name(f"{path.stem}_true_predictions.txt"))
        answers = adopted.decision_function if "kddcup" in name else adopted.predict
        np.testing.assert_allclose(answers(np.loadtxt(path.with_name(name))[:, -width:]), expected, rtol=1e-13)
