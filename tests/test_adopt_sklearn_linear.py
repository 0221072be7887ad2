"""Linear models of scikit-learn as columns with weights: the same scores, probabilities and labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model as lm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.svm import LinearSVC, LinearSVR
from sklearn_cases import N_FEATURES, PAIR, SIGNAL, THREE, TWO, WHOLE, probabilities

from costframe.adoption.sklearn.adopt import adopt_sklearn
from costframe.core.errors import AdoptionError
from costframe.core.predictors.classes import likeliest

CLASSIFIERS = [
    lm.LogisticRegression(),
    lm.LogisticRegressionCV(cv=2, Cs=2, scoring="accuracy", use_legacy_attributes=False, l1_ratios=(0.0,)),
    LinearDiscriminantAnalysis(),
    *(lm.SGDClassifier(loss=loss, random_state=0) for loss in ("log_loss", "modified_huber", "hinge")),
    LinearSVC(),
    lm.Perceptron(),
    lm.RidgeClassifier(),
    lm.RidgeClassifierCV(),
    DummyClassifier(strategy="prior"),
    DummyClassifier(strategy="most_frequent"),
]
REGRESSORS = [
    lm.LinearRegression(),
    lm.LinearRegression(fit_intercept=False),
    *(getattr(lm, name)() for name in ("Ridge", "RidgeCV", "Lars", "LassoLarsIC", "OrthogonalMatchingPursuit")),
    *(lm.Lasso(0.05), lm.ElasticNet(0.05), lm.LassoLars(0.01), lm.SGDRegressor(random_state=0), LinearSVR()),
    *(lm.BayesianRidge(), lm.ARDRegression(), lm.HuberRegressor(), lm.QuantileRegressor(alpha=0.01)),
    *(lm.PoissonRegressor(), lm.GammaRegressor()),
    *(lm.TweedieRegressor(power=1.5), lm.TweedieRegressor(power=0), lm.TweedieRegressor(power=0, link="log")),
    lm.RANSACRegressor(random_state=0),
    DummyRegressor(strategy="median"),
]
ROWS = np.concatenate([WHOLE, np.random.default_rng(1).normal(size=(60, N_FEATURES)) * 3])


@pytest.mark.parametrize("target", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_classifiers(model, target):
    adopted = adopt_sklearn(model.fit(WHOLE, target))
    if hasattr(model, "predict_proba"):
        predicted = adopted.predict(ROWS).reshape(len(ROWS), -1)
        np.testing.assert_allclose(predicted, probabilities(model, ROWS), rtol=1e-12, atol=1e-13)
    else:
        np.testing.assert_allclose(adopted.decision_function(ROWS), model.decision_function(ROWS), rtol=0, atol=1e-12)
    if adopted.classes is None:  # equal probabilities of 0 or 1, where the original compares scores
        assert model.loss == "modified_huber"
    else:
        assert likeliest(adopted.predict(ROWS), adopted.classes).tolist() == model.predict(ROWS).tolist()


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_regressors(model):
    model.fit(WHOLE, np.abs(SIGNAL) + 0.1)
    np.testing.assert_allclose(adopt_sklearn(model).predict(ROWS), model.predict(ROWS), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("model", [lm.LinearRegression(), lm.MultiTaskLasso(0.05), DummyRegressor()], ids=str)
def test_several_outputs(model):
    model.fit(WHOLE, PAIR)
    np.testing.assert_allclose(adopt_sklearn(model).predict(ROWS), model.predict(ROWS), rtol=1e-12, atol=1e-12)


def test_labels_of_several_labels_a_row_are_their_scores():
    model = lm.RidgeClassifier().fit(WHOLE, (PAIR > 0.3).astype(int))
    adopted = adopt_sklearn(model)
    assert adopted.classes is None
    np.testing.assert_allclose(adopted.predict(ROWS), model.decision_function(ROWS), rtol=1e-12, atol=1e-12)


def test_columns_without_weight_are_not_read():
    model = lm.Lasso(0.2).fit(WHOLE, WHOLE[:, 1] - WHOLE[:, 3])
    adopted = adopt_sklearn(model, list("abcd"))
    assert adopted.used_features == ("b", "d")
    np.testing.assert_array_equal(adopted.cost(WHOLE).per_row, 2.0)


def test_a_row_that_lacks_a_value_has_no_prediction():
    """The original refuses it."""
    adopted = adopt_sklearn(lm.LogisticRegression().fit(WHOLE, TWO))
    rows = np.where(np.arange(N_FEATURES) == [[0], [2]], np.nan, WHOLE[:2])
    assert np.isnan(adopted.predict(rows)).all()


def test_sparse_weights():
    model = lm.SGDClassifier(penalty="l1", random_state=0).fit(WHOLE, THREE).sparsify()
    assert sparse.issparse(model.coef_)
    np.testing.assert_allclose(
        adopt_sklearn(model).decision_function(ROWS), model.decision_function(ROWS), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize(("several", "solver"), [("ovr", "lbfgs"), ("auto", "liblinear")])
def test_one_versus_rest_of_older_scikit_learn(several, solver):
    model = lm.LogisticRegression().fit(WHOLE, THREE)
    model.multi_class, model.solver = several, solver
    each = 1 / (1 + np.exp(-model.decision_function(ROWS)))
    np.testing.assert_allclose(adopt_sklearn(model).predict(ROWS), each / each.sum(axis=1, keepdims=True), rtol=1e-12)


def test_two_classes_as_several_of_older_scikit_learn():
    model = lm.LogisticRegression().fit(WHOLE, TWO)
    model.multi_class = "multinomial"
    expected = 1 / (1 + np.exp(-2 * model.decision_function(ROWS)))
    np.testing.assert_allclose(adopt_sklearn(model).predict(ROWS), expected, rtol=1e-12)


@pytest.mark.parametrize("strategy", ["uniform", "stratified"])
def test_predictions_by_chance_are_refused(strategy):
    with pytest.raises(AdoptionError, match=f"DummyClassifier: strategy='{strategy}' cannot be adopted"):
        adopt_sklearn(DummyClassifier(strategy=strategy).fit(WHOLE, TWO))
