"""Columns of data frames, of pandas, polars or pyarrow, as numbers from which foreign code gets them as they came."""

from __future__ import annotations

from typing import Any

import numpy as np

from costframe.core.arrays import F8
from costframe.core.tables.as_given import STR, STRING, AsGiven, ColumnType
from costframe.core.tables.columns import given_values
from costframe.core.tables.frames import column_names, is_frame, is_pandas, types_of
from costframe.core.tables.kinds import find_kind


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
    found = {}
    for name, dtype in zip(column_names(X) or (), types_of(X) if is_frame(X) else (), strict=False):
        kind = str(dtype) if is_pandas(X) else str(dtype).lower()
        if (find_kind(kind) is not None and not kind.startswith("datetime")) or kind in {"object", "str", "string"}:
            found[name] = ColumnType.of(kind)
    return found


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
