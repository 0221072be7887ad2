"""xgboost's models, live and in files.

Files since 1.0, JSON or UBJSON, are read without xgboost: a broken file ends its process.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from costframe.adoption.documents import DocumentPart, parse_json
from costframe.adoption.foreign import is_of
from costframe.adoption.xgboost.learner import BOOSTERS, adopt_document, read_best_rounds
from costframe.adoption.xgboost.ubjson import parse_ubjson
from costframe.core.errors import AdoptionError
from costframe.core.predictors.stage_tree import StageTree

_SPACE = b"\xef\xbb\xbf \t\r\n"


def is_xgboost(model: object) -> bool:
    """Return whether a model is xgboost's, without importing xgboost."""
    return is_of(model, "xgboost", "Booster", "XGBModel")


def has_trees(model: Any) -> bool:
    """Return whether a model is a fitted one of xgboost with trees, to which absent entries of sparse rows are missing.

    Its linear models skip missing values, which makes them zeros.
    """
    if not is_xgboost(model):
        return False
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    name: str = json.loads(booster.save_config())["learner"]["gradient_booster"]["name"]
    return name != "gblinear"


def adopt_xgboost(model: object, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt an xgboost model exactly.

    Every row reaches the original's leaf in every tree: NaN, infinities, ties and unknown categories included. xgboost
    tests `float32(x) < t`; adopted thresholds are the largest doubles that pass. Scores are the original's margins,
    summed in float64. Predictions are those of `Booster.predict`; only multi:softmax gives probabilities here.

    Categories of a data frame, which xgboost keeps since 3.1, are found by their names in other frames, whatever their
    order there; in arrays, a category that is a text has its number in the training data, and one that is a number is
    itself. Without them, categories are the numbers that xgboost saw.

    Parameters
    ----------
    model : xgboost.Booster or a scikit-learn wrapper (XGBClassifier, XGBRegressor, XGBRanker, XGBRF...)
        With the gbtree, dart or gblinear booster. As in their own predict, a wrapper that stopped early is cut at its
        best iteration, and a Booster is not cut.
    feature_names : sequence of str, optional
        Names by position. By default the Booster's own, else f0, f1, ...

    Raises
    ------
    AdoptionError
        If the model is not fitted, or has a part that cannot be adopted exactly: an objective whose link is unknown, a
        missing value other than NaN.
    """
    import xgboost

    if not is_xgboost(model):
        raise AdoptionError(f"{type(model).__name__}: expected an xgboost Booster or scikit-learn wrapper")
    wrapper = None if isinstance(model, xgboost.Booster) else model
    booster: Any = model if wrapper is None else _booster_of(wrapper)
    try:
        booster.num_features()
    except xgboost.core.XGBoostError as error:
        raise AdoptionError("xgboost Booster: is not fitted; train or load it before adopting it") from error
    best = None if wrapper is None else booster.attr("best_iteration")
    classes = getattr(wrapper, "classes_", None)
    data = bytes(booster.save_raw("ubj"))
    return adopt_document(
        _parse_xgboost(data, "xgboost model"),
        len(data),
        feature_names,
        classes=None if classes is None else np.asarray(classes),
        rounds=None if best is None else int(best) + 1,
    )


def _booster_of(model: Any) -> Any:
    name = type(model).__name__
    if not model.__sklearn_is_fitted__():
        raise AdoptionError(f"{name}: is not fitted; fit it before adopting it")
    if model.missing is not None and not np.isnan(model.missing):
        raise AdoptionError(
            f"{name}: missing={model.missing!r} cannot be adopted, only NaN may stand for a missing value; adopt "
            f"its get_booster() and give NaN in place of {model.missing!r}"
        )
    return model.get_booster()


def looks_like_xgboost(data: bytes) -> bool:
    """Return whether the content of a file is a model of xgboost, perhaps truncated, or a legacy binary."""
    if data.lstrip(_SPACE).startswith(b"{"):
        return b"gradient_booster" in data or b"learner" in data[:100]
    return _is_legacy(data)


def _is_legacy(data: bytes) -> bool:
    """Return whether data begin like a binary model: 136 bytes of parameters, then objective and booster."""
    if data.startswith((b"binf", b"bs64", b"CONFIG-offset:")):
        return True
    length = int.from_bytes(data[136:144], "little")
    booster = data[152 + length : 160 + length]
    return length < 64 and booster.startswith(tuple(name.encode() for name in BOOSTERS))


def adopt_xgboost_file(data: bytes, where: str, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt the content of a file that xgboost saved, exactly; see `adopt_xgboost`.

    All of its trees predict, as in a Booster loaded from it; of an estimator that stopped early, those up to its best
    round, as in the estimator loaded from it.

    Parameters
    ----------
    data : bytes
        JSON or UBJSON; which one, the content tells.
    where : str
        Name of the file in errors.
    feature_names : sequence of str, optional
        Names by position. By default the file's own, else f0, f1, ... of at most 100,000 columns.

    Raises
    ------
    AdoptionError
        If the content is not a whole model, or has a part that cannot be adopted; the text names it.
    """
    document = _parse_xgboost(data, where)
    return adopt_document(document, len(data), feature_names, rounds=read_best_rounds(document))


def _parse_xgboost(data: bytes, where: str) -> DocumentPart:
    """Return a saved model as a document; refuse other forms, and versions before the first of these documents."""
    if _is_legacy(data):
        raise AdoptionError(
            f"{where}: is a legacy binary file of xgboost; load it with xgboost < 3.1 and save it as .json or .ubj"
        )
    length = data.lstrip(_SPACE)[1:2]  # of a first name in UBJSON
    document = parse_ubjson(data, where) if length in {b"i", b"U", b"I", b"l", b"L"} else parse_json(data, where)
    version = tuple(document.get("version").wholes(3, high=10**6).tolist()[:2])
    if version < (1, 0):
        raise document.refuse(f"written by xgboost {version[0]}.{version[1]}, older than known (1.0)")
    return document
