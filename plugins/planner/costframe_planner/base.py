"""The given base model: copies of it on the columns of sets, and their outputs as scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from sklearn.base import clone, is_classifier, is_regressor

from costframe.adoption import CallableModel, describe_error, is_unfitted, labels_for, refit, require_probabilities
from costframe.plugin import DataError, ParameterError, Predictor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.plugin import Rows, TrainingData

__all__ = ["Base"]

_ROUNDED = 1e-3  # rounding error allowed for probabilities beyond 0 and 1


def _check(base: Any, *, classes: bool) -> None:
    """Refuse an object that is not an unfitted estimator for the task."""
    kind = "a classifier" if classes else "a regressor"
    expected, got = f"base: expected {kind} that is not fitted", type(base).__name__
    if isinstance(base, type):
        raise ParameterError(f"{expected}, got the class {base.__name__}; call it")
    if isinstance(base, Predictor) or not (hasattr(base, "fit") and hasattr(base, "get_params")):
        raise ParameterError(f"{expected}, got {got}")
    if not (is_classifier if classes else is_regressor)(base):
        raise ParameterError(f"{expected}, {got} is none")
    if classes:
        require_probabilities("base", base)
    if not is_unfitted(base):
        raise ParameterError(f"{expected}, this {got} is; it is fitted anew on each set of features")
    try:
        clone(base)
    except (TypeError, RuntimeError, ValueError) as error:
        raise ParameterError(f"{expected} and can be cloned, {got} cannot: {error}") from error


@frozen(eq=False)
class Base:
    """The given base model, and the data to train copies of it.

    Attributes
    ----------
    model : estimator
        Not fitted.
    data : TrainingData
    labels : (K,) or None
        Labels of the classes; None for regression.
    seed : int
    framed : bool
        Whether the columns have names, so that copies get data frames.
    """

    model: Any
    data: TrainingData
    labels: NDArray[Any] | None
    seed: int
    framed: bool

    @classmethod
    def of(cls, model: Any, data: TrainingData, classes: NDArray[Any] | None, seed: int, *, framed: bool) -> Base:
        """Check a model for these classes, or for regression without classes."""
        _check(model, classes=classes is not None)
        return cls(model, data, None if classes is None else labels_for(model, classes), seed, framed)

    def fit(self, rows: Rows, columns: NDArray[np.int64]) -> _Scores:
        """Fit a copy on some columns of rows, and return its scores as a function of rows."""
        names = tuple(self.data.feature_names[f] for f in columns)
        labels = rows.y if self.labels is None else self.labels[rows.y]
        model = refit(self.model, rows, labels, names, self.data, parameter="base", seed=self.seed, framed=self.framed)
        if self.labels is None:
            return _Scores(CallableModel(model, names, "predict"), None, 0, 0.0)
        known = _places(model, self.labels)
        return _Scores(
            CallableModel(model, names, "predict_proba"), known, len(self.labels), 0.5 / int(rows.repeats.sum())
        )


def _places(model: Any, labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return the numbers of a fitted classifier's classes: int64; refuse classes that are not labels."""
    classes = getattr(model, "classes_", None)
    numbers = {label: number for number, label in enumerate(labels.tolist())}
    known = None if classes is None else np.asarray(classes).tolist()
    if not isinstance(known, list) or not all(label in numbers for label in known):
        raise DataError(
            f"base: {type(model).__name__}: expected classes_ of the labels {labels.tolist()}, got {known} once fitted"
        )
    return np.array([numbers[label] for label in known], np.int64)


@frozen(eq=False)
class _Scores:
    """Scores of rows, (n, columns) to (n,) or (n, K): predictions, or log odds for two classes, or log probabilities.

    Attributes
    ----------
    outputs : CallableModel
    known : int64 (M,) or None
        Classes of the model's training rows, in its order.
    n_classes : int
    least : float
        Lower bound of probabilities, from the number of training rows.
    """

    outputs: CallableModel
    known: NDArray[np.int64] | None
    n_classes: int
    least: float

    def __call__(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of rows."""
        what = f"base: {type(self.outputs.model).__name__}"
        try:
            values = self.outputs(rows)
        except MemoryError:
            raise
        except Exception as error:
            raise DataError(f"{what} cannot predict: {describe_error(error)}") from error
        width = () if self.known is None else (len(self.known),)
        if values.shape != (len(rows), *width) or not np.isfinite(values).all():
            raise DataError(
                f"{what}: expected finite predictions of shape {(len(rows), *width)}, got {values.shape}"
                + ("" if np.isfinite(values).all() else ", some of which are none")
            )
        if self.known is None:
            return values
        if values.min(initial=0.0) < -_ROUNDED or values.max(initial=1.0) > 1 + _ROUNDED:
            raise DataError(f"{what}: expected probabilities within 0 and 1, got {values.min()} to {values.max()}")
        each = np.full((len(rows), self.n_classes), self.least)
        each[:, self.known] = np.maximum(values, self.least)
        logarithms = np.log(each)
        return np.asarray(logarithms if self.n_classes > 2 else logarithms[:, 1] - logarithms[:, 0])
