"""CatBoost's losses: the link of a model's raw values, and the classes that they tell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.adoption.documents import DocumentPart, parse_json
from costframe.core.terms.classes import as_texts

LOG_SIGMA = "log-sigma"
"""Of two scores, a mean and the logarithm of a standard deviation, predictions are the mean and the variance."""
_LINKS = {
    "sigmoid": ("Logloss", "CrossEntropy", "Focal", "MultiClassOneVsAll", "MultiLogloss", "MultiCrossEntropy"),
    "softmax": ("MultiClass",),
    "exp": ("Poisson", "Tweedie"),
    LOG_SIGMA: ("RMSEWithUncertainty",),
    "identity": (
        *("RMSE", "MAE", "Quantile", "MultiQuantile", "MultiRMSE", "MultiRMSEWithMissingValues", "Expectile", "Huber"),
        *("LogCosh", "MAPE", "RMSPE", "MSLE", "Lq", "LogLinQuantile", "GroupQuantile"),
        *("Cox", "SurvivalAft", "YetiRank", "YetiRankPairwise", "PairLogit", "PairLogitPairwise", "LambdaMart"),
        *("QueryRMSE", "QuerySoftMax", "QueryCrossEntropy", "StochasticRank", "StochasticFilter", "Combination"),
        *("PythonUserDefinedPerObject", "PythonUserDefinedMultiTarget", "UserPerObjMetric", "UserQuerywiseMetric"),
    ),
}
_LINK = {loss: link for link, losses in _LINKS.items() for loss in losses}
_BINARY, _MULTICLASS = ("Logloss", "CrossEntropy", "Focal"), ("MultiClass", "MultiClassOneVsAll")
_LABELS = {"Integer": np.int64, "Float": np.float64, "String": np.str_, "Boolean": np.bool_}


def _read_loss(info: DocumentPart) -> str:
    """Return the name of the loss that a model was trained for, "" if none is named, as in sums of models."""
    params = _read_inner_document(info, "params")
    loss = _read_inner_document(info if params is None or not params.has("loss_function") else params, "loss_function")
    return "" if loss is None else loss.get("type").text()


def read_catboost_link(info: DocumentPart, n_outputs: int) -> str:
    """Return the link of the predictions; refuse an unknown loss, and one that has another number of outputs."""
    loss = _read_loss(info)
    if loss and loss not in _LINK:
        raise info.refuse(f"loss {loss!r} cannot be adopted, its predictions are unknown; known are {', '.join(_LINK)}")
    outputs = {**dict.fromkeys(_BINARY, 1), "RMSEWithUncertainty": 2}.get(loss, n_outputs)
    if outputs != n_outputs or (loss in _MULTICLASS and n_outputs == 1):
        raise info.refuse(f"loss {loss!r} does not go with {n_outputs} output(s)")
    return _LINK.get(loss, "identity")


def read_cut(info: DocumentPart) -> float | None:
    """Return the raw value above which a row is of class 1 of two: 0, or that of `set_probability_threshold`.

    Of more classes it is 0, as the largest raw value tells the class.
    """
    if (loss := _read_loss(info)) not in _BINARY:
        return 0.0 if loss in _MULTICLASS else None
    threshold = 0.5
    if info.has("binclass_probability_threshold"):
        threshold = (part := info.get("binclass_probability_threshold")).number()
        if not 0 <= threshold <= 1:
            raise part.refuse(f"expected a probability, got {threshold:g}")
    if threshold in {0.0, 1.0}:
        return math.copysign(float(np.finfo(np.float64).max), threshold - 0.5)
    return -math.log(1 / threshold - 1)  # CatBoost's own form, equal to the last bit


def read_classes(info: DocumentPart, n_outputs: int) -> NDArray[Any] | None:
    """Return the labels of a classifier with one label for each row: (classes,); None for other models."""
    loss = _read_loss(info)
    if loss not in _BINARY + _MULTICLASS:
        return None
    count = 2 if loss in _BINARY else n_outputs
    known = _read_inner_document(info, "class_params" if info.has("class_params") else "multiclass_params")
    if known is not None:
        if known.has("class_names") and len(known.get("class_names")):
            return _read_labels(known, count)
        if known.has("classes_count") and known.get("classes_count").whole() == count:
            return np.arange(count)
        if known.has("class_to_label"):
            return known.get("class_to_label").reals(count).astype(np.int64)
    return np.arange(count)


def _read_labels(known: DocumentPart, count: int) -> NDArray[Any]:
    names = known.get("class_names")
    if len(names) != count:
        raise names.refuse(f"expected {count} labels, got {len(names)}")
    given = names.value
    kind = known.get("class_label_type").text() if known.has("class_label_type") else "String"
    if kind not in _LABELS:
        raise known.refuse(f"unknown type of labels {kind!r}, expected one of {', '.join(_LABELS)}")
    if kind == "String":
        return as_texts(names.texts())
    if kind == "Boolean":
        if not all(isinstance(label, bool) for label in given):
            raise names.refuse("expected truth values")
        return np.array(given)
    return names.wholes(low=-(2**53)) if kind == "Integer" else names.reals()


def _read_inner_document(info: DocumentPart, name: str) -> DocumentPart | None:
    """Return a member that holds a document, as an object or as a text; None if there is none."""
    if not info.has(name):
        return None
    part = info.get(name)
    return parse_json(part.value.encode(), part.where) if isinstance(part.value, str) else part
