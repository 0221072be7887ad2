"""Adoption of live models of xgboost: boosted trees, random forests, dart and linear models, leaf for leaf."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.adoption.xgboost.files import adopt_xgboost_file, looks_like_xgboost, parse_xgboost
from costframe.adoption.xgboost.models import adopt_document
from costframe.core.errors import AdoptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.core.predictors.stage_tree import StageTree

__all__ = ["adopt_xgboost", "adopt_xgboost_file", "has_trees", "is_xgboost", "looks_like_xgboost"]


def is_xgboost(model: object) -> bool:
    """Return whether a model is xgboost's, without importing xgboost."""
    return any(
        base.__module__.split(".")[0] == "xgboost" and base.__name__ in {"Booster", "XGBModel"}
        for base in type(model).__mro__
    )


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
        parse_xgboost(data, "xgboost model"),
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
