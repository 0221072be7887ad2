"""Rows as the core reads them: float64, two-dimensional, columns in the order of the feature names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["as_names", "as_rows", "check_names", "column_names", "refuse_text"]


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of a data frame's columns; None where there are no columns, or none named by text."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return tuple(str(name) for name in columns)


def refuse_text(X: Any, what: str = "the data") -> None:
    """Refuse text where numbers belong, also text that spells a number, and column names that stand twice."""
    names = column_names(X)
    if names is None:
        if not hasattr(X, "toarray") and _has_text(X):
            raise DataError(f"{what}: expected numbers, got text")
        return
    check_names(names, what)
    for name, kind in zip(names, X.dtypes, strict=True):
        if not str(kind).lower().startswith(NUMBERS) and _has_text(X[name]):
            raise DataError(f"{what}: column {name!r} holds text ({kind}), expected numbers")


NUMBERS = ("int", "uint", "float", "bool")  # how the names of pandas' and polars' numeric types begin


def _has_text(values: Any) -> bool:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):  # ragged, say; whoever converts it names the fault
        return False
    return array.dtype.kind in "US" or (array.dtype.kind == "O" and any(isinstance(v, str | bytes) for v in array.flat))


def as_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple; one text would come apart into letters, so it is refused."""
    if isinstance(names, str):
        raise DataError(f"names: expected a list of names, got one text {names!r}")
    return tuple(names)


def as_rows(X: Any, feature_names: Sequence[str]) -> NDArray[np.float64]:
    """Make float64 rows of `X`.

    Parameters
    ----------
    X : data frame, or array-like (rows, features)
        A data frame (pandas, polars) is matched by name, whatever its column order, and may have further columns;
        anything else by position.
    feature_names : sequence of str
        What the columns must be.

    Raises
    ------
    DataError
        If a column is missing, the shape does not fit, or a value is no number.
    """
    if type(X) is not np.ndarray or X.dtype != np.float64:
        refuse_text(X)
    names = column_names(X)
    if names is not None:
        missing = [name for name in feature_names if name not in set(names)]
        if missing:
            raise DataError(f"the data lack {_listed(missing)}; they have {_listed(names)}")
        if names != tuple(feature_names):
            X = X[list(feature_names)]
    rows = _numbers(X)
    if rows.ndim != 2:
        raise DataError(f"expected rows x features, got an array of shape {rows.shape}; one row is X.reshape(1, -1)")
    if rows.shape[1] != len(feature_names):
        raise DataError(f"expected {len(feature_names)} columns ({_listed(feature_names)}), got {rows.shape[1]}")
    return rows


def check_names(names: Sequence[str], whose: str) -> None:
    """Refuse names that stand twice."""
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if list(names).count(name) > 1})
        raise DataError(f"{whose} name {_listed(twice)} more than once; names must be distinct")


def _numbers(X: Any) -> NDArray[np.float64]:
    if type(X) is np.ndarray and X.dtype == np.float64:
        return X
    if isinstance(X, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(X.astype(np.float64), np.nan))
    if hasattr(X, "toarray"):
        raise DataError("expected a dense table, got a sparse matrix; use X.toarray()")
    try:
        if type(X).__module__.startswith("pandas"):
            return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))  # pandas' own missing values too
        array = np.asarray(X)
        if array.dtype.kind in "cMmSU":
            raise DataError(f"expected numbers, got values of type {array.dtype}")
        return np.asarray(array, np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"expected numbers in every cell, got some that are none: {error}") from None


def _listed(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(repr(name) for name in list(names)[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
