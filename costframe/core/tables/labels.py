"""Checks of the labels, weights and queries of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.errors import DataError
from costframe.core.tables.categories import is_missing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["check_queries", "check_target", "check_weights"]


def check_weights(sample_weight: ArrayLike | None, n_rows: int, name: str) -> NDArray[np.float64]:
    """Return float64 (n_rows,) weights, ones by default; they must be finite, >= 0, and not all zero."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name}: expected numbers, got {sample_weight!r}") from None
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise DataError(f"{name}: expected one weight a row, shape ({n_rows},), got {weight.shape}")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise DataError(
            f"{name}: expected finite numbers >= 0, got {weight[~(np.isfinite(weight) & (weight >= 0))][0]}"
        )
    if not (weight > 0).any():
        raise DataError(f"{name}: expected some positive weight, all are zero")
    return weight


def check_target(y: ArrayLike, n_rows: int, name: str) -> NDArray[np.float64]:
    """Return float64 (n_rows,) labels; refuse missing or infinite ones."""
    try:
        target = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name}: expected numbers, got labels that are none") from None
    except OverflowError:
        raise DataError(f"{name}: expected numbers, got a whole number beyond all doubles") from None
    if target.shape != (n_rows,):
        raise DataError(f"{name}: expected one label a row, shape ({n_rows},), got {target.shape}")
    if not np.isfinite(target).all():
        # "NaN" and "infinity" are the words scikit-learn's own checks look for.
        raise DataError(
            f"{name}: expected finite labels, got NaN or infinity in row {int(np.argmin(np.isfinite(target)))}"
        )
    return target


def check_queries(qid: ArrayLike, n_rows: int, name: str) -> NDArray[np.int64]:
    """Return the query of each row as a number; refuse another shape, and missing queries."""
    queries = np.asarray(qid)
    if queries.shape != (n_rows,):
        raise DataError(f"{name}: expected one query a row, shape ({n_rows},), got {queries.shape}")
    missing = np.zeros(n_rows, np.bool_)
    if queries.dtype.kind in "fmM":
        missing = np.isnan(queries)
    elif queries.dtype.kind == "O":
        missing[:] = [is_missing(query) for query in queries]
    if missing.any():
        raise DataError(f"{name}: expected the query of each row, it is missing in row {int(missing.argmax())}")
    try:
        return np.unique(queries, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise DataError(f"{name}: expected queries of one kind: {error}") from None
