"""Adoption of scikit-learn's ensembles of any models: bagging, voting, stacking, calibration, one versus rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.adoption.sklearn.members import WRAPPERS, adopt_inner, has_own_scores, mean_of_bag, member, refused
from costframe.adoption.sklearn.terms import Term, add_terms, columns_term, constant_term, side_by_side
from costframe.core.errors import AdoptionError
from costframe.core.learners.tree_table import COLUMN
from costframe.core.plugins.registry import registry
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.blend import Part

if TYPE_CHECKING:
    from costframe.adoption.given.opaque import Method
    from costframe.core.stages.stages import Answer

__all__ = ["ENSEMBLES"]


def adopt_bag(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt BaggingClassifier or BaggingRegressor: means of probabilities or of values."""
    if not hasattr(model, "classes_"):
        return mean_of_bag(model, names, "predict").answer()
    for one in model.estimators_:
        if not hasattr(one, "predict_proba"):
            raise refused(model, f"its members, {type(one).__name__}, vote, they have no predict_proba")
    return mean_of_bag(model, names, "predict_proba").answer()


def adopt_voting(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt VotingRegressor, or VotingClassifier with soft votes: weighted means."""
    if getattr(model, "voting", "soft") == "hard":
        raise refused(model, "voting='hard' counts labels; voting='soft' averages probabilities, which can be adopted")
    method: Method = "predict_proba" if hasattr(model, "classes_") else "predict"
    terms = [member(one, names, method) for one in model.estimators_]
    weights = np.ones(len(model.estimators)) if model.weights is None else np.asarray(model.weights, np.float64)
    votes = weights[[one != "drop" for _, one in model.estimators]]
    each = np.eye(terms[0].n_values)
    total = add_terms([term.times(each * vote) for term, vote in zip(terms, votes, strict=True)])
    return total.divided(votes.sum()).answer()


def adopt_stack(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt StackingClassifier or StackingRegressor with a linear final estimator."""
    if isinstance(getattr(model, "classes_", None), list):
        raise refused(model, "several labels a row; fit one stack for each")
    terms = [member(one, names, how) for one, how in zip(model.estimators_, model.stack_method_, strict=True)]
    if model.passthrough:
        terms.append(columns_term(names, np.eye(len(names)), np.zeros(len(names))))
    ends = np.cumsum([0, *(term.n_values for term in terms)])
    final, answer = _linear_answer(model, int(ends[-1]))
    weights = np.zeros((ends[-1], len(answer.intercept)))
    np.add.at(weights, final.bank.column_feature[final.bank.index[answer.learners]], answer.weights)
    parts = [term.times(weights[first:end]) for term, first, end in zip(terms, ends, ends[1:], strict=False)]
    total = add_terms([*parts, constant_term(names, answer.intercept)])
    for blend in answer.blends:
        total = total.linked(*blend.parts).times(blend.weights, blend.intercept)
    return total.answer(answer.link, answer.temperature)


def _linear_answer(model: Any, n_inputs: int) -> tuple[StageTree, Answer]:
    """Adopt a stack's final estimator, of columns only, over the predictions of its members."""
    final = model.final_estimator_
    try:
        tree = registry().adopt(final, [f"prediction {number}" for number in range(n_inputs)])
    except AdoptionError as error:
        raise refused(model, f"final_estimator: {error}") from error
    answer = tree.only_answer if isinstance(tree, StageTree) else None
    if not isinstance(tree, StageTree) or answer is None or (tree.bank.kind != COLUMN).any():
        raise refused(model, f"its final_estimator, {type(final).__name__}, is not linear in what the members predict")
    return tree, answer


def adopt_calibrated(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt CalibratedClassifierCV: the mean of calibrated probabilities."""
    terms = [_calibrated(one, model, names) for one in model.calibrated_classifiers_]
    return add_terms(terms).divided(len(terms)).answer()


def _calibrated(one: Any, model: Any, names: tuple[str, ...]) -> Term:
    n_classes, known = len(model.classes_), len(one.estimator.classes_)
    if known != n_classes:
        raise refused(model, f"a member knows {known} of {n_classes} classes")
    scored = hasattr(one.estimator, "decision_function")
    term = member(one.estimator, names, "decision_function" if scored else "predict_proba")
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
        term = term.linked(*(_isotonic(each) for each in one.calibrators))
    return term if n_classes == 2 else term.linked(Part("normalized", n_classes))


def _isotonic(calibrator: Any) -> Part:
    return Part("knots", knots=np.stack([calibrator.X_thresholds_, calibrator.y_thresholds_]))


def adopt_one_versus_rest(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt OneVsRestClassifier: probabilities divided by their sum, of several labels as they are, or scores."""
    method: Method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    term = side_by_side([_against_rest(one, names, method) for one in model.estimators_])
    if method == "decision_function":
        return term.answer("step" if term.n_values == 1 or model.multilabel_ else "identity")
    if model.multilabel_:
        return term.answer()
    scored = [hasattr(one, "decision_function") for one in model.estimators_]  # which tell the labels
    by_scores = len(term.intercept) == term.n_values and all(has_own_scores(one) for one in model.estimators_)
    if any(scored) and not by_scores:
        raise refused(model, "it compares decisions of its members, not their probabilities")
    if term.n_values == 1:
        return term.answer(by_scores=by_scores)
    return term.linked(Part("normalized-or-zero", term.n_values)).answer(by_scores=by_scores)


def _against_rest(model: Any, names: tuple[str, ...], method: Method) -> Term:
    if type(model).__name__ == "_ConstantPredictor":  # of a class that all rows, or not one, have
        return constant_term(names, np.ravel(model.y_))
    return member(model, names, method)


def adopt_several(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt MultiOutputRegressor or MultiOutputClassifier: values, or the probability of class 1 of each label."""
    if not hasattr(model, "classes_"):
        return side_by_side([member(one, names, "predict") for one in model.estimators_]).answer()
    for number, one in enumerate(model.estimators_):
        if not hasattr(one, "predict_proba") or len(one.classes_) != 2:
            raise refused(
                model, f"label {number}: expected two classes and predict_proba, got {len(one.classes_)} class(es)"
            )
    return side_by_side([member(one, names, "predict_proba") for one in model.estimators_]).answer()


ENSEMBLES = {
    **dict.fromkeys(("BaggingClassifier", "BaggingRegressor"), adopt_bag),
    **dict.fromkeys(("VotingClassifier", "VotingRegressor"), adopt_voting),
    **dict.fromkeys(("StackingClassifier", "StackingRegressor"), adopt_stack),
    "CalibratedClassifierCV": adopt_calibrated,
    "OneVsRestClassifier": adopt_one_versus_rest,
    **dict.fromkeys(("MultiOutputClassifier", "MultiOutputRegressor"), adopt_several),
    **dict.fromkeys(WRAPPERS, adopt_inner),
}
