from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from naive_adopt import parts, scores, walk
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn_cases import HOLES, N_ROWS, RNG, SIGNAL, THREE, TWO, WHOLE, accepted_rows, assert_link, raw_scores

from costframe.adoption.sklearn.adopt import adopt_sklearn
from costframe.core.errors import AdoptionError

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
    assert_link(adopt_sklearn(model), model, rows)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_losses_with_a_logarithm(loss):
    model = HistGradientBoostingRegressor(loss=loss, max_iter=5, min_samples_leaf=5).fit(HOLES, np.abs(SIGNAL) + 0.1)
    adopted = adopt_sklearn(model)
    assert np.array_equal(adopted.decision_function(HOLES), model._raw_predict(HOLES)[:, 0])
    assert np.allclose(adopted.predict(HOLES), model.predict(HOLES), rtol=1e-15)


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


def test_a_category_of_nothing_is_refused():
    with pytest.raises(AdoptionError, match="the categories of 'f1' are neither all texts nor all numbers"):
        adopt_sklearn(fitted_histogram_with_nothing_as_a_category())
