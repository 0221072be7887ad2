"""Columns that are not read, whatever is in them: tables in which they are missing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from costframe.core.checks import needed
from costframe.core.tables.categories import as_objects
from costframe.core.tables.frames import check_names, column_names, is_arrow, is_pandas


def blank_columns(X: Any, names: Sequence[str], blank: Collection[str]) -> Any:
    """Return a table in which some columns are missing in every row; X itself is left as it is.

    Parameters
    ----------
    X : data frame, or array-like (rows, d)
        A data frame is matched by name, and gains those of the columns that it lacks, at its end. An array, and a frame
        without texts as names, is matched by position; with another number of columns it is returned as it is, and its
        reader refuses it.
    names : sequence of str (d,)
        Names of an array's columns, in order.
    blank : collection of str
        The columns to blank.
    """
    held = column_names(X)
    if held is not None:
        check_names(held, "the data")
        return _blank_named(X, held, [name for name in names if name in blank])
    if is_pandas(X):
        return _blank_places(X, names, blank) if X.shape[1] == len(names) else X
    return _blank_array(X, len(names), [f for f, name in enumerate(names) if name in blank])


def _blank_array(X: Any, width: int, places: list[int]) -> Any:
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        if X.ndim != 2 or X.shape[1] != width or np.isnan(X[:, places]).all():
            return X
        rows: Any = X.copy()
    else:
        rows = as_objects(X)
        if rows is None or rows.shape[1] != width:
            return X
    rows[:, places] = np.nan
    return rows


def _blank_places(X: Any, names: Sequence[str], blank: Collection[str]) -> Any:
    """Return a frame of pandas with missing values in columns, by the names of all in order."""
    needed("pyarrow", "cli")
    import pandas as pd
    import pyarrow as pa

    X, missing = X.copy(deep=False), pd.arrays.ArrowExtensionArray(pa.nulls(len(X)))
    for f in (f for f, name in enumerate(names) if name in blank):
        X.isetitem(f, missing)
    return X


def _blank_named(X: Any, held: tuple[str, ...], blank: list[str]) -> Any:
    absent = [name for name in blank if name not in held]
    if is_arrow(X):
        import pyarrow as pa

        missing, names = pa.nulls(len(X)), [*held, *absent]
        return pa.table([missing if name in blank else X.column(name) for name in names], names)
    if is_pandas(X):
        X = X.reindex(columns=[*held, *absent]) if absent else X
        return _blank_places(X, [*held, *absent], blank)
    import polars as pl

    return X.with_columns([pl.lit(None).alias(name) for name in blank])
