"""Copies of a given base model on sets of features."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor

from costframe.adoption.callable_model import CallableModel
from costframe.adoption.classes import labels_for, require_probabilities
from costframe.adoption.foreign import describe_error, is_unfitted
from costframe.adoption.given.fitting import fit_copy
from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError, ParameterError
from costframe.core.predictors.predictor import Predictor
from costframe.training.data import Rows, TrainingData

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
class GivenBase:
    """The given base model, and the data to train copies of it."""

    model: Any  # not fitted
    data: TrainingData
    labels: NDArray[Any] | None  # (K,): labels of the classes; None for regression
    seed: int
    framed: bool  # whether the columns have names, so that copies get data frames

    @classmethod
    def of(cls, model: Any, data: TrainingData, classes: NDArray[Any] | None, seed: int, *, framed: bool) -> GivenBase:
        """Check a model for these classes, or for regression without classes."""
        _check(model, classes=classes is not None)
        return cls(model, data, None if classes is None else labels_for(model, classes), seed, framed)

    def fit(self, rows: Rows, columns: I8) -> _Scores:
        """Fit a copy on some columns of rows, and return its scores as a function of rows."""
        names = tuple(self.data.feature_names[f] for f in columns)
        labels = rows.y if self.labels is None else self.labels[rows.y]
        model = fit_copy(
            self.model, rows, labels, names, self.data, parameter="base", seed=self.seed, framed=self.framed
        )
        if self.labels is None:
            return _Scores(CallableModel.of(model, names, "predict"), None, 0, 0.0)
        known = _places(model, self.labels)
        return _Scores(
            CallableModel.of(model, names, "predict_proba"), known, len(self.labels), 0.5 / int(rows.repeats.sum())
        )


def _places(model: Any, labels: NDArray[Any]) -> I8:
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
    """Scores of rows, (n, columns) to (n,) or (n, K): predictions, log odds for two classes, or log probabilities."""

    outputs: CallableModel
    known: I8 | None  # (M,): classes of the model's training rows, in its order
    n_classes: int
    least: float  # lower bound of probabilities, from the number of training rows

    def __call__(self, rows: F8) -> F8:
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
        shares = np.full((len(rows), self.n_classes), self.least)
        shares[:, self.known] = np.maximum(values, self.least)
        logarithms = np.log(shares)
        return np.asarray(logarithms if self.n_classes > 2 else logarithms[:, 1] - logarithms[:, 0])
