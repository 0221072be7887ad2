"""Models inside models of scikit-learn, and the names of columns that these know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from costframe.adoption.foreign import everything_inside
from costframe.adoption.own import is_own, own_predictor
from costframe.core.errors import AdoptionError
from costframe.core.prices.costs import CostModel

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
        return [one.estimator for one in model.calibrated_classifiers_]
    several = getattr(model, "estimators_", None)
    if several is not None:
        return [*np.ravel(np.array(several, object))]
    one = (getattr(model, name, None) for name in ("estimator_", "regressor_", "estimator"))
    return [next((each for each in one if each is not None), None)]


def names_inside(model: Any) -> tuple[str, ...] | None:
    """Return names of columns that a model does not tell, but the first model inside it that knows some."""
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
    found = [each.costs for each in map(own_predictor, everything_inside(model)) if each is not None]
    priced = [each.without_errors() for each in found if each is not None]
    if not priced or len(priced) < len(found) or any(each != priced[0] for each in priced):
        return None
    return priced[0] if set(names) <= {each.name for each in priced[0].features} else None
