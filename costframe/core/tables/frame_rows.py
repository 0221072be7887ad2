"""Columns of data frames, of pandas, polars or pyarrow, as numbers and as the values of categories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from costframe.core.arrays import F8
from costframe.core.errors import DataError, name_file, shown
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import Categories, Labels, is_missing, numbers_of
from costframe.core.tables.columns import as_numbers, decode_column, is_numeric, is_text, name_type, way_out
from costframe.core.tables.feature_values import feature_values
from costframe.core.tables.frames import check_names, is_pandas, take_column, types_of
from costframe.core.tables.given_columns import given_numbers
from costframe.core.tables.kinds import FIRST, has_kinds

_POLARS = re.compile("U?Int(8|16|32|64)|Float(32|64)")


def read_frame(X: Any, names: Sequence[str], categories: Categories, what: str = "the data", hint: str = "") -> F8:
    """Return all columns of a data frame as numbers, float64 (rows, d), with the labels of some as their numbers.

    Labels are looked up by text, not by the frame's own codes; missing values become NaN. The frame may have other
    columns. A DataError, which calls the data `what` and ends in `hint` for texts without labels, refuses repeated
    names, a column without labels that holds neither numbers nor truth values, and one with labels that holds other
    values than texts; with `HashedLabels` whole numbers will do.
    """
    check_names(names, what)
    pairs = zip(names, types_of(X), strict=True)
    plain = np.array([_is_plain(kind, categories.get(name)) for name, kind in pairs], np.bool_)
    if plain.all() and len(plain):
        rows = np.asarray(X, np.float64)
        _refuse_kinds(rows, names, categories)
        return rows
    rows = np.empty((len(X), len(names)), order="F")  # as frames are
    if plain.any():
        columns = X.loc[:, plain] if is_pandas(X) else X[:, np.flatnonzero(plain).tolist()]
        rows[:, plain] = np.asarray(columns, np.float64)
        _refuse_kinds(
            rows[:, plain], [name for name, is_plain in zip(names, plain, strict=True) if is_plain], categories
        )
    with name_file(what):
        for f in np.flatnonzero(~plain).tolist():
            rows[:, f] = _read_column(take_column(X, f), names[f], categories.get(names[f]), hint)
    return rows


def _refuse_kinds(rows: F8, names: Sequence[str], categories: Categories) -> None:
    """Refuse numbers that would stand for other values, in columns whose values are read as they came."""
    if not categories or not has_kinds(rows):
        return
    for f, name in enumerate(names):
        if isinstance(categories.get(name), AsGiven) and has_kinds(rows[:, f]):
            raise DataError(f"column {name!r}: expected numbers below {FIRST:.3g}, got {rows[:, f].max():.3g}")


def _is_plain(kind: Any, labels: Labels | None) -> bool:
    """Return whether NumPy reads columns of a dtype as numbers, of pandas or polars, all at once."""
    if labels is not None and not (isinstance(labels, AsGiven) and kind == np.float64):
        return False
    if isinstance(kind, np.dtype):
        return kind.kind in "iufb"
    return _POLARS.fullmatch(str(kind)) is not None and type(kind).__module__.startswith("polars")


def column_values(column: Any, where: str) -> list[Any]:
    """Return the distinct values of a frame's column, or those of an array of objects, as Python has them."""
    if isinstance(column, np.ndarray):
        return list(column)
    values = as_plain(column, where)
    return list(values) if isinstance(values, np.ndarray) else list(values.unique().to_pylist())


def as_plain(column: Any, where: str) -> Any:
    """Return a frame's column as one of pyarrow, numbers or texts if it holds them; of Python objects as an array."""
    dtype = getattr(column, "dtype", None)
    if str(dtype).lower() == "object":  # of NumPy, or polars'
        return np.array([*column.to_list(), None], object)[:-1]  # None keeps NumPy from finding another type
    try:
        if str(dtype).startswith("Sparse"):
            column = column.sparse.to_dense()
        elif hasattr(column, "to_arrow"):
            column = column.to_arrow()
        column = column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        raise _refuse(where, f"values ({dtype})", "; cast it to numbers or texts") from error
    return decode_column(column, where)


def _read_column(column: Any, name: str, labels: Labels | None, hint: str) -> F8:
    """Return a frame's column as numbers: float64 (rows,)."""
    if isinstance(labels, AsGiven):
        with name_file(f"column {name!r}"):
            return given_numbers(column, labels, f"column {name!r}")
    if is_pandas(column) and str(column.dtype) == "category":
        codes = np.asarray(column.cat.codes)  # that of a missing value is -1
        present = np.unique(codes[codes >= 0])
        numbers = np.full(len(column.cat.categories) + 1, np.nan)
        numbers[present] = _read_column(column.cat.categories[present].to_series(), name, labels, hint)
        return np.asarray(numbers[codes])
    where, values = f"column {name!r}", as_plain(column, f"column {name!r}")
    is_objects = isinstance(values, np.ndarray)
    if labels is not None and (is_objects or is_text(values.type)):
        return numbers_of(values.tolist() if is_objects else values.to_pylist(), labels, where)
    if labels is not None:
        return feature_values(values, name, labels)
    if is_objects:
        return _read_objects(values.tolist(), where, hint)
    if not is_numeric(values.type):
        held = "text" if is_text(values.type) else name_type(values.type).partition(" ")[0]
        dtype = getattr(column, "dtype", None) or column.type
        raise _refuse(where, f"{held} ({dtype})", hint if is_text(values.type) else way_out(values.type))
    return as_numbers(values, name)


def _read_objects(values: list[Any], where: str, hint: str) -> F8:
    for value in values:
        if isinstance(value, str | bytes):
            raise _refuse(where, "text (object)", hint)
        if not isinstance(value, Real | Decimal | np.bool_) and not is_missing(value):
            raise _refuse(where, f"{shown(value)} of type {type(value).__name__}", "; cast it to numbers or texts")
    try:
        return np.array([np.nan if is_missing(value) else float(value) for value in values], np.float64)
    except OverflowError as error:
        raise _refuse(where, "a number beyond all doubles", "") from error


def _refuse(where: str, held: str, end: str) -> DataError:
    return DataError(f"{where} holds {held}, expected numbers{end}")
