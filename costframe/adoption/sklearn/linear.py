"""scikit-learn's linear models, and its models of a constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from costframe.adoption.sklearn.terms import Term, columns_term, constant_term
from costframe.core.arrays import F8
from costframe.core.errors import AdoptionError
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.links import BlendPart

_CROSS_VALIDATED = ("Ridge", "Lasso", "ElasticNet", "Lars", "LassoLars", "MultiTaskLasso", "MultiTaskElasticNet")
_REGRESSORS = (
    *(name + end for name in (*_CROSS_VALIDATED, "OrthogonalMatchingPursuit") for end in ("", "CV")),
    *("LassoLarsIC", "LinearRegression", "BayesianRidge", "ARDRegression", "HuberRegressor", "QuantileRegressor"),
    *("TheilSenRegressor", "LinearSVR", "SGDRegressor", "PassiveAggressiveRegressor"),
)
_SCORES = ("RidgeClassifier", "RidgeClassifierCV", "LinearSVC", "Perceptron", "PassiveAggressiveClassifier")


def _read_scores(model: Any, names: tuple[str, ...]) -> Term:
    """Return the linear scores, as many as outputs or classes, of two classes one."""
    coefficients = model.coef_.toarray() if hasattr(model.coef_, "toarray") else np.asarray(model.coef_)
    weights = np.atleast_2d(coefficients).T
    intercept = np.broadcast_to(np.ravel(np.asarray(model.intercept_, np.float64)), weights.shape[1])
    return columns_term(names, weights, intercept)


def adopt_regressor(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt a linear regressor."""
    return _read_scores(model, names).answer()


def adopt_general(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt a generalized linear model, with the link exp or identity."""
    link = getattr(model, "link", "log")
    if link == "auto":
        link = "identity" if model.power <= 0 else "log"
    return _read_scores(model, names).answer("exp" if link == "log" else "identity")


def adopt_scores(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt a linear classifier without probabilities: its scores; for two classes 1 where the score is above zero."""
    term = _read_scores(model, names)
    return term.answer("step" if term.n_values == 1 else "identity")


def adopt_logistic(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt a classifier whose probabilities are the sigmoid or the softmax of linear scores."""
    term, several = _read_scores(model, names), getattr(model, "multi_class", "auto")  # up to scikit-learn 1.7
    if term.n_values == 1:
        return term.answer("sigmoid", 0.5 if several == "multinomial" else 1.0, by_scores=True)
    is_one_versus_rest = several == "ovr" or (
        several != "multinomial" and getattr(model, "solver", None) == "liblinear"
    )
    return one_versus_rest(term, BlendPart("sigmoid", term.n_values)) if is_one_versus_rest else term.answer("softmax")


def adopt_descent(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt SGDClassifier: probabilities of the losses log_loss and modified_huber, else scores."""
    term = _read_scores(model, names)
    if model.loss == "log_loss":
        is_binary = term.n_values == 1
        return (
            term.answer("sigmoid", by_scores=True)
            if is_binary
            else one_versus_rest(term, BlendPart("sigmoid", term.n_values))
        )
    if model.loss != "modified_huber":
        return adopt_scores(model, names)
    parts = [BlendPart("knots", knots=((-1.0, 1.0), (0.0, 1.0)))] * term.n_values
    return term.linked(*parts).answer(by_scores=True) if term.n_values == 1 else one_versus_rest(term, *parts)


def one_versus_rest(term: Term, *parts: BlendPart) -> StageTree:
    """Return the model whose probabilities are those of each class against the rest, divided by their sum.

    Its labels are those of the largest scores, as large scores have equal probabilities.
    """
    return term.linked(*parts).linked(BlendPart("normalized", term.n_values)).answer(by_scores=True)


def adopt_constant(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt a DummyClassifier or DummyRegressor."""
    name = type(model).__name__
    if model.strategy in {"stratified", "uniform"}:
        raise AdoptionError(f"{name}: strategy={model.strategy!r} cannot be adopted, it predicts by chance")
    if model.n_outputs_ > 1 and hasattr(model, "classes_"):
        raise AdoptionError(f"{name}: has {model.n_outputs_} labels a row; fit one classifier for each")
    predict = model.predict_proba if hasattr(model, "classes_") else model.predict
    values: F8 = np.ravel(predict(np.zeros((1, len(names)))))
    return constant_term(names, values[1:] if hasattr(model, "classes_") and len(values) == 2 else values).answer()


# Stands below the functions that it names.
_PROBABILITIES = {
    **dict.fromkeys(("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis"), adopt_logistic),
    "SGDClassifier": adopt_descent,
}


SCORED = (*_SCORES, *_PROBABILITIES)
"""Classifiers whose `decision_function` gives the scores of the adopted answer."""


LINEAR = {
    **dict.fromkeys(_REGRESSORS, adopt_regressor),
    **dict.fromkeys(("PoissonRegressor", "GammaRegressor", "TweedieRegressor"), adopt_general),
    **dict.fromkeys(_SCORES, adopt_scores),
    **_PROBABILITIES,
    **dict.fromkeys(("DummyClassifier", "DummyRegressor"), adopt_constant),
}
