"""Fits on dask collections without a cluster: this process is the only worker, with its rows in a temporary file."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import DataError
from costframe.core.memory import rows_in_file
from costframe.core.tables.frames import category_columns, is_dask
from costframe.core.tables.partitions import blocks
from costframe.core.tables.rows import refuse_text
from costframe.training.cluster.partitions import complete_rows, join_parts, without_rows
from costframe.training.progress import track

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from costframe.core.tables.categorical import CategoricalColumns

__all__ = ["fit_alone"]


def fit_alone(estimator: Any, train: Mapping[str, Any], valid: Mapping[str, Any]) -> dict[str, Any]:
    """Fit an estimator in this process, which reads one partition after the other; return its attributes.

    Parameters
    ----------
    estimator : CostAwareEstimator
        A copy, not fitted, which changes.
    train, valid : mapping of str to table or column
        The arguments of `fit`: dask collections, and columns beside them maybe in memory; None where it has none.
    """
    columns = None
    if _has_columns(X := complete_rows(train["X"], "X")):
        columns = _find_categories(estimator, X)
        if columns is not None:
            named = [name for name, chosen in zip(columns.names, columns.chosen, strict=True) if chosen]
            estimator.categorical_features = {name: columns.categories.get(name) for name in named}
    given = _read({**train, "X": X}, "X", columns, estimator)
    if (X_val := valid["X_val"]) is not None:
        given |= _read({**valid, "X_val": complete_rows(X_val, "X_val")}, "X_val", columns, estimator)
    estimator._is_encoded = True  # noqa: SLF001 - of its own package
    fitted = vars(estimator.fit(**given))
    return {name: value for name, value in fitted.items() if name != "_is_encoded"}


def _has_columns(X: Any) -> bool:
    """Return whether a dask collection, or a part of it, is a data frame."""
    return hasattr(X, "columns")


def _find_categories(estimator: Any, X: Any) -> CategoricalColumns | None:
    """Return the categorical columns of a frame, with the labels of all partitions; None if there are none."""
    if not category_columns(X) and getattr(estimator, "categorical_features", None) is None:
        return None
    (parts,) = blocks(X)
    found = [estimator._find_categorical(part.compute()) for part in parts]  # noqa: SLF001 - of its own package
    columns: CategoricalColumns = found[0].with_labels([each.categories for each in found])
    return columns


def _read(given: Mapping[str, Any], X: str, columns: CategoricalColumns | None, estimator: Any) -> dict[str, Any]:
    """Return the arguments in memory, but the rows, called `X`, in a file.

    Collections that are cut alike are computed together, as they share what their partitions come from.
    """
    import dask

    lazy = {name: value for name, value in given.items() if is_dask(value)}
    others = defaultdict[str, list[Any]](list)
    parts = list(zip_longest(*blocks(*lazy.values())))

    def read() -> Iterator[NDArray[np.float64]]:
        for part in track(parts, f"reading {X}", verbose=getattr(estimator, "verbose", 0)):
            for name, value in zip(lazy, dask.compute(*part), strict=True):
                if value is not None and name == X:
                    yield _numbers(value, X, columns)
                elif value is not None:
                    others[name].append(value)

    rows: Any = rows_in_file(read(), given[X].shape[1])
    if _has_columns(given[X]):
        import pandas as pd

        rows = pd.DataFrame(rows, columns=given[X].columns, copy=False)
    found = {name: value for name, value in given.items() if name not in lazy}
    joined = {name: join_parts([{name: each} for each in values], {name: without_rows(lazy[name])})[name]
              for name, values in others.items()}  # fmt: skip
    return found | joined | {X: rows}


def _numbers(part: Any, X: str, columns: CategoricalColumns | None) -> NDArray[np.float64]:
    """Return the rows of a partition, float64 (m, d)."""
    if _has_columns(part):
        categories = {} if columns is None else columns.categories
        from costframe.core.tables.frame_rows import read_frame

        return read_frame(part, tuple(map(str, part.columns)) if columns is None else columns.names, categories, X)
    refuse_text(part, X)
    try:
        return np.asarray(part, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{X}: {error}") from error
