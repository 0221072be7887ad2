"""What a service says, as values of JSON: a model, a step of a conversation, an answer."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from costframe.core.errors import CostframeError, ParameterError, SourceError
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.prediction import Prediction
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.strict_json import as_json
from costframe.core.tables.described_kinds import describe_kind
from costframe.core.terms.classes import both_classes
from costframe.serve.conversation import Conversation

# What a start may ask for beside values, and an example of each.
_LIMITS: dict[str, Callable[[Predictor], Any]] = {
    "max_cost": lambda _: 0.0,
    "unavailable": lambda predictor: predictor.feature_names[:1],
    "tradeoff": lambda _: 0.0,
}
INCLUDED = ("why", "so_far", "changes")  # what a step tells where asked


def describe_model(fitted: FittedEstimator, prices: CostModel, name: str, facts: Collection[tuple[str, str]]) -> Any:
    """Return what a model is, what it may ask, and at which prices."""
    predictor = fitted.predictor_
    return {
        "name": name,
        "kind": fitted.kind,
        "unit": prices.unit,
        "classes": None if predictor.classes is None else [as_json(label) for label in predictor.classes.tolist()],
        "resources": [*prices.resource_names],
        "features": [describe_feature(fitted, prices, feature) for feature in predictor.label_features(prices)],
        "facts": [{"name": label, "text": text} for label, text in facts],
        "takes": [name for name, asked in _LIMITS.items() if _takes(predictor, prices, name, asked)],
    }


def _takes(predictor: Predictor, prices: CostModel, name: str, asked: Callable[[Predictor], Any]) -> bool:
    """Return whether a conversation may begin with a limit, as most models let it."""
    try:
        predictor.inquire(prices, **{name: asked(predictor)})
    except ParameterError:
        return False
    return True


def describe_feature(fitted: FittedEstimator, prices: CostModel, name: str) -> dict[str, Any]:
    """Return a feature's name, its kind, the labels of its categories, and its price alone, with its resources."""
    return _kind_of(fitted, name) | {"price": prices.full_cost([name])}


def _kind_of(fitted: FittedEstimator, name: str) -> dict[str, Any]:
    return describe_kind(name, fitted.predictor_.categories.get(name))


def describe_step(fitted: FittedEstimator, talk: Conversation, state: str | None, include: Collection[str]) -> Any:
    """Return a step: the state after it, what is asked at which price and why, the bill so far, and the answer."""
    asks, (prices, together) = talk.needs, talk.quotes()
    step = {
        "state": state,
        "asks": [_kind_of(fitted, name) | {"price": price} for name, price in zip(asks, prices, strict=True)],
        "price": together,
        "cost": talk.cost,
        "unit": talk.prices.unit,
        "rounds": talk.inquiry.rounds,
        "answer": None if asks else describe_answer(fitted, talk.inquiry.answer),
    }
    if "why" in include:
        step["why"] = talk.inquiry.why(tuple(talk.told)).to_dict()
    if "so_far" in include and asks:
        step["so_far"] = describe_so_far(fitted, talk)
    if "changes" in include:
        step["changes"] = talk.inquiry.changes().to_dict()
    return step


def describe_answer(fitted: FittedEstimator, end: Prediction) -> dict[str, Any]:
    """Return an answer with its bill."""
    told = describe_value(fitted, end) | describe_bill(end) | {"acquired": list(end.acquired), "rounds": end.rounds}
    return told | {"reason": end.reason} | ({"failures": list(end.failures)} if end.failures else {})


def describe_bill(end: Prediction | SourceError) -> dict[str, float]:
    """Return what a row cost, with what was asked in vain and what sources were really paid, where there is any."""
    lost = {"failed_cost": end.failed_cost} if end.failures else {}
    return {"cost": end.cost} | lost | ({} if end.paid is None else {"paid": end.paid})


def describe_value(fitted: FittedEstimator, end: Prediction) -> dict[str, Any]:
    """Return a prediction: the label and the probability of each class, or a number or numbers."""
    value = np.asarray(end.value, dtype=np.float64)
    if fitted.kind != "classifier":
        return {"value": as_json(value.tolist())}
    probabilities = both_classes(value.reshape(1, -1) if value.ndim else value.reshape(1))[0]
    named = zip(fitted.classes_.tolist(), probabilities.tolist(), strict=True)
    told = [{"label": as_json(label), "probability": as_json(p)} for label, p in named]
    return {"label": as_json(end.label), "probabilities": told}


def describe_so_far(fitted: FittedEstimator, talk: Conversation) -> dict[str, Any] | None:
    """Return the answer if nothing more could be had; None where the model has none."""
    values = talk.values()
    rest = [name for name in fitted.predictor_.label_features(talk.prices) if name not in values]
    try:
        inquiry = fitted.predictor_.inquire(talk.prices, known=values, unavailable=rest)
        return None if inquiry.needs else describe_value(fitted, inquiry.answer)
    except CostframeError:  # prices of errors that are columns, say
        return None
