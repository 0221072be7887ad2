"""Classes of a foreign classifier, and their labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.adoption.foreign import library_of
from costframe.core.errors import DataError, ParameterError
from costframe.core.predictors.predictor import Predictor

_SEVERAL = ("MultiLogloss", "MultiCrossEntropy")  # CatBoost's losses of several labels a row


def require_probabilities(parameter: str, model: Any, expected: str = "a model") -> None:
    """Refuse a class, and estimators without class probabilities, also those whose trees could be adopted."""
    if isinstance(model, type):
        raise ParameterError(f"{parameter}: expected {expected}, got the class {model.__name__}; call it")
    if hasattr(model, "fit") and hasattr(model, "get_params") and not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"{parameter}: expected a classifier with predict_proba, {type(model).__name__} has none"
            "; scikit-learn's CalibratedClassifierCV gives it one"
        )


def labels_for(model: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels of the classes, (M,), for fitting this model: xgboost takes only numbers from zero."""
    return np.arange(len(classes)) if library_of(model) == "xgboost" else classes


def classes_of(model: Any) -> Any:
    """Return the labels of a classifier's classes, a list of arrays if there are several labels a row, else None."""
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list) and classes and np.ndim(classes[0]):
        return classes
    only_raw = type(model).__name__ == "CatBoost"  # whose predictions are raw values by default
    return None if only_raw or classes is None or not len(classes) else np.asarray(classes)


def fits_several(model: Any) -> bool:
    """Return whether several of a classifier's classes may fit a row."""
    binarizer = getattr(model, "label_binarizer_", getattr(model, "_label_binarizer", None))
    loss = model.get_all_params().get("loss_function", "") if hasattr(model, "get_all_params") else ""
    return str(getattr(binarizer, "y_type_", "")).startswith("multilabel") or loss.startswith(_SEVERAL)


def labels_of(model: Any, n_predictions: int) -> NDArray[Any] | None:
    """Return the labels of a classifier's classes, of two for one prediction; None if several fit a row."""
    classes = classes_of(model)
    if classes is None or isinstance(classes, list) or len(classes) < 2 or fits_several(model):
        return None
    return classes if n_predictions == len(classes) or (n_predictions, len(classes)) == (1, 2) else None


def check_model_classes(model: Any, classes: NDArray[Any], parameter: str) -> None:
    """Refuse a fitted classifier whose classes are not those of the labels, in their order.

    The classes of an adopted one may also be the numbers of the labels, as xgboost's are.
    """
    adopted = getattr(model, "classes", None) if isinstance(model, Predictor) else None
    known = getattr(model, "classes_", adopted)
    if known is None or (adopted is not None and np.array_equal(adopted, np.arange(len(classes)))):
        return
    known = np.asarray(known)
    unknown = [label for label in classes.tolist() if label not in set(known.tolist())]
    if unknown:
        owner = parameter if parameter.endswith("model") else f"{parameter} model"
        raise DataError(f"y: has the class {unknown[0]!r}, which the {owner} does not know: {known.tolist()}")
    if known.tolist() != classes.tolist():
        raise DataError(
            f"{parameter}: knows the classes {known.tolist()}, expected those of y in ascending order: "
            f"{classes.tolist()}"
        )
