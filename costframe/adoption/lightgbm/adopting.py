"""LightGBM's models, live and in files, as predictors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.adoption.foreign import is_of
from costframe.adoption.lightgbm.categories import Meanings, find_meanings, place_lists
from costframe.adoption.lightgbm.objectives import read_lightgbm_link
from costframe.adoption.lightgbm.splits import tabulate_splits
from costframe.adoption.lightgbm.text import LightGBMModel, read_text
from costframe.adoption.names import choose_names
from costframe.adoption.trees import one_answer
from costframe.core.errors import AdoptionError, StageError
from costframe.core.predictors.stage_tree import StageTree

_OF_CLASSES = ("sigmoid", "softmax")
_FREE_WEIGHTS = 2**20  # of a small file; its trees times its scores


def is_lightgbm(model: object) -> bool:
    """Return whether a model is LightGBM's, without importing lightgbm."""
    return is_of(model, "lightgbm", "Booster", "CVBooster", "LGBMModel")


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
    if not is_lightgbm(model) or is_of(model, "lightgbm", "CVBooster"):
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


def pandas_categories(model: Any) -> dict[str, tuple[Any, ...]]:
    """Return the categories of the columns of pandas' category dtype of a fitted model, as far as it tells them."""
    booster = getattr(model, "booster_", model)
    if not getattr(booster, "pandas_categorical", None):
        return {}
    try:
        saved = read_text(booster.model_to_string().encode(), "lightgbm")
        return {saved.names[f]: tuple(labels) for f, labels in zip(place_lists(saved), saved.labels, strict=True)}
    except AdoptionError:
        return {}


def _assemble(
    model: LightGBMModel, feature_names: Sequence[str] | None, classes: NDArray[Any] | None = None
) -> StageTree:
    """Return the predictor of a model, with labels of its `classes` if it predicts their probabilities."""
    n_trees, n_scores = len(model.trees), model.n_scores
    if n_trees == 0:
        raise AdoptionError(f"{model.where}: it has no trees; train it for at least one round")
    if n_trees % n_scores:
        raise AdoptionError(f"{model.where}: has {n_trees} trees, expected {n_scores} in each round")
    names = choose_names(feature_names, model.names, model.n_features, model.where)
    meanings = find_meanings(model) if model.labels else Meanings({}, {})
    table = tabulate_splits(model, meanings.numbers)
    link, temperature = read_lightgbm_link(model, table.values)
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
