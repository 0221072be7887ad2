"""Columns of data frames, of pandas, polars or pyarrow, as numbers from which foreign code gets them as they came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from costframe.core.arrays import F8
from costframe.core.tables.as_given import STR, STRING, AsGiven
from costframe.core.tables.columns import decode_column, is_text, plain_column
from costframe.core.tables.frames import column_names, is_frame, is_pandas, types_of
from costframe.core.tables.kinds import find_kind
from costframe.core.tables.remembered import ColumnType


def given_numbers(column: Any, labels: AsGiven, where: str) -> F8:
    """Return a frame's column as the numbers of its values: float64 (rows,).

    Raises
    ------
    DataError
        If it holds objects that cannot be told from each other.
    """
    if is_pandas(column):
        return _of_pandas(column, labels)
    if str(getattr(column, "dtype", "")).lower() == "object":  # of polars
        return labels.numbers(column.to_list())
    return given_values(column.to_arrow() if hasattr(column, "to_arrow") else column, labels, where)


def column_types(X: Any) -> dict[str, ColumnType]:
    """Return the types of a frame's columns of whole numbers, truth values, float32 and texts, by name."""
    known = {}
    for name, dtype in zip(column_names(X) or (), types_of(X) if is_frame(X) else (), strict=False):
        kind = str(dtype) if is_pandas(X) else str(dtype).lower()
        if (find_kind(kind) is not None and not kind.startswith("datetime")) or kind in {"object", "str", "string"}:
            known[name] = ColumnType.of(kind)
    return known


def _of_pandas(column: Any, labels: AsGiven) -> F8:
    dtype, name = column.dtype, str(column.dtype)
    if name == "category":
        return labels.of_codes(np.asarray(column.cat.codes), column.cat.categories.tolist(), ColumnType.of(dtype))
    if isinstance(dtype, np.dtype) and dtype.kind != "m":
        return labels.of_array(column.to_numpy(), column.isna().to_numpy() if dtype.kind == "M" else None)
    if name.startswith("Sparse"):
        return _of_pandas(column.sparse.to_dense(), labels)
    if (kind := find_kind(name)) is not None:
        values = column.to_numpy(dtype=kind.dtype, na_value=kind.dtype.type(0))
        return labels.of_array(values, column.isna().to_numpy(), name)
    codes, values = column.factorize()
    return labels.of_codes(codes, list(values), _text_type(dtype, name) or ColumnType.of(dtype))


def _text_type(dtype: Any, name: str) -> ColumnType | None:
    """Return the type of columns of a dtype of texts, of pandas' own."""
    if type(dtype).__name__ != "StringDtype":
        return None
    return STR if name == "str" else STRING


def given_values(column: Any, labels: AsGiven, where: str) -> F8:
    """Return a column as the numbers of its values, from which foreign code gets them as they came: float64 (rows,)."""
    column = plain_column(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
    if pa.types.is_dictionary(column.type):
        known = decode_column(column.dictionary, where).to_pylist()
        codes = np.array(pc.fill_null(column.indices.cast(pa.int64()), -1))
        return labels.of_codes(codes, known, _category_type(known, ordered=column.type.ordered))
    column = decode_column(column, where)
    kind = column.type
    if is_text(kind):
        values = column.unique().drop_null()
        codes = np.array(pc.fill_null(pc.index_in(column, values), -1), np.int64)
        return labels.of_codes(codes, values.to_pylist(), STR)
    has_units = pa.types.is_timestamp(kind) and kind.tz is None
    if pa.types.is_float64(kind) and column.null_count and not labels.plain:  # NaN is another one
        held = np.array(pc.fill_null(column, 0.0))
        return labels.of_array(held, np.array(pc.is_null(column)), "Float64")
    if pa.types.is_floating(kind) or pa.types.is_null(kind) or has_units:
        values = column.cast(pa.float64()) if pa.types.is_null(kind) else column
        return labels.of_array(
            values.to_numpy(zero_copy_only=False), np.array(pc.is_null(column)) if has_units else None
        )
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _whole_values(column, labels)
    return labels.numbers(column.to_pylist())


def _whole_values(column: Any, labels: AsGiven) -> F8:
    """Return whole numbers or truth values, of which some may be missing, as their numbers."""
    if not column.null_count:
        return labels.of_array(np.array(column))
    held = np.array(pc.fill_null(column, False if pa.types.is_boolean(column.type) else 0))
    name = "boolean" if held.dtype == np.bool_ else str(held.dtype).replace("int", "Int").replace("u", "U")
    return labels.of_array(held, np.array(pc.is_null(column)), name)


def _category_type(values: list[Any], *, ordered: bool) -> ColumnType:
    """Return the type of columns with these categories; without pandas that of other columns of texts."""
    try:
        from pandas import CategoricalDtype
    except ImportError:
        return STR
    return ColumnType.of(CategoricalDtype(values, ordered=ordered))
