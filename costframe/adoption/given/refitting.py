"""Foreign estimators with scikit-learn's interface, fitted and evaluated inside an algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from attrs import frozen
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from costframe.core.errors import CostframeError, DataError, ParameterError
from costframe.core.prices.costs import CostModel
from costframe.core.tables.as_given import restore_values
from costframe.training.estimator import CostAwareEstimator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from costframe.training.data import Rows, TrainingData

__all__ = ["CallableModel", "as_frame", "describe_error", "is_unfitted", "labels_for", "refit", "require_probabilities"]


@frozen(eq=False)
class CallableModel:
    """The outputs of a fitted model, float64 (n,) or (n, K), as a picklable function of rows (n, len(names))."""

    model: Any
    names: tuple[str, ...]
    method: Literal["predict_proba", "decision_function", "predict"]

    def __call__(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the model's outputs; rows with texts are of objects, and a model with feature names gets a frame."""
        return np.asarray(self.call(self.method, rows), np.float64)

    def call(self, method: str, rows: NDArray[Any]) -> Any:
        """Return what a method of the model gives for rows, a sparse table as it is."""
        rows = restore_values(rows) if isinstance(rows, np.ndarray) and rows.dtype != object else rows
        given: Any = rows if getattr(self.model, "feature_names_in_", None) is None else as_frame(rows, self.names)
        try:
            return getattr(self.model, method)(given)
        except (TypeError, ValueError):
            if given is rows or not hasattr(given, "isna") or not (empty := given.isna().all()).any():
                raise
        objects = given.astype(dict.fromkeys(given.columns[empty], object))  # they may be columns of texts
        return getattr(self.model, method)(objects)


def is_unfitted(model: Any) -> bool:
    """Return whether a model is a scikit-learn estimator that is not fitted."""
    if not (hasattr(model, "fit") and hasattr(model, "get_params")):
        return False
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return True
    return False


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
    return np.arange(len(classes)) if type(model).__module__.split(".")[0] == "xgboost" else classes


def refit(
    model: Any,
    rows: Rows,
    labels: NDArray[Any],
    names: tuple[str, ...],
    data: TrainingData,
    *,
    parameter: str,
    seed: int,
    framed: bool,
) -> Any:
    """Fit a copy of an estimator on the columns `names` of rows; if `framed`, on a pandas frame if pandas is installed.

    `seed` is for random states that the user has not fixed. It refuses an estimator without sample weights if the rows
    have weights; errors name the estimator by `parameter`.
    """
    copy = clone(model)
    _seed(copy, seed)
    if isinstance(copy, CostAwareEstimator):
        priced = data.costs.to_dict()
        priced["features"] = {name: priced["features"][name] for name in names}
        copy.set_params(costs=CostModel.from_dict(priced))
    X, y, weight = rows.X[:, [data.feature_names.index(name) for name in names]], labels.copy(), rows.uneven_weight
    given = {}
    if weight is not None and has_fit_parameter(copy, "sample_weight"):
        given = {"sample_weight": weight.copy()}  # copies, because foreign code may write to its arguments
    elif weight is not None:
        if rows.counts is None:
            raise ParameterError(
                f"{parameter}: {type(model).__name__} takes no sample weights, and rows have some, of "
                "their own or by class_weight"
            )
        X, y = np.repeat(X, rows.counts, axis=0), np.repeat(y, rows.counts)
    X = restore_values(X)
    try:
        copy.fit(as_frame(X, names) if framed else X, y, **given)
    except (CostframeError, MemoryError):
        raise
    except Exception as error:
        raise DataError(f"{parameter}: {type(model).__name__} cannot be fitted: {describe_error(error)}") from error
    return copy


def describe_error(error: Exception) -> str:
    """Return the text of a foreign error, with its type where the text alone is unclear."""
    return str(error) if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: {error}"


def as_frame(X: NDArray[Any], names: Iterable[str]) -> Any:
    """Return a pandas frame with named columns, those without texts of numbers; the array without pandas."""
    try:
        import pandas as pd
    except ImportError:
        return X
    if X.dtype != object:
        return pd.DataFrame(X, columns=list(names))
    columns = {}
    for name, values in zip(names, X.T, strict=True):
        kind = np.float64 if all(isinstance(value, float) for value in values) else object
        columns[name] = pd.Series(values, dtype=kind)
    return pd.DataFrame(columns)


def _seed(model: Any, seed: int) -> None:
    """Set the random states that the user has not fixed."""
    parameters = model.get_params()
    unset = {
        name: seed
        for name, value in sorted(parameters.items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    if unset:
        model.set_params(**unset)
