"""Adoption of LightGBM: boosted trees, dart and random forests, leaf for leaf, from live models and from files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.adoption.adopted import choose_names, one_answer
from costframe.adoption.documents import Part
from costframe.adoption.lightgbm.text import read_text
from costframe.adoption.lightgbm.trees import find_meanings, make_table
from costframe.core.errors import AdoptionError, StageError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.adoption.lightgbm.text import SavedModel
    from costframe.core.predictors.stage_tree import StageTree

__all__ = ["adopt_lightgbm", "adopt_lightgbm_file", "is_lightgbm", "looks_like_lightgbm"]

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
_OF_CLASSES = ("sigmoid", "softmax")
_WITH_SLOPE = ("binary", "multiclassova")
_IMAGES = {"sigmoid": (0.0, 1.0), "exp": (0.0, np.inf), "softplus": (0.0, np.inf)}
_FREE_WEIGHTS = 2**20  # of a small file; its trees times its scores


def is_lightgbm(model: object) -> bool:
    """Return whether a model is LightGBM's, without importing lightgbm."""
    return any(
        base.__module__.split(".")[0] == "lightgbm" and base.__name__ in {"Booster", "CVBooster", "LGBMModel"}
        for base in type(model).__mro__
    )


def looks_like_lightgbm(data: bytes) -> bool:
    """Return whether the content of a file is a model of LightGBM, its text."""
    return re.match(rb"tree[ \t\r]*\n\s*version=", data) is not None


def adopt_lightgbm(model: Any, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt a LightGBM model exactly.

    Every row reaches the original's leaf in every tree, and raw scores are the original's to the last bit; NaN,
    infinities, ties and numbers that LightGBM takes for zero included.

    A feature of pandas' category dtype has texts or numbers as its categories, and a data frame is read as the
    original reads it, whatever its order of categories. In an array of numbers, which the original reads as codes, a
    number is the code of a text, but a numeric category itself.

    Parameters
    ----------
    model : lightgbm.Booster or a scikit-learn wrapper (LGBMClassifier, LGBMRegressor, LGBMRanker)
        As in its own predict, a model that stopped early is cut at its best iteration.
    feature_names : sequence of str, optional
        Names by position. By default the model's own.

    Raises
    ------
    AdoptionError
        If the model is not fitted, or has a part that cannot be adopted exactly: linear leaves, an unknown objective,
        categories of pandas in columns that cannot be told from others.
    """
    name = type(model).__name__
    if not is_lightgbm(model) or any(base.__name__ == "CVBooster" for base in type(model).__mro__):
        raise AdoptionError(f"{name}: expected one lightgbm Booster or scikit-learn wrapper; adopt one of its boosters")
    booster, classes = model, None
    if not hasattr(model, "model_to_string"):
        if not model.__sklearn_is_fitted__():
            raise AdoptionError(f"{name}: is not fitted; fit it before adopting it")
        booster, classes = model.booster_, getattr(model, "classes_", None)
    return _assemble(read_text(booster.model_to_string().encode(), f"lightgbm {name}"), feature_names, classes)


def adopt_lightgbm_file(data: bytes, where: str, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt the content of a model file, LightGBM's text; `where` names it in errors.

    The file predicts as it would in today's LightGBM, but for one kind: random forests by LightGBM before 2.2.3. Their
    leaves hold predictions, not scores; the mean of these is the prediction, as it was when they were written.

    Raises
    ------
    AdoptionError
        If the file is malformed, truncated or of an unknown version, or cannot be adopted exactly; see
        `adopt_lightgbm`.
    """
    model = read_text(data, where)
    weights = len(model.trees) * model.n_scores
    if weights > max(_FREE_WEIGHTS, 4 * len(data)):
        raise AdoptionError(f"{where}: has {model.n_scores:,} classes, too many for a file of {len(data):,} bytes")
    return _assemble(model, feature_names)


def _assemble(model: SavedModel, feature_names: Sequence[str] | None, classes: NDArray[Any] | None = None) -> StageTree:
    """Return the predictor of a model, with labels of its `classes` if it predicts their probabilities."""
    n_trees, n_scores = len(model.trees), model.n_scores
    if n_trees == 0:
        raise AdoptionError(f"{model.where}: it has no trees; train it for at least one round")
    if n_trees % n_scores:
        raise AdoptionError(f"{model.where}: has {n_trees} trees, expected {n_scores} in each round")
    names = choose_names(feature_names, model.names, model.n_features, model.where)
    meanings = find_meanings(model)
    table = make_table(model, meanings.numbers)
    link, temperature = _link(model, table.values)
    weights = np.tile(np.eye(n_scores), (n_trees // n_scores, 1))
    texts = {names[f]: labels for f, labels in meanings.texts.items()}
    if link not in _OF_CLASSES or classes is None or len(classes) != max(2, n_scores):
        classes = None
    try:
        return one_answer(
            table, names, weights, np.zeros(n_scores), link, texts, temperature=temperature, classes=classes
        )
    except StageError as error:
        raise AdoptionError(f"{model.where}: {error}") from error


def _link(model: SavedModel, outputs: NDArray[np.float64]) -> tuple[str, float]:
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
        slope = Part(told.get("sigmoid"), f"{model.where}: sigmoid of {name}").number()
        if slope <= 0.0:
            raise AdoptionError(f"{model.where}: the sigmoid of {name} must be positive, got {slope:g}")
    if "sqrt" in told:
        if name not in _SQUARED:
            raise AdoptionError(f"{model.where}: objective {shown(model.objective)} is unknown")
        link = "signed-square"
    if model.averages and _hold_predictions(model, link, outputs):
        return "identity", rounds
    return link, rounds / slope


def _hold_predictions(model: SavedModel, link: str, outputs: NDArray[np.float64]) -> bool:
    """Return whether leaves of a forest hold predictions, as LightGBM wrote them in format v2 up to version 2.2.2."""
    low, high = _IMAGES.get(link, (np.inf, -np.inf))
    return model.version == 2 and bool(((low <= outputs) & (outputs <= high)).all())
