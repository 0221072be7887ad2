"""Scores by all names of scikit-learn: the same numbers, and refusals."""

from __future__ import annotations

import inspect
import re
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    d2_brier_score,
    f1_score,
    fbeta_score,
    get_scorer,
    get_scorer_names,
    hinge_loss,
    log_loss,
    make_scorer,
    mean_squared_error,
    r2_score,
    roc_auc_score,
    zero_one_loss,
)

import costframe as cf
from costframe.choices import Frontier
from costframe.datasets import Dataset
from costframe.errors import UselessBudgetWarning
from costframe.plugin import DataError, ParameterError
from costframe.study.score_choice import choose_score
from costframe.training.basic_scores import SCORES
from costframe.training.influences import influence
from costframe.training.scoring import best_value, resolve_score, score_named, with_labels

N = 240
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
LABELS = {
    2: (X[:, 0] + RNG.normal(size=N) > 0).astype(int),
    3: np.digitize(X[:, 0] + RNG.normal(size=N), [-0.5, 0.5]),
    0: 6 + X[:, 0] + 0.8 * RNG.normal(size=N),
}
MODELS = {kind: (LogisticRegression(C=0.01) if kind else LinearRegression()).fit(X, y) for kind, y in LABELS.items()}


def predictions(kind):
    if not kind:
        return MODELS[0].predict(X)
    p = MODELS[kind].predict_proba(X)
    return p[:, 1] if kind == 2 else p


def fits(name, kind):
    try:
        choose_score("score", name, "classification" if kind else "regression", kind)
    except ParameterError:
        return False
    return True


USABLE = sorted((name, kind) for name in get_scorer_names() for kind in LABELS if fits(name, kind))
OTHERS = [each for each in USABLE if each[0] not in SCORES]


def test_every_score_for_labels_and_predictions_is_usable():
    left = set(get_scorer_names()) - {name for name, _ in USABLE}
    clusterings = {name for name in left if "cluster" in get_scorer(name)._score_func.__module__}
    assert left - clusterings == {"f1_samples", "jaccard_samples", "precision_samples", "recall_samples"}
    assert len(OTHERS) > 40


@pytest.mark.parametrize(("name", "kind"), OTHERS)
def test_scores_are_scikit_learns(name, kind):
    y, p, weight = LABELS[kind], predictions(kind), RNG.integers(1, 4, N).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer = get_scorer(name)
        assert score_named(name)(y, p, None, None) == pytest.approx(scorer(MODELS[kind], X, y), nan_ok=True)
        if name != "neg_max_error" and "likelihood_ratio" not in name and "ovo" not in name:  # these take no weights
            found = score_named(name)(y, p, weight, None)
            assert found == pytest.approx(scorer(MODELS[kind], X, y, sample_weight=weight), nan_ok=True)


TEXTS = {2: np.array(["yes", "no"])[LABELS[2]], 3: np.array(["c", "a", "b"])[LABELS[3]], 0: LABELS[0]}  # in no order
FITTED = {kind: (LogisticRegression(C=0.01) if kind else LinearRegression()).fit(X, y) for kind, y in TEXTS.items()}


def gain(y_true, y_pred):
    return float(np.mean(np.where(y_true == y_pred, 1.0, np.where(y_true == "yes", -5.0, -1.0))))


def weighted_gain(y_true, y_pred, sample_weight=None):
    return float(np.average(y_true == y_pred, weights=sample_weight))


def with_bias(estimator, X, y):
    return -abs(float(np.mean(np.asarray(estimator.predict(X)) - y)))


def first_class(estimator, X, y):
    return float(np.mean(estimator.predict_proba(X)[y == estimator.classes_[0], 0])) / len(X)


OWN = {  # what a caller gives, by the number of classes; and scikit-learn's scorer of it
    "labels": (2, make_scorer(f1_score, pos_label="yes"), None),
    "probabilities": (2, make_scorer(brier_score_loss, response_method="predict_proba", greater_is_better=False,
                                     pos_label="no"), None),
    "cross-entropy": (3, make_scorer(log_loss, response_method="predict_proba", greater_is_better=False,
                                     labels=["a", "b", "c"]), None),
    "a function": (2, gain, make_scorer(gain)),
    "a function with weights": (2, weighted_gain, make_scorer(weighted_gain)),
    "a partial": (2, partial(fbeta_score, beta=2, pos_label="yes"), make_scorer(fbeta_score, beta=2, pos_label="yes")),
    "an estimator": (3, first_class, first_class),
    "an estimator of numbers": (0, with_bias, with_bias),
}  # fmt: skip


def own_score(case):
    kind, given, scorer = OWN[case]
    classes = FITTED[kind].classes_ if kind else None
    score = with_labels(choose_score("scoring", given, "classification" if kind else "regression", kind), classes)
    codes = np.searchsorted(classes, TEXTS[kind]) if kind else TEXTS[kind]
    p = FITTED[kind].predict_proba(X) if kind else FITTED[kind].predict(X)
    return kind, score, scorer or given, codes, p[:, 1] if kind == 2 else p


@pytest.mark.parametrize("case", OWN)
def test_scores_of_a_caller_are_what_scikit_learn_makes_of_the_same_predictions(case):
    kind, score, scorer, codes, p = own_score(case)
    assert score_named(score)(codes, p) == pytest.approx(scorer(FITTED[kind], X, TEXTS[kind]), rel=1e-12)
    weight = RNG.integers(1, 4, N).astype(float)
    takes = scorer if not hasattr(scorer, "_score_func") else scorer._score_func
    if "sample_weight" in inspect.signature(takes).parameters:
        expected = scorer(FITTED[kind], X, TEXTS[kind], sample_weight=weight)
        assert score_named(score)(codes, p, weight) == pytest.approx(expected, rel=1e-12)
    else:
        with pytest.raises(ParameterError, match=re.escape(f"score: {score} takes no sample weights")):
            score_named(score)(codes, p, weight)
    assert np.isfinite(influence(score, codes, p)).all()
    assert np.isinf(best_value(str(score)))


def test_scorers_that_scikit_learn_has_a_name_for_are_that_name():
    for name in get_scorer_names():
        assert resolve_score(get_scorer(name)) == name
    names = {
        "roc_auc": roc_auc_score, "accuracy": accuracy_score, "neg_log_loss": log_loss,
        "neg_mean_squared_error": mean_squared_error, "r2": r2_score,
    }  # fmt: skip
    assert {name: resolve_score(metric) for name, metric in names.items()} == {name: name for name in names}
    assert str(resolve_score(f1_score)) == "make_scorer(f1_score)"
    assert str(resolve_score(d2_brier_score)) == "d2_brier_score"
    assert resolve_score(make_scorer(mean_squared_error, greater_is_better=False)) == "neg_mean_squared_error"
    assert str(resolve_score(make_scorer(mean_squared_error))) == "make_scorer(mean_squared_error)"


@pytest.mark.parametrize("case", ["labels", "an estimator of numbers", "a function"])
def test_searches_sweeps_and_training_choose_by_the_scores_of_a_caller(case, tmp_path):
    kind, given, scorer = OWN[case]
    y, task = TEXTS[kind], "classification" if kind else "regression"
    how = {"points": 4} if case == "labels" else {"tradeoffs": [0.0, 0.1]}  # by a path, and at given tradeoffs
    model = cf.estimator("cegb", task, n_estimators=5)
    found = Frontier.fit(model, X, y, X_test=X, y_test=y, scoring=given, cv=0, **how)
    for point in found:
        assert point.test_score == pytest.approx((scorer or given)(found.model(point), X, y), rel=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UselessBudgetWarning)
        search = cf.BudgetSearch(model, 100.0, scoring=given, cv=0, **how).fit(X, y)
    assert [p.score for p in search.frontier_] == pytest.approx([p.score for p in found])
    settings = {"score": given, "parameters": {"n_estimators": 5}, "cv": 0, "directory": tmp_path, **how}
    data = Dataset.from_arrays(X, y, task=task)
    swept = Frontier.sweep(data, ["cegb"], **settings)
    assert Frontier.sweep(data, ["cegb"], **settings, resume=True).points == swept.points
    with pytest.raises(ParameterError, match="has another score"):
        Frontier.sweep(data, ["cegb"], **settings | {"score": make_scorer(weighted_gain)}, resume=True)
    if kind:
        model.set_params(n_iter_no_change=5, scoring=given).fit(X[:160], y[:160], X_val=X[160:], y_val=y[160:])
        best = max(model.evals_result_["validation"]["score"])
        assert (scorer or given)(model, X[160:], y[160:]) == pytest.approx(best)


@pytest.mark.parametrize(
    ("scoring", "text"),
    [
        (zero_one_loss, r"zero_one_loss seems to be lower .* make_scorer\(zero_one_loss, greater_is_better=False"),
        (lambda y: y.mean(), r"scoring: expected the name of a score, .* got <lambda>, which needs 1 argument"),
        ("f1_marco", "did you mean 'f1_macro'"),
        ("f1_samples", "'f1_samples' is for rows with several labels each"),
        ("top_k_accuracy", "not 'top_k_accuracy', which is refused by it: 'k' .2. greater"),
        ("neg_max_error", "not 'neg_max_error', which is for numbers"),
        (get_scorer("v_measure_score"), "'v_measure_score' compares clusterings"),
        (lambda model, rows, y: model.cost(rows).mean - y, r"of \d+ rows: AttributeError: .*; scores get .*no feat"),
        (make_scorer(hinge_loss, response_method="decision_function"), "hinge_loss.* has none of .* decision_function"),
        (lambda y_true, y_pred: np.nan * len(y_true) * len(y_pred), r"score: there is no make_scorer\(<lambda>\) on"),
    ],
)  # fmt: skip
def test_scores_of_a_caller_that_do_not_fit_are_refused_by_name(scoring, text):
    with pytest.raises((ParameterError, DataError), match=text):
        Frontier.fit(cf.CEGBClassifier(n_estimators=2), X, TEXTS[2], scoring=scoring, tradeoffs=[0.0], cv=0)
