"""Probabilities that a given model, or the user, tells for rows, with a check."""

from __future__ import annotations

from typing import Any

import numpy as np

from costframe.core.arrays import F8
from costframe.core.errors import BankError, DataError, shown
from costframe.core.predictors.stage_tree import StageTree

_NEARLY = 1e-6  # probabilities may leave [0, 1] by this much: forests sum up in single precision
_ONE = 1e-3  # the sum over all classes may differ from one by this much


def predict_checked(tree: StageTree, X: F8, whose: str, parameter: str) -> F8:
    """Return a model's probabilities of rows, float64 (n,) of class 1, or (n, M); refuse other numbers."""
    try:
        values = tree.predict(X)
    except BankError as error:
        raise DataError(f"{parameter}: {error}") from error
    return _check_probabilities(values, f"{parameter}: expected probabilities", f" for {whose}")


def _check_probabilities(values: F8, expected: str, whose: str = "") -> F8:
    """Return probabilities, (n,) of class 1 or (n, M), with rounding beyond 0 and 1 cut; refuse other numbers."""
    wrong = ~((values >= -_NEARLY) & (values <= 1 + _NEARLY))
    if wrong.any():
        raise DataError(f"{expected} from 0 to 1{whose}, got {values[wrong][0]:g}")
    _check_sums(values, f"{expected} that sum to one{whose}")
    return np.clip(values, 0.0, 1.0)


def _check_sums(values: F8, expected: str) -> None:
    """Refuse probabilities of all classes, (n, M), that do not sum to one."""
    if values.ndim == 2:
        sums = values.sum(axis=1)
        wrong = ~(np.abs(sums - 1) <= _ONE)
        if wrong.any():
            raise DataError(f"{expected}, got a sum of {sums[wrong][0]:g}")


def read_probabilities(proba: Any, n_rows: int, n_classes: int, parameter: str) -> F8:
    """Return probabilities that a user gives for rows: float64 (n,) of class 1 for two classes, else (n, M).

    Raises
    ------
    DataError
        If they have another shape, or are no probabilities.
    """
    try:
        values = np.asarray(proba, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{parameter}: expected numbers, got {shown(proba)}") from None
    if values.shape == (n_rows, 2) and n_classes == 2:
        _check_sums(values, f"{parameter}: expected rows that sum to one")
        values = values[:, 1]
    if values.shape != ((n_rows,) if n_classes == 2 else (n_rows, n_classes)):
        raise DataError(f"{parameter}: expected shape {(n_rows, n_classes)}, one row a row of X, got {values.shape}")
    return _check_probabilities(values, f"{parameter}: expected probabilities")
