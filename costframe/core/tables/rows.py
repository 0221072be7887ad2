"""Rows for the core: float64 tables in the order of the feature names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date, time, timedelta
from typing import Any

import numpy as np

from costframe.core.arrays import F8
from costframe.core.checks import check_name_list, needed
from costframe.core.errors import DataError, quote_names
from costframe.core.tables.blank_columns import blank_columns
from costframe.core.tables.categories import Categories, encode
from costframe.core.tables.dates import check_dates
from costframe.core.tables.frames import check_names, column_names, is_arrow, is_frame, refuse_lazy, select_columns
from costframe.core.tables.unknown_values import warn_of_frame

TIMES = (np.datetime64, np.timedelta64, date, time, timedelta)


def refuse_text(X: Any, what: str = "the data") -> None:
    """Refuse text in place of numbers in an array, also text that spells a number, and times, which NumPy converts."""
    if hasattr(X, "toarray"):
        return
    try:
        array = np.asarray(X)
    except (TypeError, ValueError):  # for example ragged; the conversion names the fault
        return
    kinds = set(map(type, array.flat)) if array.dtype.kind == "O" else {array.dtype.type}
    if any(issubclass(kind, str | bytes) for kind in kinds):
        raise DataError(f"{what}: expected numbers, got text")
    if any(issubclass(kind, TIMES) for kind in kinds):
        raise DataError(f"{what}: expected numbers, got dates or times; give a data frame, or write numbers")


def as_column_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple; refuse a set, and one text, which a tuple would split into letters."""
    return check_name_list("names", names, error=DataError)


def as_feature_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return `feature_names` as a tuple, as `as_column_names` does."""
    return names if type(names) is tuple else check_name_list("feature_names", names, error=DataError)


def as_rows(
    X: Any,
    feature_names: Sequence[str],
    categories: Categories | None = None,
    used: Sequence[str] | None = None,
    unread: Collection[str] = (),
) -> F8:
    """Return the rows of `X`: float64 (rows, features).

    Parameters
    ----------
    X : data frame, or array-like (rows, features)
        A data frame (pandas, polars, pyarrow) is matched by name, and may have further columns; an array by position.
    feature_names : sequence of str
        Names of the columns, in order.
    categories : mapping of str to tuple of str, optional
        Labels of the features whose categories are texts; `categories.encode` replaces them by numbers.
    used : sequence of str, optional
        Features that a trained model uses, which warns of a frame's columns of which it knows no value; a frame's
        columns of others are not read, and become NaN. By default all are read.
    unread : collection of str, optional
        Features of which nothing is read: a frame may lack them, in any table they may hold anything, and they become
        NaN. See `Terms.unread_columns`.

    Raises
    ------
    DataError
        If a column is missing, the shape does not fit, or a value is not a number.
    """
    if type(X) is not np.ndarray:
        refuse_lazy(X, "X")
        names = column_names(X)
        if names is not None:
            return _frame_rows(X, names, feature_names, categories or {}, used, unread)
        if is_frame(X) and X.shape[1] == len(feature_names):
            needed("pyarrow", "cli")
            from costframe.core.tables.frame_rows import read_frame

            X = blank_columns(X, feature_names, unread) if unread else X
            return read_frame(X, feature_names, categories or {})
    X = blank_columns(X, feature_names, unread) if unread else X
    if type(X) is not np.ndarray or X.dtype != np.float64:
        X = encode(X, categories or {}, feature_names)
        refuse_text(X)
    rows = _numbers(X)
    if rows.ndim != 2:
        raise DataError(f"expected rows x features, got an array of shape {rows.shape}; one row is X.reshape(1, -1)")
    if rows.shape[1] != len(feature_names):
        raise DataError(f"expected {len(feature_names)} columns ({quote_names(feature_names, 6)}), got {rows.shape[1]}")
    if categories:
        check_dates(rows, feature_names, categories)
    return rows


def _frame_rows(
    X: Any,
    names: tuple[str, ...],
    feature_names: Sequence[str],
    categories: Categories,
    used: Sequence[str] | None,
    unread: Collection[str],
) -> F8:
    needed("pyarrow", "cli")
    from costframe.core.tables.frame_rows import read_frame

    check_names(names, "the data")
    wanted = set(feature_names if used is None else used).difference(unread)
    read = [name for name in feature_names if name in wanted]
    held = _find_columns(names, read)
    frame = X if names == tuple(held) else select_columns(X, held)
    rows = read_frame(frame, read, categories) if read else np.empty((len(X), 0))
    if used is not None:
        warn_of_frame(frame, rows, read, categories, lambda: read)
    if len(read) == len(feature_names):
        return rows
    every = np.full((len(X), len(feature_names)), np.nan)
    every[:, [f for f, name in enumerate(feature_names) if name in wanted]] = rows
    return every


def _find_columns(names: Sequence[str], read: Sequence[str]) -> Sequence[str]:
    """Return the columns of a frame to read, which may have spaces where names of features have underscores.

    LightGBM, which reads frames by position, writes names so.
    """
    held = set(names)
    missing = [name for name in read if name not in held]
    spelled: dict[str, list[str]] = {name: [] for name in missing}
    for name in names if missing else ():
        spelled.get(name.replace(" ", "_"), []).append(name)
    if absent := [name for name, candidates in spelled.items() if len(candidates) != 1]:
        raise DataError(f"the data lack {quote_names(absent, 6)}; they have {quote_names(names, 6)}")
    return [spelled[name][0] if name in spelled else name for name in read]


def _numbers(X: Any) -> F8:
    if type(X) is np.ndarray and X.dtype == np.float64:
        return X
    if hasattr(X, "toarray"):
        raise DataError(
            "expected a dense table, got a sparse matrix; use X.toarray(), or, for trees of XGBoost, to which what is "
            "not stored is missing, a table with NaN in its place"
        )
    try:
        array = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        if array.dtype.kind in "cMmSU":
            raise DataError(f"expected numbers, got values of type {array.dtype}")
        return np.asarray(np.ma.filled(array.astype(np.float64, copy=False), np.nan))
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"expected numbers in every cell, got some that are none: {error}") from None


def as_frame(X: Any, what: str = "X") -> Any:
    """Return tables and batches of pyarrow as a table of plain columns, others as they are; refuse lazy ones."""
    refuse_lazy(X, what)
    if not is_arrow(X):
        return X
    import pyarrow as pa

    from costframe.core.tables.columns import plain_column

    return pa.table([plain_column(column) for column in X.columns], X.column_names)
