"""Adoption of models of other libraries, exactly; one file per library."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from costframe.core.errors import AdoptionError
from costframe.hooks import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.core.predictors.predictor import Predictor

__all__ = ["adopt"]

XGBOOST_FILES = (".json", ".ubj")


def adopt(model: Any, feature_names: Sequence[str] | None = None) -> Predictor:
    """Convert a trained model of another library to a predictor that reaches the same leaf in every tree.

    Parameters
    ----------
    model : xgboost or scikit-learn tree model, an xgboost file (.json, .ubj), or a model that a plugin adopts
    feature_names : sequence of str, optional
        Names of the columns, if the model has none or you want others.

    Raises
    ------
    AdoptionError
        If no plugin adopts the model, or it has parts that cannot be adopted exactly, which the text names.
    """
    from costframe.core.plugins.registry import registry

    predictor = registry().adopt(model, feature_names)
    if predictor is None:
        raise AdoptionError(f"adopt: expected a tree model of xgboost or scikit-learn, got {type(model).__name__}")
    return predictor


@hookimpl
def costframe_adopt(model: Any, feature_names: Sequence[str] | None) -> Predictor | None:
    """Adopt tree models of xgboost and scikit-learn."""
    from costframe.adoption.sklearn import adopt_sklearn, is_sklearn
    from costframe.adoption.xgboost import adopt_xgboost, is_xgboost

    if isinstance(model, str | os.PathLike) and Path(model).suffix in XGBOOST_FILES:
        from costframe.adoption.xgboost_files import load_xgboost

        model = load_xgboost(model)
    if is_xgboost(model):
        return adopt_xgboost(model, feature_names)
    return adopt_sklearn(model, feature_names) if is_sklearn(model) else None
