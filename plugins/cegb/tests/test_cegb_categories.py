"""CEGB and Greedy Miser's common shell on categorical columns: from the frame to the file, and what rows pay."""

import hypothesis
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor

from costframe.core.errors import DataError, ParameterError
from costframe.testing.strategies import cost_models
from costframe_cegb import CEGBClassifier, CEGBRegressor

NAMES = ("size", "color", "shape")
LABELS = tuple(f"c{i:02}" for i in range(12))
QUICK = {"n_estimators": 8, "learning_rate": 0.5, "max_leaves": 6, "min_samples_leaf": 3}


def table(seed=0, n=200, missing=0.1):
    """A frame whose color tells much, in no order; the numbers of its labels; the target."""
    rng = np.random.default_rng(seed)
    color, shape = rng.integers(0, 12, n), rng.integers(0, 3, n)
    y = rng.permutation(12)[color] / 4 + rng.standard_normal(n) / 8
    codes = np.where(rng.random(n) < missing, -1, color)
    frame = pd.DataFrame({
        "size": rng.standard_normal(n),
        "color": pd.Categorical.from_codes(codes, LABELS),
        "shape": pd.Categorical(shape),
    })  # fmt: skip
    numbers = np.stack([frame["size"], np.where(codes < 0, np.nan, codes), shape], axis=1)
    return frame, numbers, y


def same(model, other, X, X_other):
    assert np.array_equal(model.predictor_.decision_function(X), other.predictor_.decision_function(X_other))


@hypothesis.settings(max_examples=30)
@given(
    st.integers(0, 10_000),
    cost_models(NAMES),
    st.sampled_from([0.0, 1e-3, 0.01]),
    st.sampled_from([1.0, 0.6]),
    st.sampled_from([0, 2, 3]),
    st.sampled_from(["best", "breadth"]),
    st.sampled_from([4, 255]),
)
def test_what_training_believes_it_pays_is_what_is_paid(seed, costs, lam, subsample, n_classes, growth, max_bins):
    """With few bins some categories are missing to the trees, and pay as well."""
    frame, _, y = table(seed, 80)
    y = y if n_classes == 0 else np.argsort(np.argsort(y)) * n_classes // 80
    kind = CEGBClassifier if n_classes else CEGBRegressor
    model = kind(costs, lam, subsample=subsample, growth=growth, max_bins=max_bins, random_state=seed, **QUICK)
    model.fit(frame, y)
    report = model.cost(frame)
    assert model.believed_cost_ == pytest.approx(report.mean, rel=1e-9, abs=1e-9)
    assert model.believed_fixed_ == pytest.approx(report.fixed)


def test_all_ways_to_say_which_columns_are_categorical_are_one():
    frame, numbers, y = table()
    model = CEGBRegressor(tradeoff=1e-3, **QUICK).fit(frame, y)
    assert model.bank_.categories == {"color": LABELS}
    assert set(model.bank_.trees.feature[model.bank_.trees.category_count > 0]) >= {1}
    for columns in ([1, 2], np.array([False, True, True]), [False, True, True], ["x1", "x2"], {1: LABELS, 2: None}):
        again = CEGBRegressor(tradeoff=1e-3, categorical_features=columns, **QUICK).fit(numbers, y)
        same(model, again, frame, numbers)
        assert again.bank_.categories == ({"x1": LABELS} if isinstance(columns, dict) else {})
    texts = frame.astype({"color": object, "shape": int})
    for columns in (["color", "shape"], [1, "shape"], {"color": LABELS, "shape": None}):
        same(model, CEGBRegressor(tradeoff=1e-3, categorical_features=columns, **QUICK).fit(texts, y), frame, texts)
    objects = texts.to_numpy(object)
    same(model, CEGBRegressor(tradeoff=1e-3, categorical_features=[1, 2], **QUICK).fit(objects, y), frame, objects)
    priced = {"features": dict.fromkeys(NAMES, 1.0)}
    by_price = CEGBRegressor(priced, 1e-3, categorical_features=["color", "shape"], **QUICK).fit(numbers, y)
    same(model, by_price, frame, numbers)


def test_validation_rows_are_read_by_the_labels_of_the_training_rows():
    frame, _, y = table()
    valid, _, y_val = table(0, 120)
    turned = valid.assign(color=valid["color"].cat.reorder_categories(LABELS[::-1]))
    models = [CEGBRegressor(n_iter_no_change=3, **QUICK).fit(frame, y, X_val=X, y_val=y_val) for X in (valid, turned)]
    assert models[0].n_iter_ == models[1].n_iter_
    same(*models, valid, turned)


def test_a_path_keeps_labels_and_exact_costs():
    frame, _, y = table()
    model = CEGBRegressor(tradeoff=1e-3, **QUICK)
    path = model.fit_path(frame, y, X_val=frame, y_val=y)
    texts = frame.astype({"color": object})
    for point in path.points[::20]:
        predictor = path.predictor(point)
        assert predictor.categories == {"color": LABELS}
        assert predictor.cost(texts).mean == pytest.approx(point.cost, rel=1e-9)


def test_the_trees_are_scikit_learns_where_the_definitions_coincide():
    """One column of categories with many rows each, nothing missing, tradeoff 0.

    Elsewhere they differ: scikit-learn does not sort categories with fewer than ten rows but sends them right, takes
    what is missing for one more category of the order (here it is tried on both sides of every set), and sends
    categories that have no rows in a node right instead of the missing way.
    """
    rng = np.random.default_rng(5)
    color = np.repeat(np.arange(20), 40)
    y = rng.integers(-64, 65, 20)[color] / 16 + rng.integers(-16, 17, 800) / 32
    X = color[:, np.newaxis].astype(float)
    same_settings = {"learning_rate": 0.5, "min_samples_leaf": 5, "l2_regularization": 1.0}
    theirs = HistGradientBoostingRegressor(
        max_iter=4, max_leaf_nodes=6, categorical_features=[0], early_stopping=False, **same_settings
    ).fit(X, y)
    ours = CEGBRegressor(tradeoff=0.0, n_estimators=4, max_leaves=6, categorical_features=[0], **same_settings).fit(
        X, y
    )
    ours_by_number = CEGBRegressor(tradeoff=0.0, n_estimators=4, max_leaves=6, **same_settings).fit(X, y)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), rel=1e-6)
    assert ours_by_number.predict(X) != pytest.approx(theirs.predict(X), rel=1e-2)


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ("color", ParameterError, "categorical_features: expected names or positions"),
        (3, ParameterError, "categorical_features: expected names"),
        (["hue"], ParameterError, "'hue' is no column"),
        ([3], ParameterError, "3 is no column"),
        ([-1], ParameterError, "-1 is no column"),
        ([1.0], ParameterError, "1.0 is no column"),
        ([True], ParameterError, "a mask of 3 columns must be as long, got 1"),
        ({"hue": ("a",)}, ParameterError, "'hue' is no column"),
        ({"color": ("a", "a")}, DataError, "categories of 'color': expected distinct texts"),
        (["shape"], DataError, "column 'color' holds text"),
        ([0], DataError, "column 'size': categories must be finite"),
    ],
)
def test_impossible_columns_are_refused(columns, error, words):
    frame, _, y = table()
    if columns == [0]:
        frame = frame.assign(size=np.inf, color=0.0)
    with pytest.raises(error, match=words):
        CEGBRegressor(categorical_features=columns, **QUICK).fit(frame, y)


def test_texts_without_a_category_dtype_are_refused_with_what_to_do():
    frame, _, y = table()
    with pytest.raises(DataError, match=r"'color' holds text .* or one named in categorical_features, is split"):
        CEGBRegressor(**QUICK).fit(frame.astype({"color": object}), y)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
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
    assert model.cost(nullable).mean == model.cost(plain).mean


def test_numbers_that_doubles_do_not_tell_apart_are_no_categories():
    frame, _, y = table()
    for column in ([2**53, 2**53 + 1], [-(2**60), 0], [10**30, 1]):
        large = frame.assign(shape=pd.Series(column * 100, dtype=object).astype("category"))
        with pytest.raises(DataError, match=r"column 'shape': categories must be numbers below 2\^53"):
            CEGBRegressor(**QUICK).fit(large, y)
    CEGBRegressor(**QUICK).fit(frame.assign(shape=pd.Categorical([2**53 - 1, 1 - 2**53] * 100)), y)
