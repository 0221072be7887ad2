"""xgboost's objectives: the link of a model's scores, and the margins from which they start."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from costframe.adoption.documents import DocumentPart
from costframe.core.arrays import F8

_RAW = ("identity", "raw")
_LOGISTIC = ("sigmoid", "logit")
_EXPONENTIAL = ("exp", "log")
_OBJECTIVES = {
    "binary:logistic": _LOGISTIC,
    "reg:logistic": _LOGISTIC,
    "binary:logitraw": _RAW,
    "binary:hinge": ("step", "raw"),
    "multi:softprob": ("softmax", "raw"),
    "multi:softmax": ("softmax", "raw"),
    "reg:squarederror": _RAW,
    "reg:linear": _RAW,
    "reg:squaredlogerror": _RAW,
    "reg:absoluteerror": _RAW,
    "reg:pseudohubererror": _RAW,
    "reg:quantileerror": _RAW,
    "count:poisson": _EXPONENTIAL,
    "reg:gamma": _EXPONENTIAL,
    "reg:tweedie": _EXPONENTIAL,
    "survival:cox": _EXPONENTIAL,
    "survival:aft": _EXPONENTIAL,
    "rank:pairwise": _RAW,
    "rank:ndcg": _RAW,
    "rank:map": _RAW,
}
_FIELDS = (
    "name", "aft_loss_param", "lambda_rank_param", "lambdarank_param", "poisson_regression_param", "pseduo_huber_param",
    "pseudo_huber_param", "quantile_loss_param", "reg_loss_param", "softmax_multiclass_param",
    "tweedie_regression_param", "ti+", "tj-",
)  # fmt: skip
"""What an objective may hold: parameters and state of its training."""
_SMALLEST = np.float32(1e-6)  # xgboost 3 takes probabilities from here to one minus this


def read_xgboost_link(objective: DocumentPart) -> str:
    """Return the link of an objective; refuse unknown ones by name."""
    return _find_objective(objective.only(*_FIELDS))[0]


def _find_objective(objective: DocumentPart) -> tuple[str, str]:
    name = objective.get("name").text()
    if name not in _OBJECTIVES:
        raise objective.refuse(
            f"the link of {name!r} is unknown; if the model's predictions are its raw scores, save "
            f"it with the objective 'reg:squarederror'. Known are {', '.join(_OBJECTIVES)}"
        )
    return _OBJECTIVES[name]


def read_margins(base_score: DocumentPart, objective: DocumentPart, n_scores: int) -> F8:
    """Return the constants that xgboost adds to the trees' outputs, in its float32: float64 (K,).

    A base score is a text, of one number up to version 3.0 and of a list since; it is a prediction, which the inverse
    of the link makes a margin. The rules are those by which xgboost 3.2 reads files of all versions.
    """
    texts = base_score.text().removeprefix("[").removesuffix("]").split(",", n_scores)
    if len(texts) not in {1, n_scores}:
        raise base_score.refuse(f"expected one number, or {n_scores}, got {len(texts)} or more")
    with np.errstate(over="ignore"):
        given = np.array([_read_number(text, base_score) for text in texts], np.float32)
    margins = [_MARGINS[_find_objective(objective)[1]](number) for number in given]
    if not np.isfinite(margins).all():
        raise base_score.refuse(f"{base_score.value[:40]!r} is not a prediction that the objective can have")
    return np.full(n_scores, margins, np.float64)


def _read_number(text: str, base_score: DocumentPart) -> float:
    try:
        return float(text)
    except ValueError:
        raise base_score.refuse(f"expected numbers, got {text[:40]!r}") from None


def _logit(probability: np.float32) -> float:
    if not 0 <= probability <= 1:
        return math.nan
    inside = np.clip(probability, _SMALLEST, np.float32(1) - _SMALLEST)
    return -_log(np.float32(1) / inside - np.float32(1))


def _log(number: np.float32) -> float:
    """Return the logarithm, rounded from float64: numpy's own of float32 is less exact than that of C."""
    return float(np.float32(math.log(number))) if number > 0 and math.isfinite(number) else math.nan


# Stands below the functions that it names.
_MARGINS: dict[str, Callable[[np.float32], float]] = {"raw": float, "logit": _logit, "log": _log}
