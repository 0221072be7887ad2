from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightgbm_cases import EXTREMES, TINY, assert_equal, hard_rows, import_lightgbm

from costframe.adoption.lightgbm.adopt import adopt_lightgbm, at_most, is_lightgbm
from costframe.core.errors import AdoptionError, DataError

lgb = import_lightgbm()
QUIET = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 3, "min_data_in_bin": 1, "num_leaves": 6}
CATEGORY = {"min_data_per_group": 2, "cat_smooth": 0.5, "cat_l2": 0.1}
FOREST = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
BOOSTINGS = [{}, FOREST, {"boosting": "dart", "drop_rate": 0.5}, {"data_sample_strategy": "goss"}]
LINKS = {
    "regression": "identity",
    "regression sqrt": "signed-square",
    "regression_l1": "identity",
    "regression_l1 sqrt": "signed-square",
    "huber": "identity",
    "fair": "identity",
    "quantile": "identity",
    "mape": "identity",
    "poisson": "exp",
    "gamma": "exp",
    "tweedie": "exp",
    "binary": "sigmoid",
    "cross_entropy": "sigmoid",
    "cross_entropy_lambda": "softplus",
    "multiclass": "softmax",
    "multiclassova": "sigmoid",
    "lambdarank": "identity",
    "rank_xendcg": "identity",
    "none": "identity",
}


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
    if objective in {"binary", "cross_entropy", "cross_entropy_lambda", "lambdarank", "rank_xendcg"}:
        return X, (signal > 0.5).astype(float)
    return X, np.abs(signal) + 0.1 if objective in {"poisson", "gamma", "tweedie"} else signal


def train(objective, seed=0, rounds=3, categorical=(), **parameters):
    X, y = make_data(seed, objective)
    name, _, sqrt = objective.partition(" ")
    options = QUIET | CATEGORY | {"objective": name, "reg_sqrt": bool(sqrt), "seed": seed} | parameters
    if name.startswith("multiclass"):
        options["num_class"] = 3
    if name == "none":
        options["objective"] = lambda scores, data: (scores - data.get_label(), np.ones_like(scores))
    data = lgb.Dataset(X, y, categorical_feature=list(categorical), params=options)
    if name in {"lambdarank", "rank_xendcg"}:
        data.set_group([30, 30, 30])
    return lgb.train(options, data, rounds)


@given(st.data())
def test_adopted_models_score_hard_rows_as_the_original_to_the_last_bit(data):
    draw = data.draw
    objective = draw(st.sampled_from(sorted(LINKS)))
    boosting = draw(st.sampled_from(BOOSTINGS if objective != "none" else [{}]))
    parameters = {
        "zero_as_missing": draw(st.booleans()),
        "use_missing": draw(st.booleans()),
        "extra_trees": draw(st.booleans()),
        "max_bin": draw(st.sampled_from([3, 16, 255])),
        "max_cat_to_onehot": draw(st.sampled_from([1, 4, 64])),
        "num_leaves": draw(st.sampled_from([2, 6, 25])),
    }
    if objective in {"binary", "multiclassova"}:
        parameters["sigmoid"] = draw(st.sampled_from([1.0, 0.7]))
    categorical = draw(st.sampled_from([(), (2,), (2, 1)]))
    booster = train(objective, draw(st.integers(0, 99)), draw(st.integers(1, 4)), categorical, **boosting | parameters)
    adopted = adopt_lightgbm(booster)
    assert adopted.stages[0].link == LINKS[objective]
    rows = hard_rows(adopted, 120)
    assert_equal(adopted, booster, rows)


@given(st.lists(st.one_of(st.sampled_from(EXTREMES), st.floats()), min_size=2, max_size=2))
def test_a_double_passes_the_converted_threshold_as_it_does_in_lightgbm(pair):
    x, t = pair
    if not np.isnan(pair).any():
        assert (x <= at_most(t)) == ((0.0 if abs(x) <= TINY else x) <= t)


@pytest.mark.parametrize(
    ("parameters", "expected"), [({"zero_as_missing": True}, {1}), ({}, {0}), ({"use_missing": False}, {0})]
)
def test_zero_as_missing_is_a_reading_of_its_splits_alone(parameters, expected):
    table = adopt_lightgbm(train("regression", **parameters)).bank.trees
    assert set(table.reading[table.feature >= 0].tolist()) == expected


def test_splits_between_missing_and_other_values_have_infinite_thresholds():
    X = np.array([[np.nan], [1.0], [2.0], [np.inf], [-np.inf]] * 10)
    booster = lgb.train(QUIET | {"min_data_in_leaf": 1}, lgb.Dataset(X, np.isnan(X[:, 0]) * 9.0), 2)
    adopted = adopt_lightgbm(booster)
    assert np.inf in adopted.bank.trees.threshold
    assert_equal(adopted, booster, X)


def test_models_that_stopped_early_are_cut_at_their_best_round():
    X, y = make_data(3)
    options = QUIET | {"metric": "l2", "early_stopping_round": 2, "learning_rate": 0.9}
    valid = lgb.Dataset(X[:30], -y[:30])
    booster = lgb.train(options, lgb.Dataset(X, y), 60, valid_sets=[valid], keep_training_booster=True)
    adopted = adopt_lightgbm(booster)
    assert len(adopted.bank) == booster.best_iteration < booster.num_trees()
    assert_equal(adopted, booster, hard_rows(adopted, 50))
    wrapper = lgb.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1).fit(X, y)
    wrapper.booster_.best_iteration = 2
    adopted = adopt_lightgbm(wrapper)
    assert len(adopted.bank) == 2
    np.testing.assert_array_equal(adopted.predict(X), wrapper.predict(X))


def test_constant_models_and_rounds_without_splits_are_adopted():
    X, _ = make_data(1)
    constant = lgb.train(QUIET | {"objective": "binary"}, lgb.Dataset(X, np.arange(90) % 3 == 0.0), 3)
    rare = train("regression", num_leaves=2, rounds=4, min_gain_to_split=20.0)
    for booster in (constant, rare, train("multiclass", min_gain_to_split=4.0)):
        adopted = adopt_lightgbm(booster)
        assert (adopted.bank.trees.feature < 0).sum() >= len(adopted.bank)
        assert_equal(adopted, booster, hard_rows(adopted, 40))


@pytest.mark.parametrize("target", [["no", "yes"], ["ash", "elm", "oak"]])
def test_classifiers_carry_their_labels_and_predict_as_the_original(target):
    X, y = make_data(2, "multiclass")
    labels = np.array(target)[np.minimum(y, len(target) - 1)]
    model = lgb.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(X, labels)
    adopted = adopt_lightgbm(model)
    p = model.predict_proba(X)
    np.testing.assert_allclose(adopted.predict(X), p[:, 1] if p.shape[1] == 2 else p, rtol=1e-13)
    assert adopted.classes.tolist() == model.classes_.tolist() == target
    assert adopt_lightgbm(model.booster_).classes is None


def test_rankers_and_custom_objectives_of_classifiers_have_no_labels():
    X, y = make_data(2, "binary")
    custom = lgb.LGBMClassifier(objective=lambda y, s: (s - y, np.ones_like(s)), n_estimators=2, verbose=-1).fit(X, y)
    ranker = lgb.LGBMRanker(n_estimators=2, verbose=-1, n_jobs=1).fit(X, y, group=[45, 45])
    for model in (custom, ranker):
        adopted = adopt_lightgbm(model)
        assert adopted.classes is None
        np.testing.assert_array_equal(adopted.predict(X), model.booster_.predict(X))


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


def test_frames_with_categories_of_pandas_are_read_as_the_original_reads_them():
    table, y = frame()
    booster = lgb.train(QUIET | CATEGORY, lgb.Dataset(table, y), 6)
    adopted = adopt_lightgbm(booster)
    assert dict(adopted.categories) == {"kind": ("oak", "ash", "elm", "fir")}
    for rows in (table, changed(table)):
        assert_equal(adopted, booster, rows)
    numbers = table.assign(kind=table["kind"].cat.codes, zone=table["zone"].astype(int))
    np.testing.assert_array_equal(adopted.predict(numbers.to_numpy(float)), booster.predict(table))
    assert_equal(adopted, booster, table[::-1])
    assert {"kind", "zone"} <= {adopted.feature_names[f] for f in set(adopted.bank.trees.feature.tolist()) - {-1}}


@pytest.mark.parametrize("missing", [{}, {"use_missing": False}, {"zero_as_missing": True}])
@pytest.mark.parametrize("labels", [["low", "mid", "top"], [10, 20, 40], [40, 10, 20], [True, False]])
def test_ordered_categories_are_compared_by_their_codes_as_in_the_original(labels, missing):
    table, y = frame()
    codes = np.arange(len(table)) % len(labels)
    table["grade"] = pd.Categorical([labels[code] for code in codes], labels, ordered=True)
    table.loc[::9, "grade"] = None
    y = y + codes * 2.0 + table["grade"].isna() * 3.0
    booster = lgb.train(QUIET | CATEGORY | missing, lgb.Dataset(table, y), 6)
    adopted = adopt_lightgbm(booster)
    other = table.copy()
    other["grade"] = table["grade"].cat.set_categories([*labels[1:], "new" if labels[0] == "low" else 15])
    for rows in (table, other, changed(table)):
        assert_equal(adopted, booster, rows)


def test_categories_whose_columns_are_unknown_are_refused_with_the_way_out():
    table, y = frame()
    table["flag"] = np.arange(len(table)) % 4
    table["grade"] = pd.Categorical(np.array(["low", "mid", "top", "all"])[table["flag"]], ordered=True)
    booster = lgb.train(QUIET | CATEGORY, lgb.Dataset(table, y + table["flag"]), 4)
    with pytest.raises(AdoptionError, match=r"3 lists .* several choices fit; .* pandas_categorical = None"):
        adopt_lightgbm(booster)
    named = lgb.train(QUIET | CATEGORY, lgb.Dataset(table, y, categorical_feature=["kind", "flag", "step"]), 4)
    with pytest.raises(AdoptionError, match="does not tell"):
        adopt_lightgbm(named)
    booster.pandas_categorical = None
    codes = table.assign(**{name: table[name].cat.codes for name in ("kind", "zone", "grade")}).to_numpy(float)
    assert_equal(adopt_lightgbm(booster), booster, codes)


def test_categories_that_are_neither_texts_nor_numbers_are_refused():
    table, y = frame()
    table["kind"] = table["kind"].cat.rename_categories({"oak": 1})
    with pytest.raises(AdoptionError, match="'kind': its categories must be all texts or all numbers"):
        adopt_lightgbm(lgb.train(QUIET | CATEGORY, lgb.Dataset(table, y), 4))


def test_a_text_in_place_of_a_category_that_is_none_is_missing():
    table, y = frame()
    adopted = adopt_lightgbm(lgb.train(QUIET | CATEGORY, lgb.Dataset(table, y), 4))
    with pytest.raises(DataError, match="expected labels such as 'oak'"):
        adopted.predict(table.assign(kind=3))


def test_linear_leaves_are_refused_by_tree_and_feature():
    booster = train("regression", linear_tree=True, use_missing=True)
    with pytest.raises(AdoptionError, match=r"tree 1: has linear leaves, .* feature 'Column_\d'.*linear_tree=False"):
        adopt_lightgbm(booster)


def test_linear_trees_whose_leaves_read_nothing_are_adopted():
    booster = train("regression", linear_tree=True, rounds=1)
    assert_equal(adopt_lightgbm(booster), booster, make_data(1)[0])


def test_what_is_no_fitted_model_is_refused():
    X, y = make_data(0)
    folds = lgb.cv(QUIET, lgb.Dataset(X, y), 2, nfold=2, stratified=False, return_cvbooster=True)["cvbooster"]
    assert is_lightgbm(folds)
    with pytest.raises(AdoptionError, match="CVBooster: expected one lightgbm Booster"):
        adopt_lightgbm(folds)
    with pytest.raises(AdoptionError, match="has no trees"):
        adopt_lightgbm(lgb.Booster(QUIET, lgb.Dataset(X, y)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_the_spaces_that_lightgbm_writes_as_underscores(library):
    make = pytest.importorskip(library).DataFrame
    X, y = make_data(1)
    table = pd.DataFrame(X).rename(columns="column {}".format)
    model = lgb.LGBMRegressor(n_estimators=3, verbose=-1, n_jobs=1).fit(table, y)
    adopted = adopt_lightgbm(model)
    assert "column_0" in adopted.feature_names
    np.testing.assert_array_equal(adopted.predict(make(dict(table.assign(column=1.0)))), model.predict(table))
    with pytest.raises(DataError, match="the data lack 'column_"):
        adopted.predict(make(dict(table.drop(columns=f"column {adopted.used_features[0][7:]}"))))
