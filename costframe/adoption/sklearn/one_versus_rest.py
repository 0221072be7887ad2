"""Adoption of scikit-learn's models of one model for each class, or for each target."""

from __future__ import annotations

from typing import Any

import numpy as np

from costframe.adoption.foreign import refused
from costframe.adoption.sklearn.members import Members
from costframe.adoption.sklearn.terms import Term, constant_term
from costframe.core.plugins.registry import registry
from costframe.core.predictors.predictor import Predictor
from costframe.core.stages.links import BlendPart


def adopt_rest(model: Any, names: tuple[str, ...]) -> Predictor:
    """Adopt OneVsRestClassifier: its models' scores or probabilities, one for each class, or each label of several.

    Of two classes it is the one model, whose class 1 is the second class.
    """
    if len(model.estimators_) == 1 and not model.multilabel_:
        predictor: Predictor | None = registry().adopt(model.estimators_[0], names)
        if predictor is None or predictor.classes is None:
            raise refused(model, f"its {type(model.estimators_[0]).__name__} is not among those that can")
        return predictor.with_costs(None if predictor.costs is None else predictor.costs.without_errors())
    members = Members(model, names)
    if not hasattr(model, "predict_proba"):
        scores = members.beside([_decide(members, member) for member in model.estimators_])
        return members.predictor(scores.answer("step" if model.multilabel_ else "identity"))
    if model.multilabel_ or not all(_has_scores(member) for member in model.estimators_):
        shares = members.beside([_predict_probability(members, member) for member in model.estimators_])
        shares = shares if model.multilabel_ else shares.linked(BlendPart("shares", shares.n_values))
        return members.predictor(shares.answer())
    links = [members.link_of(member) for member in model.estimators_]
    if any(link is None for link in links):
        raise refused(model, "its probabilities are no links of the scores that tell its classes")
    scores = members.beside([_decide(members, member) for member in model.estimators_])
    whole = scores.linked(*(link for link in links if link is not None)).linked(BlendPart("shares", len(links)))
    return members.predictor(whole.answer(by_scores=True))


def adopt_targets(model: Any, names: tuple[str, ...]) -> Predictor:
    """Adopt MultiOutputRegressor: what each target's model predicts."""
    members = Members(model, names)
    return members.predictor(
        members.beside([members.predicted(member, "predict") for member in model.estimators_]).answer()
    )


def _has_scores(model: Any) -> bool:
    return hasattr(model, "decision_function")


def _is_constant(model: Any) -> bool:
    """Return whether a model is scikit-learn's for a label that all or no training rows had."""
    return type(model).__name__ == "_ConstantPredictor"


def _read_constant(members: Members, model: Any) -> Term:
    return constant_term(members.names, np.asarray(model.y_, np.float64).ravel())


def _decide(members: Members, model: Any) -> Term:
    if _is_constant(model):
        return _read_constant(members, model)
    return members.decided(model) if _has_scores(model) else members.predicted(model, "predict_proba")


def _predict_probability(members: Members, model: Any) -> Term:
    return _read_constant(members, model) if _is_constant(model) else members.predicted(model, "predict_proba")


# Stands below the functions that it names.
RESTS = {"OneVsRestClassifier": adopt_rest, "MultiOutputRegressor": adopt_targets}
