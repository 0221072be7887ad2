"""Models inside models, and what these know: names of columns, categories, prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from costframe.adoption.foreign import is_unfitted, package_of
from costframe.adoption.lightgbm import is_lightgbm, pandas_categories
from costframe.adoption.own import is_own, own_predictor
from costframe.adoption.xgboost import is_xgboost
from costframe.core.errors import AdoptionError
from costframe.core.prices.costs import CostModel

_VALUES = (  # estimators of scikit-learn to which a value is more than a double
    "FunctionTransformer", "GaussianProcess", "HistGradientBoosting", "MissingIndicator", "OneHotEncoder",
    "OrdinalEncoder", "SimpleImputer", "TargetEncoder",
)  # fmt: skip
_MOST = 1000  # estimators to look at inside a model
_DOUBLES = ("IterativeImputer", "KBinsDiscretizer")  # which make doubles before one of those inside reads them
_DEEPEST = 8  # models within models
WRAPPERS = {
    "FrozenEstimator": "estimator",
    **dict.fromkeys(
        ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"), "best_estimator_"
    ),
    "SelfTrainingClassifier": "estimator_",
    "RANSACRegressor": "estimator_",
}
"""The attribute with the fitted model that a class only wraps."""


def categories_inside(model: Any, names: Sequence[str]) -> dict[int, tuple[Any, ...]]:
    """Return the categories of columns, by number, that models of LightGBM and XGBoost inside a model keep."""
    categories: dict[int, tuple[Any, ...]] = {}
    place = {name: f for f, name in enumerate(names)} | {name.replace(" ", "_"): f for f, name in enumerate(names)}
    for part in everything_inside(model):
        for name, known in _read_categories(part).items():
            if name in place and known:
                categories.setdefault(place[name], known)
    return categories


def _read_categories(model: Any) -> dict[str, tuple[Any, ...]]:
    if is_lightgbm(model):
        return {} if is_unfitted(model) else pandas_categories(model)
    if not is_xgboost(model) or is_unfitted(model):
        return {}
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if "c" not in (booster.feature_types or []) or not hasattr(booster, "get_categories"):  # kept since 3.1
        return {}
    listed = booster.get_categories(export_to_arrow=True).to_arrow()
    return {name: tuple(known.to_pylist()) for name, known in listed or () if known is not None}


def reads_numbers(model: Any) -> bool:
    """Return whether doubles in place of the values make no difference to a fitted estimator and its parts.

    They make none to scikit-learn's estimators, except encoders and others that distinguish types of values.
    """
    name = type(model).__name__
    if package_of(type(model)) != "sklearn" or name.startswith(_VALUES):
        return False
    if name in _DOUBLES:
        return True
    return all(reads_numbers(part) for part in estimators_inside(model))


def everything_inside(model: Any) -> Iterator[Any]:
    """Yield a model and all estimators and transformers inside it, once each."""
    waiting, seen = [model], set[int]()
    while waiting and len(seen) < _MOST:
        part = waiting.pop(0)
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            waiting += estimators_inside(part)


def estimators_inside(model: Any) -> list[Any]:
    """Return the estimators and transformers in the attributes of another one, also those in lists and mappings."""
    return _estimators(vars(model).values()) if hasattr(model, "__dict__") else []


def _estimators(values: Any, depth: int = 0) -> list[Any]:
    estimators = list[Any]()
    for value in values:
        if isinstance(value, Mapping) and depth < 3:
            estimators += _estimators(value.values(), depth + 1)
        elif (
            isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object)
        ) and depth < 3:
            estimators += _estimators(value, depth + 1)
        elif hasattr(value, "calibrators"):  # a member of CalibratedClassifierCV, which is no estimator itself
            estimators.append(value.estimator)
        elif hasattr(value, "fit") and not isinstance(value, type):
            estimators.append(value)
    return estimators


def inner_of(model: Any) -> Any:
    """Return the model inside wrappers, itself if there is none."""
    while (name := type(model).__name__) in WRAPPERS:
        inner = getattr(model, WRAPPERS[name], None)
        if inner is None:
            raise AdoptionError(f"{name}: has no {WRAPPERS[name]}; fit it, with refit=True if it is a search")
        model = inner
    return model


def members_of(model: Any) -> list[Any]:
    """Return the fitted models right inside a model, as far as its class is known here."""
    inner = inner_of(model)
    if inner is not model:
        return [inner]
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps and isinstance(steps[-1], tuple):
        return [steps[-1][1]]
    if hasattr(model, "calibrated_classifiers_"):
        return [member.estimator for member in model.calibrated_classifiers_]
    several = getattr(model, "estimators_", None)
    if several is not None:
        return [*np.ravel(np.array(several, object))]
    attributes = (getattr(model, name, None) for name in ("estimator_", "regressor_", "estimator"))
    return [next((member for member in attributes if member is not None), None)]


def names_inside(model: Any) -> tuple[str, ...] | None:
    """Return the names of columns with which a model, or else the first model inside it with names, was fitted."""
    for _ in range(_DEEPEST):
        if is_own(model):
            predictor = own_predictor(model)
            return None if predictor is None else predictor.feature_names
        names = getattr(model, "feature_names_in_", getattr(model, "feature_names_", None))
        if names is not None and list(names) != [str(f) for f in range(len(names))]:  # CatBoost numbers columns
            return tuple(map(str, names))
        model = next(iter(members_of(model)), None)
    return None


def prices_inside(model: Any, names: Sequence[str]) -> CostModel | None:
    """Return the prices, without those of errors, of costframe's models in a model; None if they differ, or lack some.

    `names` are the columns that the model reads.
    """
    predictors = [part for part in map(own_predictor, everything_inside(model)) if part is not None]
    costs = [part.costs.without_errors() for part in predictors if part.costs is not None]
    if not costs or len(costs) < len(predictors) or any(other != costs[0] for other in costs):
        return None
    return costs[0] if set(names) <= {feature.name for feature in costs[0].features} else None
