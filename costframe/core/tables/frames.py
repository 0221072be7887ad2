"""Names, types, columns and rows of data frames of pandas, polars and pyarrow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from costframe.core.arrays import I8
from costframe.core.errors import DataError, quote_names

_NUMBERS = re.compile(r"u?int\d+|float\d+|bool(ean)?", re.IGNORECASE)  # names of pandas' and polars' numeric types
_IN_MEMORY = {
    "LazyFrame": "X.collect()",
    "RecordBatchReader": "X.read_all()",
    **dict.fromkeys(("FileSystemDataset", "InMemoryDataset", "UnionDataset"), "X.to_table()"),
}


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of a data frame's columns; None for an array, or columns not named by text."""
    columns = X.column_names if is_arrow(X) else getattr(X, "columns", None)
    names = None if columns is None else list(columns)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return tuple(map(str, names))


def is_frame(X: Any) -> bool:
    """Return whether rows are a data frame; names of pandas' columns need not be texts."""
    return column_names(X) is not None or (is_pandas(X) and hasattr(X, "columns"))


def types_of(X: Any) -> list[Any]:
    """Return the dtype of each column of a data frame, pyarrow's own types of a table of pyarrow."""
    return list(X.schema.types if is_arrow(X) else X.dtypes)


def category_columns(X: Any) -> list[int]:
    """Return the columns of a category dtype: pandas' "category", polars' Categorical or Enum, Arrow's dictionaries."""
    others = [(f, kind) for f, kind in enumerate(types_of(X) if hasattr(X, "columns") else ())
              if not isinstance(kind, np.dtype)]  # fmt: skip
    return [f for f, kind in others if str(kind).startswith(("category", "Categorical", "Enum", "dictionary<"))]


def select_columns(X: Any, names: Sequence[str]) -> Any:
    """Return a data frame with these columns only, in this order."""
    return X.select(list(names)) if is_arrow(X) else X[list(names)]


def take_column(X: Any, f: int) -> Any:
    """Return a data frame's column, by number."""
    return X.iloc[:, f] if is_pandas(X) else X.column(f) if is_arrow(X) else X[X.columns[f]]


def take_rows(X: Any, chosen: I8) -> Any:
    """Return rows of a data frame, array, sparse matrix or list, by number."""
    from sklearn.utils import _safe_indexing

    return X.take(chosen) if is_arrow(X) else _safe_indexing(X, chosen)


def is_numeric_dtype(dtype: object) -> bool:
    """Return whether the name of a column's dtype is one of numbers or truth values."""
    if isinstance(dtype, np.dtype):  # its text takes long, and a table may have very many columns
        return dtype.kind in "iufb"
    return _NUMBERS.match(str(dtype)) is not None


def is_pandas(X: Any) -> bool:
    """Return whether a frame or a column is of pandas, without importing pandas."""
    return type(X).__module__.startswith("pandas")


def is_arrow(X: Any) -> bool:
    """Return whether rows are a table or a batch of pyarrow, without importing pyarrow."""
    return type(X).__module__ == "pyarrow.lib" and hasattr(X, "column_names")


def is_dask(X: Any) -> bool:
    """Return whether a table or column is a collection of dask, whose partitions are not read yet."""
    return hasattr(X, "__dask_graph__")


def refuse_lazy(X: Any, what: str) -> None:
    """Refuse rows that are a dask collection, or another query that has not run, where they must be in memory."""
    if (way := _IN_MEMORY.get(type(X).__name__)) is not None:
        raise DataError(f"{what}: expected rows in memory, got {type(X).__name__}; use {way}")
    if is_dask(X):
        raise DataError(
            f"{what}: expected rows in memory, got {type(X).__name__} of dask, which only `fit`, `cost` and the "
            "predicting methods of estimators and loaded models take; use X.compute()"
        )


def check_names(names: Sequence[str], whose: str) -> None:
    """Refuse repeated names."""
    if len(set(names)) < len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        raise DataError(f"{whose} name {quote_names(twice, 6)} more than once; names must be distinct")
