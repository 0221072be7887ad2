"""Adoption of scikit-learn's ensembles of any models, bagging, voting and calibration, and of what wraps one model.

What a member predicts is a term, from its adopted model or, where it cannot be adopted, from an opaque learner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

from costframe.adoption.adopted import OpaqueOnlyError
from costframe.adoption.opaque import opaque_member
from costframe.adoption.sklearn.terms import SCORED, Term, add_terms, constant_term
from costframe.core.errors import AdoptionError
from costframe.core.plugins import registry
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.links import Part

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from costframe.adoption.opaque import Method
    from costframe.core.learners.bank import OpaqueLearner
    from costframe.core.predictors.predictor import Predictor

_WRAPPERS = {
    "FrozenEstimator": "estimator",
    **dict.fromkeys(
        ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"), "best_estimator_"
    ),
    "SelfTrainingClassifier": "estimator_",
    "RANSACRegressor": "estimator_",
}
"""The attribute with the fitted model that a class only wraps."""

_BOOSTED = ("AdaBoostClassifier", "GradientBoostingClassifier", "HistGradientBoostingClassifier")


def refused(model: Any, why: str) -> OpaqueOnlyError:
    """Return the error of a model that cannot be adopted part by part, only as one opaque learner."""
    return OpaqueOnlyError(f"{type(model).__name__}: cannot be adopted part by part: {why}")


def inner_of(model: Any) -> Any:
    """Return the model inside wrappers, itself if there is none."""
    while (name := type(model).__name__) in _WRAPPERS:
        inner = getattr(model, _WRAPPERS[name], None)
        if inner is None:
            raise AdoptionError(f"{name}: has no {_WRAPPERS[name]}; fit it, with refit=True if it is a search")
        model = inner
    return model


def adopt_inner(model: Any, names: tuple[str, ...]) -> Predictor:
    """Adopt the model inside a wrapper."""
    inner = inner_of(model)
    found: Predictor | None = registry().adopt(inner, names)
    if found is None:
        raise refused(model, f"its {type(inner).__name__} is not among those that can")
    return found


def adopt_bag(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt BaggingClassifier or BaggingRegressor: means of probabilities or of values."""
    if not hasattr(model, "classes_"):
        return _mean_of_bag(model, names, "predict").answer()
    for one in model.estimators_:
        if not hasattr(one, "predict_proba"):
            raise refused(model, f"its members, {type(one).__name__}, vote, they have no predict_proba")
    return _mean_of_bag(model, names, "predict_proba").answer()


def adopt_voting(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt VotingRegressor, or VotingClassifier with soft votes: weighted means."""
    if getattr(model, "voting", "soft") == "hard":
        raise refused(model, "voting='hard' counts labels; voting='soft' averages probabilities, which can be adopted")
    method: Method = "predict_proba" if hasattr(model, "classes_") else "predict"
    terms = [_member(one, names, method) for one in model.estimators_]
    weights = np.ones(len(model.estimators)) if model.weights is None else np.asarray(model.weights, np.float64)
    votes = weights[[one != "drop" for _, one in model.estimators]]
    each = np.eye(terms[0].n_values)
    total = add_terms([term.times(each * vote) for term, vote in zip(terms, votes, strict=True)])
    return total.divided(votes.sum()).answer()


def adopt_calibrated(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt CalibratedClassifierCV: the mean of calibrated probabilities."""
    terms = [_calibrated(one, model, names) for one in model.calibrated_classifiers_]
    return add_terms(terms).divided(len(terms)).answer()


def _calibrated(one: Any, model: Any, names: tuple[str, ...]) -> Term:
    n_classes, known = len(model.classes_), len(one.estimator.classes_)
    if known != n_classes:
        raise refused(model, f"a member knows {known} of {n_classes} classes")
    scored = hasattr(one.estimator, "decision_function")
    term = _decisions(one.estimator, names) if scored else _member(one.estimator, names, "predict_proba")
    if one.method == "temperature":
        if not scored:
            raise refused(model, f"method='temperature' over the probabilities of {type(one.estimator).__name__}")
        beta = float(one.calibrators[0].beta_)
        # Of two classes the scores are -s and s.
        return term.linked(Part("sigmoid", 1, 0.5 / beta) if n_classes == 2 else Part("softmax", n_classes, 1 / beta))
    if one.method == "sigmoid":
        slope, shift = np.array([(each.a_, each.b_) for each in one.calibrators]).T
        term = term.times(np.diag(-slope), -shift).linked(Part("sigmoid", len(slope)))
    else:
        knots = [np.stack([each.X_thresholds_, each.y_thresholds_]) for each in one.calibrators]
        term = term.linked(*(Part("knots", knots=each) for each in knots))
    return term if n_classes == 2 else term.linked(Part("normalized", n_classes))


def _member(model: Any, names: tuple[str, ...], method: Method) -> Term:
    """Return a fitted member's `predict_proba`, of two classes that of class 1, or its `predict`."""
    tree = _adopted(model, names) or opaque_member(model, names, method)
    answer = tree.only_answer
    if method == "predict" and answer is not None and answer.link == "identity" and answer.divisor is not None:
        return Term.scores(tree).times(np.eye(len(answer.intercept)) / answer.divisor)  # no blend, so it has bounds
    return Term.predictions(tree)


def _adopted(model: Any, names: tuple[str, ...]) -> StageTree | None:
    """Adopt a model of one answer; return None if it cannot be adopted exactly."""
    try:
        tree = registry().adopt(model, names)
    except AdoptionError:
        return None
    return tree if isinstance(tree, StageTree) and len(tree.stages) == 1 else None


def _decisions(model: Any, names: tuple[str, ...]) -> Term:
    """Return a classifier's `decision_function`."""
    inner = inner_of(model)
    name = type(inner).__name__
    if name == "Pipeline":
        name = type(inner_of(inner.steps[-1][1])).__name__
    tree = _adopted(inner, names) if name in {*SCORED, *_BOOSTED} else None
    return Term.predictions(opaque_member(inner, names, "decision_function")) if tree is None else Term.scores(tree)


def _mean_of_bag(model: Any, names: tuple[str, ...], method: Method) -> Term:
    """Return the mean of what a bag's members predict, each of its own columns."""
    terms = []
    for one, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        term = _of_columns(one, names, np.asarray(columns, np.int32), method)
        terms.append(_of_all_classes(term, one, model) if method == "predict_proba" else term)
    return add_terms(terms).divided(len(terms))


def _of_columns(model: Any, names: tuple[str, ...], columns: NDArray[np.int32], method: Method) -> Term:
    """Return what a member predicts that reads some columns, perhaps one of them twice."""
    if np.array_equal(columns, np.arange(len(names))):
        return _member(model, names, method)
    term = _member(model, tuple(f"{names[f]} {number}" for number, f in enumerate(columns)), method)
    bank = evolve(
        term.bank,
        feature_names=names,
        trees=term.bank.trees.remap_features(columns),
        column_feature=columns[term.bank.column_feature],
        opaques=[_moved(each, columns[list(each.features)]) for each in term.bank.opaques],
        categories={},
    )
    return evolve(term, bank=bank)


def _moved(learner: OpaqueLearner, columns: NDArray[np.int32]) -> OpaqueLearner:
    """Let an opaque learner read other columns, perhaps one of them twice."""
    read, places = np.unique(columns, return_inverse=True)
    if len(read) == len(columns):
        return evolve(learner, features=columns)
    return evolve(learner, features=read, function=_Spread(learner.function, places))


@frozen(eq=False)
class _Spread:
    """A function of rows, some of whose columns are the same, as a function of the different ones."""

    function: Callable[[NDArray[np.float64]], ArrayLike]
    places: NDArray[np.int64]  # of the function's columns

    def __call__(self, rows: NDArray[np.float64]) -> ArrayLike:
        return self.function(rows[:, self.places])


def _of_all_classes(term: Term, model: Any, whole: Any) -> Term:
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


ENSEMBLES = {
    **dict.fromkeys(("BaggingClassifier", "BaggingRegressor"), adopt_bag),
    **dict.fromkeys(("VotingClassifier", "VotingRegressor"), adopt_voting),
    "CalibratedClassifierCV": adopt_calibrated,
    **dict.fromkeys(_WRAPPERS, adopt_inner),
}
