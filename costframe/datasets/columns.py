"""Columns of CSV and Parquet files, read whole and checked one by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["as_numbers", "as_target", "read_columns", "text_values"]


def read_columns(file: Path) -> dict[str, Any]:
    """Read a .csv or .parquet file into columns by name, in order; whatever goes wrong is one line that names the file.

    Returns
    -------
    dict of str to pyarrow.ChunkedArray
        At least one column and one row; names differ and are not empty.
    """
    suffix = file.suffix.lower()
    if suffix not in {".csv", ".parquet"}:
        raise DataError(f"{file}: expected a file that ends in .csv or .parquet")
    if file.is_dir():
        raise DataError(f"{file}: expected a file, got a directory")
    table = _read_with_pyarrow(file, suffix)
    # An index that pandas wrote beside the columns is none of them.
    names = [name for name in table.column_names if not re.fullmatch(r"__index_level_\d+__", name)]
    for place, name in enumerate(names):
        if not name.strip():
            raise DataError(f"{file}: column {place + 1} of {len(names)} has no name")
        if name in names[:place]:
            raise DataError(f"{file}: two columns are named {name!r}")
    if not names or not table.num_rows:
        raise DataError(f"{file}: expected rows, got an empty table")
    return {name: table.column(name) for name in names}


def as_numbers(column: Any, name: str) -> NDArray[np.float64]:
    """Return a feature column as float64, missing values as NaN."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    if not any(is_kind(kind) for is_kind in numeric):
        expected = "a feature is a column of numbers"
        raise DataError(f"column {name!r}: {expected}, got {_kind(kind)} such as {_example(column)}")
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def as_target(column: Any, name: str) -> NDArray[Any]:
    """Return the target column: numbers as int64 or float64, booleans and texts as they are; none may be missing."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return text_values(column, name)
    if pa.types.is_boolean(kind):
        _refuse_missing(column.null_count, name)
        return np.asarray(column.to_numpy(zero_copy_only=False), np.bool_)
    values = as_numbers(column, name)
    _refuse_missing(int(np.isnan(values).sum()), name)
    if not np.isfinite(values).all():
        raise DataError(f"column {name!r}: expected finite values, got an infinite one")
    return values


def text_values(column: Any, name: str) -> NDArray[Any]:
    """Return a column of texts, none missing, as str."""
    _refuse_missing(column.null_count, name)
    return np.array([str(value) for value in column.to_pylist()], np.str_)


def _read_with_pyarrow(file: Path, suffix: str) -> Any:
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        file.open("rb").close()  # whose error is plainer
        if suffix == ".parquet":
            return parquet.ParquetFile(file).read()
        return csv.read_csv(
            file,
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(strings_can_be_null=True),
        )
    except OSError as error:
        reason = error.strerror or "not a whole Parquet file"
        raise DataError(f"{file}: cannot be read: {reason}") from error
    except (pa.ArrowException, ValueError) as error:
        said = " ".join(str(error).split())
        raise DataError(f"{file}: cannot be read: {said:.200}") from error


def _refuse_missing(count: int, name: str) -> None:
    if count:
        raise DataError(f"column {name!r}: {count:,} values are missing")


def _kind(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind):
        return "texts"
    return "bytes that are no UTF-8 text" if pa.types.is_binary(kind) else f"values of type {kind}"


def _example(column: Any) -> str:
    value = next((value for value in column.to_pylist() if not _is_number(value)), None)
    return f"{value!r:.40}"


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return value is None
    return True
