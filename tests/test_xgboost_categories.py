"""Categorical splits of xgboost: every row reaches the original's leaf, and frames are encoded by their names."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe.adoption.xgboost.adopt import adopt_xgboost, adopt_xgboost_file
from costframe.core.errors import AdoptionError

NASTY = np.array(
    [
        *(np.nan, -1, -0.5, -0.0, -1e-46, 1e-46, 0.5, 2.9999999, 2.99999999999, 3.5, 7, 31, 32, 33, 63, 64, 100.7),
        *(2**24 - 1, 2**24 - 0.4, 2**24, 2**24 + 1, 2**31, 2**32 + 1, 1e30, -1e30),
    ]
)


def train(seed, n_categories, parameters, rounds=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, n_categories, 160), rng.normal(size=160), rng.integers(0, 3, 160)])
    X[rng.random(160) < 0.15, 0] = np.nan
    y = (np.nan_to_num(X[:, 0], nan=5) * 7 % 5) * (1 + (X[:, 2] == 1)) + rng.normal(size=160) * 0.1
    data = xgb.DMatrix(X, y, feature_types=["c", "q", "c"], enable_categorical=True)
    defaults = {"max_depth": 4, "min_child_weight": 0, "nthread": 1, "verbosity": 0, "seed": seed % 1000}
    booster = xgb.train(defaults | parameters, data, rounds)
    rows = np.concatenate([X[:40], rng.choice(NASTY, size=(60, 3))])
    return booster, rows


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 5, 40]), st.sampled_from([1, 4, 100]), st.booleans())
def test_every_row_reaches_the_originals_leaf(seed, n_categories, max_cat_to_onehot, lossguide):
    parameters = {"max_cat_to_onehot": max_cat_to_onehot}
    parameters |= {"grow_policy": "lossguide", "max_leaves": 9} if lossguide else {}
    booster, rows = train(seed, n_categories, parameters, rounds=2)
    data = xgb.DMatrix(rows, feature_types=["c", "q", "c"], enable_categorical=True)
    assert np.array_equal(adopt_xgboost(booster).bank.leaves(rows), booster.predict(data, pred_leaf=True))


def test_infinities_are_no_categories():
    booster, _ = train(3, 5, {})
    rows = np.array([[np.inf, 0.0, 1.0], [-np.inf, 0.0, np.inf], [1.0, np.inf, 2.0]])
    assert np.allclose(adopt_xgboost(booster).predict(rows), booster.inplace_predict(rows), atol=1e-6)


def test_nodes_whose_categories_are_all_out_of_reach_send_numbers_left():
    document = json.loads(train(0, 5, {})[0].save_raw("json"))
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    tree["categories"] = [2**24 + 5] * len(tree["categories"])
    booster = xgb.Booster(model_file=bytearray(json.dumps(document).encode()))
    rows = np.array([[0.0, 0.0, 0.0], [2.0**24 + 5, 0.0, 1.0], [np.nan, 0.0, np.nan]])
    assert tree["split_type"][0] == 1
    data = xgb.DMatrix(rows, feature_types=["c", "q", "c"])
    assert np.array_equal(adopt_xgboost(booster).bank.leaves(rows), booster.predict(data, pred_leaf=True))


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


@pytest.mark.parametrize("saved", [False, True], ids=["live", "file"])
@pytest.mark.parametrize("onehot", [1, 100], ids=["sets", "one-hot"])
def test_frames_are_encoded_by_the_names_of_their_categories(onehot, saved):
    rows, y = frame(1)
    model = xgb.XGBRegressor(enable_categorical=True, n_estimators=5, max_depth=4, max_cat_to_onehot=onehot).fit(
        rows, y
    )
    data = bytes(model.get_booster().save_raw("ubj"))
    adopted = adopt_xgboost_file(data, "model.ubj") if saved else adopt_xgboost(model)
    other, _ = frame(2, colors=COLORS[::-1], sizes=SIZES[::-1])
    assert np.allclose(adopted.predict(rows), model.predict(rows), atol=1e-5)
    assert np.allclose(adopted.predict(other), model.predict(other), atol=1e-5)
    texts = pl.DataFrame(
        {name: other[name].astype(object).where(other[name].notna(), None).to_list() for name in other}
    )
    assert np.array_equal(adopted.predict(texts), adopted.predict(other))
    assert adopted.categories["color"] == tuple(COLORS)
    assert {"color", "size"} <= {adopted.feature_names[f] for f in np.unique(adopted.bank.trees.feature) if f >= 0}


def test_models_that_stopped_early_keep_their_categories():
    rows, y = frame(1)
    model = xgb.XGBRegressor(enable_categorical=True, n_estimators=40, early_stopping_rounds=2, learning_rate=1.0)
    model.fit(rows, y, eval_set=[frame(4)], verbose=False)
    adopted = adopt_xgboost(model)
    assert len(adopted.bank) == model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    assert np.allclose(adopted.predict(rows), model.predict(rows), atol=1e-5)


def test_encoded_models_travel(tmp_path):
    rows, y = frame(1)
    model = xgb.XGBClassifier(enable_categorical=True, n_estimators=3, max_depth=4).fit(rows, (y > 1).astype(int))
    adopted = adopt_xgboost(model)
    cf.save(adopted, tmp_path / "model.cf")
    loaded = cf.load(tmp_path / "model.cf")
    assert np.array_equal(loaded.predict(rows), adopted.predict(rows))
    assert np.allclose(adopted.predict(rows), model.predict_proba(rows)[:, 1], atol=1e-6)


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8"])
def test_numbers_of_every_kind_are_read(kind):
    values = np.array([1, 5, 7] * 20, kind)
    rows = pd.DataFrame({"a": pd.Categorical(values)})
    model = xgb.XGBRegressor(enable_categorical=True, n_estimators=3).fit(rows, values == 5)
    assert np.allclose(adopt_xgboost(model).predict(rows), model.predict(rows), atol=1e-6)


def test_categories_beyond_ascii_hinder_only_where_a_tree_splits_them():
    rows = pd.DataFrame({"a": np.arange(60.0), "b": pd.Categorical(["да", "но"] * 30)})
    model = xgb.XGBRegressor(enable_categorical=True, n_estimators=2, max_depth=1)
    assert adopt_xgboost(model.fit(rows, rows["a"])).categories == {}
    with pytest.raises(AdoptionError, match="splits the feature 'b', whose categories are not all ASCII"):
        adopt_xgboost(model.fit(rows, rows["b"] == "да"))


def change_categories(change):
    rows, y = frame(1)
    booster = xgb.XGBRegressor(enable_categorical=True, n_estimators=2, max_depth=4).fit(rows, y).get_booster()
    document = json.loads(booster.save_raw("json"))
    model = document["learner"]["gradient_booster"]["model"]
    change(model["cats"]["enc"], model["trees"][0])
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda enc, _: enc.pop(), "expected categories of 3 features, got 2"),
        (lambda enc, _: enc[1]["offsets"].__setitem__(1, 99), "expected numbers from 0 to"),
        (lambda enc, _: enc[1]["offsets"].__setitem__(1, 9), "'offsets' must rise"),
        (lambda enc, _: enc[1]["offsets"].clear(), "'offsets' must rise"),
        (lambda enc, _: enc[1]["values"].__setitem__(0, -61), "splits the feature 'color', whose .* not all ASCII"),
        (lambda enc, _: enc[2]["values"].__setitem__(0, -7), "a category comes twice"),
        (lambda enc, _: enc[2]["values"].__setitem__(0, 2**60), "expected numbers from"),
        (lambda _, tree: tree["categories_segments"].__setitem__(0, 10**9), "categories_segments: expected numbers"),
        (lambda _, tree: tree["categories_sizes"].__setitem__(0, len(tree["categories"])), "do not share its"),
        (lambda _, tree: tree["categories_nodes"].__setitem__(0, 10**9), "categories_nodes: expected numbers"),
        (lambda _, tree: tree["categories"].__setitem__(0, -1), "categories: expected numbers"),
        (lambda _, tree: tree["split_type"].__setitem__(-1, 2), "split_type: expected numbers"),
        (lambda _, tree: tree.update(split_type=[0] * len(tree["split_type"])), "compares the feature 'size'"),
    ],
)
def test_altered_categories_are_refused(change, message):
    with pytest.raises(AdoptionError, match=message):
        adopt_xgboost_file(change_categories(change), "model.json")
