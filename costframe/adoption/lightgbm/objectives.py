"""LightGBM's objectives: the link of a model's scores, and their temperature."""

from __future__ import annotations

import numpy as np

from costframe.adoption.documents import DocumentPart
from costframe.adoption.lightgbm.text import LightGBMModel
from costframe.core.arrays import F8
from costframe.core.errors import AdoptionError, shown

_SQUARED = ("regression", "regression_l2", "regression_l1", "fair", "quantile", "mape")  # may end in "sqrt"
_LINKS = dict.fromkeys((*_SQUARED, "huber", "lambdarank", "rank_xendcg"), "identity") | {
    "poisson": "exp",
    "gamma": "exp",
    "tweedie": "exp",
    "binary": "sigmoid",
    "multiclassova": "sigmoid",
    "multiclass": "softmax",
    "cross_entropy": "sigmoid",
    "xentropy": "sigmoid",
    "cross_entropy_lambda": "softplus",
    "xentlambda": "softplus",
}
_CLASSES = ("multiclass", "multiclassova")
_WITH_SLOPE = ("binary", "multiclassova")
_IMAGES = {"sigmoid": (0.0, 1.0), "exp": (0.0, np.inf), "softplus": (0.0, np.inf)}


def read_lightgbm_link(model: LightGBMModel, outputs: F8) -> tuple[str, float]:
    """Return the link of a model's objective, and the temperature of its scores."""
    rounds = len(model.trees) // model.n_scores if model.averages else 1
    if not model.objective.strip():
        return "identity", rounds
    name, *settings = model.objective.split()
    if name not in _LINKS:
        raise AdoptionError(
            f"{model.where}: objective {shown(name)} is unknown, and so is its link; known are {', '.join(_LINKS)}"
        )
    told = dict(setting.partition(":")[::2] for setting in settings)
    expected = str(model.n_scores) if name in _CLASSES else None
    if told.get("num_class") != expected or (model.n_scores > 1) != (name in _CLASSES):
        raise AdoptionError(
            f"{model.where}: objective {shown(model.objective)} does not go with {model.n_scores} scores"
        )
    link, slope = _LINKS[name], 1.0
    if name in _WITH_SLOPE:
        slope = DocumentPart(told.get("sigmoid"), f"{model.where}: sigmoid of {name}").number()
        if slope <= 0.0:
            raise AdoptionError(f"{model.where}: the sigmoid of {name} must be positive, got {slope:g}")
    if "sqrt" in told:
        if name not in _SQUARED:
            raise AdoptionError(f"{model.where}: objective {shown(model.objective)} is unknown")
        link = "signed-square"
    if model.averages and _hold_predictions(model, link, outputs):
        return "identity", rounds
    return link, rounds / slope


def _hold_predictions(model: LightGBMModel, link: str, outputs: F8) -> bool:
    """Return whether leaves of a forest hold predictions, as LightGBM wrote them in format v2 up to version 2.2.2."""
    low, high = _IMAGES.get(link, (np.inf, -np.inf))
    return model.version == 2 and bool(((low <= outputs) & (outputs <= high)).all())
