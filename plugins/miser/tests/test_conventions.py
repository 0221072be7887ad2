"""scikit-learn's conventions, and the shell around the algorithm."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import costframe as cf
from costframe.core.errors import CostframeError
from costframe_miser import MiserClassifier, MiserRanker, MiserRegressor

EXPECTED = {
    "MiserClassifier": {
        "check_class_weight_classifiers": "sets n_iter_no_change without validation data; here that is an error"
    }
}
KINDS = (MiserClassifier, MiserRegressor, MiserRanker)


@parametrize_with_checks(
    [kind(n_estimators=20) for kind in KINDS],
    expected_failed_checks=lambda estimator: EXPECTED.get(type(estimator).__name__, {}),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.iloc[:, :6], y.to_numpy()
    costs = cf.CostModel.from_dict({"features": {name: 1.0 + i for i, name in enumerate(X.columns)}})
    return X, y, costs


def test_frames_are_matched_to_prices_by_name(cancer):
    X, y, costs = cancer
    shuffled = X[X.columns[::-1]]
    one = MiserClassifier(costs, 0.01, n_estimators=30).fit(X, y)
    other = MiserClassifier(costs, 0.01, n_estimators=30).fit(shuffled, y)
    assert one.cost(X).by_feature == pytest.approx(other.cost(X).by_feature)
    np.testing.assert_allclose(one.predict_proba(X), one.predict_proba(shuffled))
    np.testing.assert_allclose(one.predict_proba(X), one.predict_proba(pl.from_pandas(shuffled)))
    np.testing.assert_array_equal(one.predictor_.predict(shuffled), one.predictor_.predict(X))


def test_arrays_are_matched_by_position(cancer):
    X, y, costs = cancer
    named = MiserClassifier(costs, 0.01, n_estimators=10).fit(X, y)
    plain = MiserClassifier(costs, 0.01, n_estimators=10).fit(X.to_numpy(), y)
    assert plain.predictor_.feature_names == costs.names
    np.testing.assert_array_equal(named.predict_proba(X), plain.predict_proba(X.to_numpy()))
    assert MiserClassifier(n_estimators=2).fit(X.to_numpy(), y).predictor_.feature_names[:2] == ("x0", "x1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: ((X.to_numpy()[:, :3], y), {}), "price 6 features .* 3 columns"),
        (lambda X, y: ((X.rename(columns={"mean radius": "radius"}), y), {}), "no price for 'radius'"),
        (lambda X, y: ((X.iloc[:, :5], y), {}), "mean compactness"),
        (lambda X, y: ((X, y, -np.ones(len(y))), {}), "sample_weight: expected finite numbers >= 0"),
        (lambda X, y: ((X, y, np.zeros(len(y))), {}), "all are zero"),
        (lambda X, y: ((X, y, np.ones(3)), {}), "sample_weight: expected one weight a row"),
        (lambda X, y: ((X, y[:-1]), {}), "y: expected 569 labels"),
        (lambda X, y: ((X, np.zeros(len(y))), {}), "at least two classes"),
        (lambda X, y: ((X, y), {"X_val": X}), "only X_val"),
        (lambda X, y: ((X, y), {"y_val": y}), "only y_val"),
        (lambda X, y: ((X, y), {"sample_weight_val": y}), "sample_weight_val: has no effect"),
        (lambda X, y: ((X, y), {"X_val": X, "y_val": y + 1}), "y_val: has classes"),
    ],
)
def test_bad_input_is_named(cancer, change, message):
    X, y, costs = cancer
    arguments, keywords = change(X, y)
    with pytest.raises(CostframeError, match=message):
        MiserClassifier(costs).fit(*arguments, **keywords)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tradeoff", -1.0),
        ("tradeoff", np.nan),
        ("tradeoff", "much"),
        ("n_estimators", 0),
        ("n_estimators", 2.5),
        ("learning_rate", 0.0),
        ("learning_rate", 1.5),
        ("max_depth", 0),
        ("max_leaves", 1),
        ("min_samples_leaf", 0),
        ("l2_regularization", -1),
        ("max_bins", 256),
        ("n_iter_no_change", 5),
        ("scoring", "loss"),
        ("shrink_recurring", True),
        ("n_jobs", 0.5),
        ("verbose", -1),
    ],
)
def test_bad_settings_are_named(cancer, name, value):
    X, y, costs = cancer
    with pytest.raises(CostframeError, match=f"{name}: "):
        MiserClassifier(costs).set_params(**{name: value}).fit(X, y)


def test_works_in_a_pipeline_a_grid_search_and_a_pickle(cancer):
    X, y, _ = cancer
    search = GridSearchCV(MiserClassifier(n_estimators=5), {"tradeoff": [0.0, 1e-2]}, cv=2).fit(X.to_numpy(), y)
    assert search.best_score_ > 0.8
    pipeline = make_pipeline(StandardScaler(), MiserClassifier(n_estimators=5)).fit(X.to_numpy(), y)
    assert pipeline.score(X.to_numpy(), y) > 0.8
    again = pickle.loads(pickle.dumps(search.best_estimator_))  # noqa: S301 - our own bytes
    np.testing.assert_array_equal(again.predict(X.to_numpy()), search.best_estimator_.predict(X.to_numpy()))


def test_class_weights_are_sample_weights(cancer):
    X, y, costs = cancer
    weighted = MiserClassifier(costs, n_estimators=5, class_weight={0: 3.0, 1: 1.0}).fit(X, y)
    repeated = MiserClassifier(costs, n_estimators=5).fit(X, y, np.where(y == 0, 3.0, 1.0))
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


@pytest.mark.parametrize("weights", [{0: 0.0, 1: 1.0}, {0: -1.0, 1: 1.0}, {7: 1.0}, "uneven"])
def test_bad_class_weights_are_named(cancer, weights):
    X, y, costs = cancer
    with pytest.raises(CostframeError, match="class_weight: "):
        MiserClassifier(costs, class_weight=weights).fit(X, y)


@pytest.mark.parametrize("qid", [[0, 0, 1], [1], np.zeros((60, 1))])
def test_a_ranker_checks_queries_and_grades(qid):
    X, grades = np.arange(60.0).reshape(-1, 1), np.arange(60) % 3
    model = MiserRanker(n_estimators=2).fit(X, grades, qid=np.repeat(np.arange(6), 10))
    with pytest.raises(CostframeError, match="qid: expected one query a row"):
        model.score(X, grades, qid=qid)
    for wrong in (grades - 1, grades + 1000):
        with pytest.raises(CostframeError, match="y: expected grades from 0 to 100"):
            model.fit(X, wrong)


def test_mixed_labels_and_text_are_refused(cancer):
    X, y, costs = cancer
    mixed = np.array([1, "a"] * len(y), object)[: len(y)]
    with pytest.raises(CostframeError, match="y: expected classes of one kind"):
        MiserClassifier(costs).fit(X, mixed)
    with pytest.raises(CostframeError, match="got text"):
        MiserClassifier(costs).fit(X.to_numpy().astype(str), y)


def test_unfitted_is_said(cancer):
    for kind in KINDS:
        with pytest.raises(NotFittedError):
            kind().cost(cancer[0])
        with pytest.raises(NotFittedError):
            _ = kind().bank_


def test_clone_keeps_parameters_untouched():
    costs = {"features": {"a": 1}}
    model = MiserClassifier(costs, 0.5, max_depth=2)
    copy = clone(model)
    assert copy.get_params()["costs"] == costs
    assert model.costs is costs
    assert copy.get_params() == model.get_params()


def test_string_labels_and_progress(cancer, capsys):
    X, y, costs = cancer
    labels = np.where(y == 1, "benign", "malignant")
    model = MiserClassifier(costs, n_estimators=3, verbose=1).fit(X, labels)
    assert set(model.predict(X)) == {"benign", "malignant"}
    assert "Greedy Miser" in capsys.readouterr().err
    assert model.decision_function(X).shape == (len(X),)


def test_infinite_and_missing_values_are_values(cancer):
    X, y, costs = cancer
    X = X.to_numpy().copy()
    X[::3, 0], X[1::3, 0], X[::7, 1] = np.nan, np.inf, -np.inf
    model = MiserClassifier(costs, n_estimators=10).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_frame_without_columns_of_the_training_is_refused(cancer):
    X, y, costs = cancer
    model = MiserClassifier(costs, n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame({"other": [1.0]}))
