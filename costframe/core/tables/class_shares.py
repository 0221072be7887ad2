"""Labels of rows as shares of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8
from costframe.core.errors import DataError, ParameterError, shown

_ROUNDING = 1e-6


def class_shares(y: ArrayLike, classes: NDArray[Any] | None, n_rows: int) -> F8:
    """Return the share of each class of each row, float64 (n_rows, K), given labels, (n_rows,), or these shares.

    Raises
    ------
    ParameterError
        If there are labels, but no classes.
    DataError
        For other labels and shapes, and for shares that are negative or do not sum to one.
    """
    given = np.asarray(y)
    if given.ndim == 2:
        return _check_shares(given, n_rows, given.shape[1] if classes is None else len(classes))
    if classes is None:
        raise ParameterError("y: expected None or shares of classes, as the model has no classes")
    if given.shape != (n_rows,):
        raise DataError(f"y: expected one label a row, shape ({n_rows},), got {given.shape}")
    is_class = given[:, np.newaxis] == np.asarray(classes)
    if not (known := is_class.any(axis=1)).all():
        names, other = shown(np.asarray(classes).tolist()), shown(given[~known].tolist()[0])
        raise DataError(f"y: expected labels of the model's classes {names}, got {other}")
    return np.asarray(is_class, np.float64)


def _check_shares(given: NDArray[Any], n_rows: int, n_classes: int) -> F8:
    if given.dtype.kind not in "fiub" or given.shape != (n_rows, n_classes):
        raise DataError(
            f"y: expected shares of classes of the shape {n_rows, n_classes}, got {given.dtype} of shape {given.shape}"
        )
    shares = np.asarray(given, np.float64)
    is_share = (shares >= 0).all(axis=1) & (np.abs(shares.sum(axis=1) - 1.0) < _ROUNDING)
    if not is_share.all():
        raise DataError(f"y: expected shares >= 0 that sum to one, got {shares[~is_share][0].tolist()}")
    return shares
