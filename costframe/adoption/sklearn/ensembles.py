"""Adoption of scikit-learn's ensembles of any models: bagging, voting and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from costframe.adoption.callable_model import Method
from costframe.adoption.foreign import refused
from costframe.adoption.sklearn.members import Members
from costframe.adoption.sklearn.terms import Term, constant_term
from costframe.core.predictors.predictor import Predictor
from costframe.core.stages.links import BlendPart
from costframe.core.tables.as_given import AsGiven


def adopt_bag(model: Any, names: tuple[str, ...]) -> Predictor:
    """Adopt BaggingClassifier or BaggingRegressor: means of probabilities or of values."""
    method: Method = "predict_proba" if hasattr(model, "classes_") else "predict"
    for member in model.estimators_:
        if not hasattr(member, method):
            raise refused(model, f"its members, {type(member).__name__}, vote, they have no predict_proba")
    members, terms = Members(model, names), []
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        some = None if np.array_equal(columns, np.arange(len(names))) else columns
        term = members.predicted(member, method, some)
        terms.append(_spread_classes(term, member, model) if method == "predict_proba" else term)
    bag = members.predictor(members.sum(terms).divided(len(terms)).answer())
    if AsGiven() in bag.categories.values():
        raise refused(model, "its members tell kinds of values, and a bag makes one array of all columns")
    return bag


def adopt_voting(model: Any, names: tuple[str, ...]) -> Predictor:
    """Adopt VotingRegressor, or VotingClassifier with soft votes: weighted means."""
    if getattr(model, "voting", "soft") == "hard":
        raise refused(model, "voting='hard' counts labels; voting='soft' averages probabilities, which can be adopted")
    method: Method = "predict_proba" if hasattr(model, "classes_") else "predict"
    members = Members(model, names)
    terms = [members.predicted(member, method) for member in model.estimators_]
    weights = np.ones(len(model.estimators)) if model.weights is None else np.asarray(model.weights, np.float64)
    votes = weights[[given != "drop" for _, given in model.estimators]]
    unit = np.eye(terms[0].n_values)
    total = members.sum([term.times(unit * vote) for term, vote in zip(terms, votes, strict=True)])
    return members.predictor(total.divided(votes.sum()).answer())


def adopt_calibrated(model: Any, names: tuple[str, ...]) -> Predictor:
    """Adopt CalibratedClassifierCV: the mean of calibrated probabilities."""
    members = Members(model, names)
    terms = [_calibrate(member, model, members) for member in model.calibrated_classifiers_]
    return members.predictor(members.sum(terms).divided(len(terms)).answer())


def _calibrate(member: Any, model: Any, members: Members) -> Term:
    n_classes, known = len(model.classes_), len(member.estimator.classes_)
    if known != n_classes:
        raise refused(model, f"a member knows {known} of {n_classes} classes")
    scored = hasattr(member.estimator, "decision_function")
    term = members.decided(member.estimator) if scored else members.predicted(member.estimator, "predict_proba")
    if member.method == "temperature":
        if not scored:
            raise refused(model, f"method='temperature' over the probabilities of {type(member.estimator).__name__}")
        beta = float(member.calibrators[0].beta_)
        # Of two classes the scores are -s and s.
        return term.linked(
            BlendPart("sigmoid", 1, 0.5 / beta) if n_classes == 2 else BlendPart("softmax", n_classes, 1 / beta)
        )
    if member.method == "sigmoid":
        slope, shift = np.array([(calibrator.a_, calibrator.b_) for calibrator in member.calibrators]).T
        term = term.times(np.diag(-slope), -shift).linked(BlendPart("sigmoid", len(slope)))
    else:
        knots = [np.stack([calibrator.X_thresholds_, calibrator.y_thresholds_]) for calibrator in member.calibrators]
        term = term.linked(*(BlendPart("knots", knots=curve) for curve in knots))
    return term if n_classes == 2 else term.linked(BlendPart("normalized", n_classes))


def _spread_classes(term: Term, model: Any, whole: Any) -> Term:
    """Return a member's probabilities as those of all classes of the ensemble, whose numbers are the member's labels.

    Of two classes they are those of class 1. A member may know some of the classes only.
    """
    known, n = np.asarray(model.classes_, np.int64), len(whole.classes_)
    if len(known) == n:
        return term
    everything = np.zeros((len(known), n))
    everything[np.arange(len(known)), known] = 1.0
    if len(known) == 1:
        alone = everything[:, 1:] if n == 2 else everything
        return constant_term(term.bank.feature_names, alone[0])
    if len(known) == 2:  # of one value, the probability of its class 1
        return term.times(everything[1:] - everything[:1], everything[0])
    return term.times(everything)


# Stands below the functions that it names.
ENSEMBLES = {
    **dict.fromkeys(("BaggingClassifier", "BaggingRegressor"), adopt_bag),
    **dict.fromkeys(("VotingClassifier", "VotingRegressor"), adopt_voting),
    "CalibratedClassifierCV": adopt_calibrated,
}
