"""CEGB and Greedy Miser's common shell on categorical columns: from the frame to the file, and what rows pay."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from costframe import CostframeError
from costframe.plugin import DataError
from costframe_cegb import CEGBRegressor

LABELS = tuple(f"c{i:02}" for i in range(12))
QUICK = {"n_estimators": 8, "learning_rate": 0.5, "max_leaves": 6, "min_samples_leaf": 3}


def table(seed=0, n=200):
    """A frame whose color tells much, in no order; the numbers of its labels; the target."""
    rng = np.random.default_rng(seed)
    color, shape = rng.integers(0, 12, n), rng.integers(0, 3, n)
    y = rng.permutation(12)[color] / 4 + rng.standard_normal(n) / 8
    codes = np.where(rng.random(n) < 0.1, -1, color)
    frame = pd.DataFrame({
        "size": rng.standard_normal(n),
        "color": pd.Categorical.from_codes(codes, LABELS),
        "shape": pd.Categorical(shape),
    })  # fmt: skip
    return frame, np.stack([frame["size"], np.where(codes < 0, np.nan, codes), shape], axis=1), y


def same(model, other, X, X_other):
    assert np.array_equal(model.predictor_.decision_function(X), other.predictor_.decision_function(X_other))


def test_all_ways_to_say_which_columns_are_categorical_are_one():
    frame, numbers, y = table()
    model = CEGBRegressor(tradeoff=1e-3, **QUICK).fit(frame, y)
    assert model.bank_.categories == {"color": LABELS}
    assert 1 in model.bank_.trees.feature[model.bank_.trees.category_count > 0]
    texts = frame.astype({"color": object, "shape": int})
    for rows, columns in (
        (numbers, [1, 2]),
        (numbers, np.array([False, True, True])),
        (numbers, ["x1", "x2"]),
        (numbers, {1: LABELS, 2: None}),
        (texts, [1, "shape"]),
        (texts, {"color": LABELS, "shape": None}),
        (texts.to_numpy(object), [1, 2]),
    ):
        again = CEGBRegressor(tradeoff=1e-3, categorical_features=columns, **QUICK).fit(rows, y)
        same(model, again, frame, rows)


def test_validation_rows_are_read_by_the_labels_of_the_training_rows():
    frame, _, y = table()
    valid, _, y_val = table(0, 120)
    turned = valid.assign(color=valid["color"].cat.reorder_categories(LABELS[::-1]))
    models = [CEGBRegressor(n_iter_no_change=3, **QUICK).fit(frame, y, X_val=X, y_val=y_val) for X in (valid, turned)]
    assert models[0].n_iter_ == models[1].n_iter_
    same(*models, valid, turned)


def test_the_trees_are_scikit_learns_where_the_definitions_coincide():
    """One column of categories with many rows each, nothing missing, tradeoff 0.

    Elsewhere they differ: scikit-learn does not sort categories with fewer than ten rows but sends them right, takes
    what is missing for one more category of the order (here it is tried on both sides of every set), and sends
    categories that have no rows in a node right instead of the missing way.
    """
    rng = np.random.default_rng(5)
    color = np.repeat(np.arange(20), 40)
    y = rng.integers(-64, 65, 20)[color] / 16 + rng.integers(-16, 17, 800) / 32
    X, kinds = color[:, np.newaxis].astype(float), {"categorical_features": [0]}
    limits = {"learning_rate": 0.5, "min_samples_leaf": 5, "l2_regularization": 1.0}
    theirs = HistGradientBoostingRegressor(max_iter=4, max_leaf_nodes=6, early_stopping=False, **kinds, **limits)
    ours = CEGBRegressor(tradeoff=0.0, n_estimators=4, max_leaves=6, **kinds, **limits)
    assert ours.fit(X, y).predict(X) == pytest.approx(theirs.fit(X, y).predict(X), rel=1e-6)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("color", "categorical_features: expected names or positions"),
        (["hue"], "'hue' is no column"),
        ([1.0], "1.0 is no column"),
        ([True], "a mask of 3 columns must be as long, got 1"),
        ([0], "column 'size': categories must be finite"),
    ],
)
def test_impossible_columns_are_refused(columns, words):
    frame, _, y = table()
    if columns == [0]:
        frame = frame.assign(size=np.inf, color=0.0)
    with pytest.raises(CostframeError, match=words):
        CEGBRegressor(categorical_features=columns, **QUICK).fit(frame, y)


@pytest.mark.parametrize("dtype", ["Int64", "boolean"])
def test_categories_of_nullable_numbers_are_numbers(dtype):
    frame, _, y = table()
    numbers = np.where(np.arange(200) % 7 == 0, np.nan, np.arange(200) % 2)
    column = pd.array([None if np.isnan(value) else value for value in numbers], dtype=dtype)
    y = y + np.nan_to_num(numbers, nan=2.0)
    nullable = frame.assign(shape=pd.Series(column).astype("category"))
    plain = frame.assign(shape=pd.Categorical(numbers))
    model = CEGBRegressor(**QUICK).fit(nullable, y)
    assert 2 in model.bank_.trees.feature
    same(model, CEGBRegressor(**QUICK).fit(plain, y), nullable, plain)
    large = frame.assign(shape=pd.Series([2**53, 2**53 + 1] * 100).astype("category"))  # doubles do not tell them apart
    with pytest.raises(DataError, match=r"column 'shape': categories must be numbers below 2\^53"):
        CEGBRegressor(**QUICK).fit(large, y)
