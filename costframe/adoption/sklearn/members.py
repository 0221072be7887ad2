"""Members of scikit-learn's ensembles: what one predicts as a term, adopted or, where that is impossible, opaque."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

from costframe.adoption.adopted import OpaqueOnlyError
from costframe.adoption.given.opaque import opaque_member
from costframe.adoption.sklearn.linear import SCORED
from costframe.adoption.sklearn.terms import Term, add_terms, constant_term
from costframe.core.errors import AdoptionError
from costframe.core.plugins.registry import registry
from costframe.core.predictors.stage_tree import StageTree

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from costframe.adoption.given.opaque import Method
    from costframe.core.learners.opaque import OpaqueLearner
    from costframe.core.predictors.predictor import Predictor

__all__ = [
    "WRAPPERS",
    "adopt_inner",
    "has_own_scores",
    "inner_of",
    "mean_of_bag",
    "member",
    "of_all_classes",
    "refused",
]

WRAPPERS = {
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
    while (name := type(model).__name__) in WRAPPERS:
        inner = getattr(model, WRAPPERS[name], None)
        if inner is None:
            raise AdoptionError(f"{name}: has no {WRAPPERS[name]}; fit it, with refit=True if it is a search")
        model = inner
    return model


def adopt_inner(model: Any, names: tuple[str, ...]) -> Predictor:
    """Adopt the model inside a wrapper."""
    inner = inner_of(model)
    found: Predictor | None = registry().adopt(inner, names)
    if found is None:
        raise refused(model, f"its {type(inner).__name__} is not among those that can")
    return found


def member(model: Any, names: tuple[str, ...], method: Method) -> Term:
    """Return a fitted member's `predict_proba`, of two classes that of class 1, `decision_function` or `predict`."""
    if method == "decision_function":
        return _decisions(model, names)
    if method == "predict" and hasattr(model, "classes_"):
        raise refused(model, "labels of a member are no numbers to weigh")
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
    final = type(inner_of(getattr(inner, "final_estimator_", None))).__name__  # of a stack
    stacked = final in SCORED and final != "SGDClassifier"  # whose probabilities may need a blend after the scores
    tree = _adopted(inner, names) if stacked or name in {*SCORED, *_BOOSTED} else None
    if tree is not None:
        return Term.scores(tree, blended=stacked)
    if name == "BaggingClassifier":
        return mean_of_bag(inner, names, "decision_function")
    return Term.predictions(opaque_member(inner, names, "decision_function"))


def has_own_scores(model: Any) -> bool:
    """Return whether a classifier's `decision_function` gives the scores of its adopted answer, which links follow."""
    return type(inner_of(model)).__name__ in {*SCORED, *_BOOSTED}


def mean_of_bag(model: Any, names: tuple[str, ...], method: Method) -> Term:
    """Return the mean of what a bag's members predict, each of its own columns."""
    terms = []
    for one, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        term = _of_columns(one, names, np.asarray(columns, np.int32), method)
        terms.append(of_all_classes(term, one, model) if method == "predict_proba" else term)
    return add_terms(terms).divided(len(terms))


def _of_columns(model: Any, names: tuple[str, ...], columns: NDArray[np.int32], method: Method) -> Term:
    """Return what a member predicts that reads some columns, perhaps one of them twice."""
    if np.array_equal(columns, np.arange(len(names))):
        return member(model, names, method)
    term = member(model, tuple(f"{names[f]} {number}" for number, f in enumerate(columns)), method)
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


def of_all_classes(term: Term, model: Any, whole: Any) -> Term:
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
