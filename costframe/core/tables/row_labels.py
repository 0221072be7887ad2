"""What rows have beside features: labels, weights, queries and groups, each checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError, shown
from costframe.core.tables.categories import is_missing
from costframe.core.tables.frames import is_numeric_dtype, is_pandas
from costframe.core.tables.rows import TIMES
from costframe.core.workers import ALONE, Workers


def check_weights(sample_weight: ArrayLike | None, n_rows: int, name: str, workers: Workers = ALONE) -> F8:
    """Return float64 (n_rows,) weights, ones by default; they must be finite, >= 0, and not all workers' zero."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.asarray(sample_weight)
        if weight.dtype.kind in "cMm":
            raise TypeError  # noqa: TRY301 - NumPy would take a part of complex numbers, and times as numbers
        weight = np.asarray(weight, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name}: expected numbers, got {shown(sample_weight)}") from None
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise DataError(f"{name}: expected one weight a row, shape ({n_rows},), got {weight.shape}")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise DataError(
            f"{name}: expected finite numbers >= 0, got {weight[~(np.isfinite(weight) & (weight >= 0))][0]}"
        )
    if not workers.any((weight > 0).any()):
        raise DataError(f"{name}: expected some positive weight, all are zero")
    return weight


def exact_labels(y: Any) -> Any:
    """Return whole numbers of pandas' nullable dtypes as NumPy's, of which scikit-learn makes doubles; others as is."""
    dtype = getattr(y, "dtype", None)
    nullable = is_pandas(y) and not isinstance(dtype, np.dtype) and is_numeric_dtype(dtype)
    return y.to_numpy() if nullable and not y.isna().any() else y


def check_target(y: ArrayLike, n_rows: int, name: str) -> F8:
    """Return float64 (n_rows,) labels; refuse missing or infinite ones."""
    given = np.asarray(y)
    if given.dtype.kind in "cmM" or (given.dtype.kind == "O" and any(isinstance(label, TIMES) for label in given.flat)):
        raise DataError(f"{name}: expected numbers, got values such as {given.flat[0]}")
    try:
        target = np.asarray(given, np.float64)
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


def check_queries(qid: ArrayLike, n_rows: int, name: str, what: str = "query") -> I8:
    """Return the query, or group, of each row as a number; refuse another shape, and missing ones."""
    queries = np.asarray(qid)
    if queries.shape != (n_rows,):
        raise DataError(f"{name}: expected one {what} a row, shape ({n_rows},), got {queries.shape}")
    missing = np.zeros(n_rows, np.bool_)
    if queries.dtype.kind in "fmM":
        missing = np.isnan(queries)
    elif queries.dtype.kind == "O":
        missing[:] = [is_missing(query) for query in queries]
    if missing.any():
        raise DataError(f"{name}: expected the {what} of each row, it is missing in row {int(missing.argmax())}")
    try:
        return np.unique(queries, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise DataError(f"{name}: expected values of one kind: {error}") from None


def check_nested(queries: I8, groups: I8, name: str) -> None:
    """Refuse groups that cut a query; numbers from 0 of each row's query and group, int64 (n,)."""
    pairs = np.unique(queries * (int(groups.max(initial=0)) + 1) + groups)
    if len(pairs) > len(np.unique(queries)):
        raise DataError(f"{name}: expected each query in one group")
