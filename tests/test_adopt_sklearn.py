from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from naive_adopt import nasty_rows, parts, scores, walk
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

import costframe as cf
from costframe.adoption.sklearn import adopt_sklearn, is_sklearn
from costframe.core.errors import AdoptionError

N_ROWS, N_FEATURES = 240, 4
RNG = np.random.default_rng(11)
WHOLE = np.round(RNG.normal(size=(N_ROWS, N_FEATURES)), 1)  # few distinct values: many ties
HOLES = np.where(RNG.random(WHOLE.shape) < 0.15, np.nan, WHOLE)
SIGNAL = WHOLE[:, 0] + WHOLE[:, 1] * np.isnan(HOLES[:, 2]) + 0.3 * RNG.normal(size=N_ROWS)
TWO = np.where(SIGNAL > 0.2, "sick", "well")
THREE = np.digitize(SIGNAL, [-0.5, 0.5]) * 10
PAIR = np.column_stack([SIGNAL, np.abs(SIGNAL)])

SUMS_OVERFLOW = np.errstate(invalid="ignore")  # scikit-learn adds up all values to see whether they are finite

CLASSIFIERS = (DecisionTreeClassifier, ExtraTreeClassifier, RandomForestClassifier, ExtraTreesClassifier)
REGRESSORS = (DecisionTreeRegressor, ExtraTreeRegressor, RandomForestRegressor, ExtraTreesRegressor)


def grown(kind, **options):
    if "Forest" in kind.__name__ or "Trees" in kind.__name__:
        options = {"n_estimators": 5} | options
    return kind(max_depth=4, random_state=0, **options)


MEANS = {
    f"{kind.__name__}, {what}": (grown(kind), rows, target)
    for kinds, targets in ((CLASSIFIERS, {"two": TWO, "three": THREE}), (REGRESSORS, {"one": SIGNAL, "pair": PAIR}))
    for kind in kinds
    for what, target, rows in [(w, t, WHOLE) for w, t in targets.items()]
    + [("missing", next(iter(targets.values())), HOLES)]
}
MEANS |= {
    "best first": (RandomForestClassifier(4, max_leaf_nodes=9, random_state=0), WHOLE, THREE),
    "one class": (DecisionTreeClassifier(), WHOLE, np.zeros(N_ROWS, int)),
    "weighted classes": (DecisionTreeClassifier(class_weight="balanced", max_depth=3), HOLES, THREE),
    "fine thresholds": (DecisionTreeRegressor(), 1 + WHOLE * 2e-7, SIGNAL),
    "denormal thresholds": (DecisionTreeRegressor(), (WHOLE * 10).astype(int) * 1.4e-45, SIGNAL),
}


def accepted_rows(adopted, model_rows, seed=0, *, infinite=False):
    return nasty_rows(
        adopted.table, N_FEATURES, 200, missing=bool(np.isnan(model_rows).any()), infinite=infinite, seed=seed
    )


@pytest.mark.parametrize("name", MEANS)
@SUMS_OVERFLOW
def test_trees_and_forests(name):
    model, data, target = MEANS[name]
    model.fit(data, target)
    adopted = parts(adopt_sklearn(model))
    rows = np.concatenate([data, accepted_rows(adopted, data)])
    leaves = walk(adopted.table, rows)
    assert np.array_equal(leaves, model.apply(rows).reshape(len(rows), -1))
    expected = model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows).reshape(len(rows), -1)
    assert np.allclose(scores(adopted, leaves), expected, rtol=1e-15 * len(adopted.table), atol=1e-16)
    assert adopted.link == "identity"


def test_split_between_missing_and_present_values():
    data = HOLES[:, [0, 0, 0, 0]]
    model = DecisionTreeRegressor(max_depth=1).fit(data, np.isnan(data[:, 0]))
    adopted = parts(adopt_sklearn(model))
    assert adopted.table.threshold[0] == np.inf
    rows = np.array([[np.nan] * 4, [1e30] * 4, [-1e30] * 4])
    assert np.array_equal(walk(adopted.table, rows)[:, 0], model.apply(rows))


BOOSTED = {
    "binary": (GradientBoostingClassifier(n_estimators=6, learning_rate=0.3), TWO, "sigmoid"),
    "multiclass": (GradientBoostingClassifier(n_estimators=6), THREE, "softmax"),
    "binary, zero": (GradientBoostingClassifier(n_estimators=6, init="zero"), TWO, "sigmoid"),
    "multiclass, zero": (GradientBoostingClassifier(n_estimators=6, init="zero"), THREE, "softmax"),
    "binary, most frequent": (
        GradientBoostingClassifier(n_estimators=6, init=DummyClassifier(strategy="most_frequent")),
        TWO,
        "sigmoid",
    ),
    "regression": (GradientBoostingRegressor(n_estimators=6), SIGNAL, "identity"),
    "regression, huber": (GradientBoostingRegressor(n_estimators=6, loss="huber"), SIGNAL, "identity"),
    "regression, quantile": (GradientBoostingRegressor(n_estimators=6, loss="quantile"), SIGNAL, "identity"),
    "regression, absolute": (GradientBoostingRegressor(n_estimators=6, loss="absolute_error"), SIGNAL, "identity"),
    "regression, constant": (
        GradientBoostingRegressor(n_estimators=6, init=DummyRegressor(strategy="constant", constant=2.5)),
        SIGNAL,
        "identity",
    ),
    "early stopping": (
        GradientBoostingClassifier(n_estimators=200, n_iter_no_change=1, random_state=0),
        TWO,
        "sigmoid",
    ),
}


@pytest.mark.parametrize("name", BOOSTED)
@SUMS_OVERFLOW
def test_gradient_boosting(name):
    model, target, link = BOOSTED[name]
    model.fit(WHOLE, target)
    adopted = parts(adopt_sklearn(model))
    rows = np.concatenate([WHOLE, accepted_rows(adopted, WHOLE)])
    leaves = walk(adopted.table, rows)
    assert np.array_equal(leaves, model.apply(rows).reshape(len(rows), -1))
    assert np.array_equal(scores(adopted, leaves), raw_scores(model, rows))
    assert (adopted.link, adopted.intercept.size) == (link, 3 if link == "softmax" else 1)
    assert_link(adopted, model, rows, leaves)


def raw_scores(model, rows):
    raw = model.decision_function(rows) if hasattr(model, "classes_") else model.predict(rows)
    return raw.reshape(len(rows), -1)


def assert_link(adopted, model, rows, leaves):
    raw = scores(adopted, leaves)
    if adopted.link == "sigmoid":
        assert np.allclose(model.predict_proba(rows)[:, 1], expit(raw[:, 0]), rtol=1e-12)
    if adopted.link == "softmax":
        exponentials = np.exp(raw - raw.max(1, keepdims=True))
        assert np.allclose(model.predict_proba(rows), exponentials / exponentials.sum(1, keepdims=True), rtol=1e-12)


HISTOGRAM = {
    "binary": (HistGradientBoostingClassifier, {}, TWO, "sigmoid"),
    "multiclass": (HistGradientBoostingClassifier, {}, THREE, "softmax"),
    "early stopping": (HistGradientBoostingClassifier, {"max_iter": 100, "early_stopping": True}, THREE, "softmax"),
    "regression": (HistGradientBoostingRegressor, {}, SIGNAL, "identity"),
    "regression, quantile": (HistGradientBoostingRegressor, {"loss": "quantile", "quantile": 0.3}, SIGNAL, "identity"),
    "regression, absolute": (HistGradientBoostingRegressor, {"loss": "absolute_error"}, SIGNAL, "identity"),
    "monotone": (HistGradientBoostingRegressor, {"monotonic_cst": [1, 0, 0, 0]}, SIGNAL, "identity"),
}


def histogram_leaves(model, rows):
    """The original's leaves: its own compiled traversal, over nodes whose value is their number."""
    found = []
    for predictor in (predictor for predictors in model._predictors for predictor in predictors):
        nodes = predictor.nodes.copy()
        nodes["value"] = np.arange(len(nodes))
        numbered = TreePredictor(nodes, predictor.binned_left_cat_bitsets, predictor.raw_left_cat_bitsets)
        categories = model._bin_mapper.make_known_categories_bitsets()
        found.append(numbered.predict(rows, *categories, n_threads=1).astype(int))
    return np.column_stack(found)


@pytest.mark.parametrize("data", [WHOLE, HOLES, np.where(WHOLE > 1, np.inf, HOLES)], ids=["whole", "holes", "infinite"])
@pytest.mark.parametrize("name", HISTOGRAM)
def test_histogram_boosting(name, data):
    kind, options, target, link = HISTOGRAM[name]
    model = kind(**{"max_iter": 6, "max_leaf_nodes": 6, "min_samples_leaf": 5, "random_state": 0} | options)
    model.fit(data, target)
    adopted = parts(adopt_sklearn(model))
    rows = np.concatenate([data, accepted_rows(adopted, HOLES, infinite=True)])
    leaves = walk(adopted.table, rows)
    assert np.array_equal(leaves, histogram_leaves(model, rows))
    assert np.array_equal(scores(adopted, leaves), raw_scores(model, rows))
    assert (adopted.link, adopted.intercept.size) == (link, 3 if link == "softmax" else 1)
    assert_link(adopted, model, rows, leaves)


def test_names_come_from_the_data_the_caller_or_the_position():
    names = ["age", "chol", "thal", "bp"]
    model = DecisionTreeClassifier(max_depth=2)
    assert adopt_sklearn(model.fit(pd.DataFrame(WHOLE, columns=names), TWO)).feature_names == tuple(names)
    assert adopt_sklearn(model, list("abcd")).feature_names == ("a", "b", "c", "d")
    assert adopt_sklearn(model.fit(WHOLE, TWO)).feature_names == ("f0", "f1", "f2", "f3")
    boosted = GradientBoostingClassifier(n_estimators=2).fit(pd.DataFrame(WHOLE, columns=names), TWO)
    assert adopt_sklearn(boosted).feature_names == tuple(names)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b"], r"4 features.*got 2 feature names \(a, b\)"),
        (["a", "b", "c", "a"], "4 features.*more than once: a"),
    ],
)
def test_bad_names_are_refused(names, message):
    with pytest.raises(AdoptionError, match=message):
        adopt_sklearn(DecisionTreeRegressor(max_depth=2).fit(WHOLE, SIGNAL), names)


def colored(kind, missing):
    """Rows with a categorical column between numbers: texts, numbers that are not their own codes, or truth values."""
    n = 2000  # scikit-learn sorts no category of fewer than ten rows
    rng = np.random.default_rng(4)
    codes = rng.integers(0, {"texts": 40, "numbers": 70, "truth": 2}[kind], n)
    values = {
        "texts": np.array([f"k{c}" for c in codes], object), "numbers": 3.5 - 2.0 * codes, "truth": codes == 1,
    }[kind]  # fmt: skip
    frame = pd.DataFrame({"size": rng.standard_normal(n), "color": pd.Series(values), "age": rng.standard_normal(n)})
    if missing:
        frame["color"] = frame["color"].astype(object).where(rng.random(n) > 0.1)
    signal = 3.0 * rng.standard_normal(80)[codes] + frame["size"]
    return frame.astype({"color": "category"}), signal


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", ["texts", "numbers", "truth"])
@pytest.mark.parametrize("estimator", [HistGradientBoostingClassifier, HistGradientBoostingRegressor])
def test_categories_of_histogram_boosting(estimator, kind, missing):
    frame, signal = colored(kind, missing)
    model = estimator(max_iter=6, max_leaf_nodes=8, min_samples_leaf=3, categorical_features="from_dtype")
    model.fit(frame, signal if estimator is HistGradientBoostingRegressor else signal > 0)
    adopted = adopt_sklearn(model)
    assert adopted.bank.trees.category_count.any()
    assert ("color" in adopted.categories) == (kind == "texts")
    unseen = pd.Categorical(["violet" if kind == "texts" else 1e6] * len(frame))
    for rows in (frame, frame.assign(color=pd.Series([None] * len(frame), dtype=frame["color"].dtype))):
        assert np.array_equal(adopted.decision_function(rows), raw_scores(model, rows).ravel())
    rows = frame.assign(color=unseen)
    assert np.array_equal(adopted.decision_function(rows), raw_scores(model, rows).ravel())


def fitted_histogram_with_nothing_as_a_category():
    colors = np.array(["red", None], object)[RNG.integers(0, 2, N_ROWS)]
    X = np.stack([WHOLE[:, 0].astype(object), colors], axis=1)
    return HistGradientBoostingRegressor(max_iter=2, categorical_features=[1]).fit(X, SIGNAL)


REFUSED = {
    "pipeline": (lambda: make_pipeline(StandardScaler(), DecisionTreeClassifier()), "Pipeline: a pipeline cannot"),
    "linear": (LinearRegression, "LinearRegression: cannot be adopted.*Supported are DecisionTreeClassifier"),
    "other ensemble": (AdaBoostClassifier, "AdaBoostClassifier: cannot be adopted.*Supported are"),
    "no model": (object, "object: cannot be adopted"),
    "unfitted tree": (DecisionTreeClassifier, "DecisionTreeClassifier: is not fitted"),
    "unfitted forest": (RandomForestRegressor, "RandomForestRegressor: is not fitted"),
    "unfitted boosting": (HistGradientBoostingClassifier, "HistGradientBoostingClassifier: is not fitted"),
    "several outputs": (
        lambda: RandomForestClassifier(2).fit(WHOLE, PAIR > 0),
        "RandomForestClassifier: a multi-output classifier cannot be adopted, it has 2 outputs",
    ),
    "exponential loss": (
        lambda: GradientBoostingClassifier(n_estimators=2, loss="exponential").fit(WHOLE, TWO),
        "loss='exponential' cannot be adopted",
    ),
    "init estimator": (
        lambda: GradientBoostingRegressor(n_estimators=2, init=LinearRegression()).fit(WHOLE, SIGNAL),
        r"init=LinearRegression\(\) cannot be adopted",
    ),
    "random init": (
        lambda: GradientBoostingClassifier(n_estimators=2, init=DummyClassifier(strategy="uniform")).fit(WHOLE, TWO),
        r"init=DummyClassifier\(strategy='uniform'\) cannot be adopted",
    ),
    "poisson": (
        lambda: HistGradientBoostingRegressor(max_iter=2, loss="poisson").fit(WHOLE, np.abs(SIGNAL)),
        "loss='poisson' cannot be adopted",
    ),
    "gamma": (
        lambda: HistGradientBoostingRegressor(max_iter=2, loss="gamma").fit(WHOLE, np.abs(SIGNAL) + 1),
        "loss='gamma' cannot be adopted",
    ),
    "categories": (fitted_histogram_with_nothing_as_a_category, "the categories of 'f1' are neither all texts nor all"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_adopted_is_refused_by_name(name):
    make, message = REFUSED[name]
    with pytest.raises(AdoptionError, match=message):
        adopt_sklearn(make())


def test_a_class_derived_by_the_user_is_adopted():
    mine = type("Mine", (RandomForestClassifier,), {"__module__": "elsewhere"})
    model = mine(n_estimators=3, max_depth=2).fit(WHOLE, TWO)
    assert isinstance(cf.adopt(model), cf.StageTree)
    assert np.array_equal(walk(adopt_sklearn(model).bank.trees, WHOLE), model.apply(WHOLE))


def test_is_sklearn_tells_models_apart():
    assert is_sklearn(DecisionTreeClassifier())
    assert is_sklearn(HistGradientBoostingRegressor())
    assert is_sklearn(make_pipeline(DecisionTreeClassifier()))  # to be refused by name
    assert not is_sklearn(type("Mine", (BaseEstimator,), {"__module__": "elsewhere"})())
    assert not is_sklearn(object())


def test_is_sklearn_does_not_import_scikit_learn():
    code = "import sys; from costframe.adoption.sklearn import is_sklearn as f; f(3); "
    code += "sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own code
