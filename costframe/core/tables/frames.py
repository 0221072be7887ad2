"""Names and types of the columns of pandas' and polars' data frames."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import DataError, quote_names

if TYPE_CHECKING:
    from collections.abc import Sequence


_NUMBERS = ("int", "uint", "float", "bool")  # how the names of pandas' and polars' numeric types begin


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of a data frame's columns; None for an array, or columns not named by text."""
    columns = getattr(X, "columns", None)
    names = None if columns is None else list(columns)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return tuple(map(str, names))


def category_columns(X: Any) -> list[int]:
    """Return the columns of a category dtype: pandas' "category", polars' Categorical or Enum."""
    dtypes = getattr(X, "dtypes", ()) if hasattr(X, "columns") else ()
    others = [(f, dtype) for f, dtype in enumerate(dtypes) if not isinstance(dtype, np.dtype)]
    return [f for f, dtype in others if str(dtype).startswith(("category", "Categorical", "Enum"))]


def is_numeric(dtype: object) -> bool:
    """Return whether the name of a column's dtype is one of numbers or truth values."""
    if isinstance(dtype, np.dtype):  # its text takes long, and a table may have very many columns
        return dtype.kind in "iufb"
    return str(dtype).lower().startswith(_NUMBERS)


def is_pandas(X: Any) -> bool:
    """Return whether a frame or a column is of pandas, without importing pandas."""
    return type(X).__module__.startswith("pandas")


def is_dask(X: Any) -> bool:
    """Return whether a table or column is a collection of dask, whose partitions are not read yet."""
    return hasattr(X, "__dask_graph__")


def refuse_dask(X: Any, what: str) -> None:
    """Refuse rows that are a dask collection where they must be in memory."""
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
