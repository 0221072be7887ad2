"""Adoption of a model of another library: who knows its kind takes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from costframe.adoption.foreign import OpaqueOnlyError, library_of
from costframe.core.checks import as_path, check_name_list
from costframe.core.errors import AdoptionError, shown
from costframe.hooks import hookimpl

if TYPE_CHECKING:  # whoever lists the plugins loads this module, and often adopts nothing
    from costframe.core.predictors.predictor import Predictor
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.stages.fallbacks import FallbackRows
    from costframe.core.tables.preparation import Preparation

_Adopter = tuple[Callable[[Any], bool], Callable[..., "Predictor"]]

_DUMP = "a dump_model() of LightGBM, which is not read; save the model by save_model"
_OTHERS = (
    (b"\x1f\x8b", "compressed by gzip; give the file that gunzip makes of it"),
    (b"\x89costframe", "a costframe model; open it with `cf.load`"),
    (b"\x80", "a pickle, which may hold code; load it where you trust it, and give the object"),
    (b"PK", "an archive; give the model in it"),
)


def adopt(
    model: Any, feature_names: Sequence[str] | None = None, *, features: Sequence[str] | None = None
) -> Predictor:
    """Convert a trained model of another library to a predictor that answers as the model does.

    Trees keep their structure: a row reaches the original's leaf in every tree, NaN and ties included, and pays for the
    splits on its way. Linear models become columns with weights. Pipelines ask for raw columns. A fitted estimator of
    costframe has its predictor, with its prices; so has what wraps or averages it. Any other classifier or regressor
    becomes an opaque learner that reads all its features, each value as it came.

    Parameters
    ----------
    model : model of LightGBM, XGBoost, CatBoost, scikit-learn or costframe, or a path
        Files of the first three are recognised by their content, and read without their library. A function needs
        `features`.
    feature_names : sequence of str, optional
        Names of the columns, if the model has none or you want others.
    features : sequence of str, optional
        Makes the model an opaque learner, whatever it is, that reads these features in this order.

    Raises
    ------
    AdoptionError
        If the model, or a part of it that the text names, cannot be adopted; or a file is malformed; or a live model
        answers otherwise than its parts say, as that of a future version of a library might.
    """
    from costframe.adoption.checking import check_answers
    from costframe.adoption.opaque import adopt_opaque
    from costframe.core.plugins.registry import registry

    if feature_names is not None:
        feature_names = check_name_list("feature_names", feature_names, error=AdoptionError)
    if features is not None:
        return adopt_opaque(model, check_name_list("features", features, error=AdoptionError), feature_names)
    try:
        predictor: Predictor | None = registry().adopt(model, feature_names)
    except OpaqueOnlyError:
        predictor = None
    if predictor is None:
        return adopt_opaque(model, None, feature_names)
    if not isinstance(model, str | os.PathLike):
        check_answers(model, predictor)
    return predictor


@hookimpl
def costframe_adopt(model: Any, feature_names: Sequence[str] | None) -> Predictor | None:
    """Adopt models of costframe, LightGBM, XGBoost, CatBoost and scikit-learn, pipelines, and files of three."""
    if isinstance(model, str | os.PathLike):
        return _adopt_file(model, feature_names)
    if isinstance(model, dict) and "tree_info" in model:
        raise AdoptionError(f"dict: is {_DUMP}")
    adopters = (adopter for knows, adopter in _ways(library_of(model)) if knows(model))
    adopter = next(adopters, None)
    return None if adopter is None else adopter(model, feature_names)


def _ways(library: str) -> Sequence[_Adopter]:
    """Return functions that know models of a library, or of none known here, each with the one that adopts them."""
    if library == "lightgbm":
        from costframe.adoption.lightgbm import adopt_lightgbm, is_lightgbm

        return [(is_lightgbm, adopt_lightgbm)]
    if library == "xgboost":
        from costframe.adoption.xgboost import adopt_xgboost, is_xgboost

        return [(is_xgboost, adopt_xgboost)]
    if library == "catboost":
        from costframe.adoption.catboost import adopt_catboost, is_catboost

        return [(is_catboost, adopt_catboost)]
    from costframe.adoption.own import adopt_own, is_own
    from costframe.adoption.pipelines import adopt_pipeline, is_pipeline
    from costframe.adoption.sklearn import adopt_sklearn, is_sklearn

    return [(is_own, adopt_own), (is_pipeline, partial(adopt_pipeline, adopt=adopt)), (is_sklearn, adopt_sklearn)]


@hookimpl
def costframe_prepare(transformer: Any, feature_names: Sequence[str] | None) -> Preparation | None:
    """Describe fitted transformers of scikit-learn."""
    from costframe.adoption.pipelines import is_transformer, prepare

    return prepare(transformer, feature_names) if is_transformer(transformer) else None


@hookimpl
def costframe_spare(tree: StageTree, rows: FallbackRows) -> StageTree | None:
    """Learn trees that stand in for a model with one answer, adopted or trained."""
    from costframe.trees.spare_trees import train_spare_trees

    return train_spare_trees(tree, rows)


def _adopt_file(path: str | os.PathLike[str], feature_names: Sequence[str] | None) -> Predictor:
    from costframe.adoption.catboost import adopt_catboost_file, looks_like_catboost
    from costframe.adoption.lightgbm import adopt_lightgbm_file, looks_like_lightgbm
    from costframe.adoption.xgboost import adopt_xgboost_file, looks_like_xgboost

    file = as_path(path)
    if "\n" in str(path):
        raise AdoptionError(
            f"model: expected a path, got a text of {len(str(path)):,} characters, {shown(str(path))}; if it is a "
            "model, write it to a file and give the path of that"
        )
    try:
        data = file.read_bytes()
    except (OSError, ValueError) as error:
        raise AdoptionError(f"{file}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    ways: Sequence[_Adopter] = [
        (looks_like_lightgbm, adopt_lightgbm_file),
        (looks_like_catboost, adopt_catboost_file),
        (looks_like_xgboost, adopt_xgboost_file),
    ]
    for knows, adopter in ways:
        if knows(data):
            return adopter(data, str(file), feature_names)
    for magic, what in _OTHERS:
        if data.startswith(magic):
            raise AdoptionError(f"{file}: is {what}")
    if b'"tree_info"' in data and b'"max_feature_idx"' in data:
        raise AdoptionError(f"{file}: is {_DUMP}")
    raise AdoptionError(
        f"{file}: is not a costframe model, nor one of LightGBM (text), XGBoost (JSON or UBJSON) or CatBoost "
        "(.cbm or JSON)"
    )
