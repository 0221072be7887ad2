"""Predictions by partitions of dask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import wraps
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from costframe.core.errors import DataError
from costframe.core.tables.frames import column_names, is_dask

F = TypeVar("F", bound=Callable[..., Any])


def by_partition(method: F) -> F:
    """Make a method that predicts rows return a lazy dask array for a dask array or data frame."""

    @wraps(method)
    def predict(self: Any, X: Any, *given: Any, **terms: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *given, **terms)
        import dask.array as da

        owner = next(base for base in type(self).__mro__ if vars(base).get(method.__name__) is predict)
        rows = whole_rows(X, getattr(self, "feature_names_in_", None))
        sample = one_row(rows)
        none = method(self, sample, *given, **terms)[:0]
        more = {"owner": owner, "method": method.__name__, "sample": sample, "given": given, "terms": terms}
        if hasattr(rows, "columns"):
            return rows.map_partitions(_predict, delayed_model(self), **more, meta=none)
        out, new = ("i", {}) if none.ndim == 1 else ("ik", {"k": none.shape[1]})
        return da.blockwise(
            _predict, out, rows, "ij", delayed_model(self), None, **more,
            new_axes=new, concatenate=True, align_arrays=False, dtype=none.dtype, meta=none,
        )  # fmt: skip

    return predict  # type: ignore[return-value]


def _predict(
    X: Any, model: Any, *, owner: type, method: str, sample: Any, given: tuple[Any, ...], terms: Mapping[str, Any]
) -> Any:
    """Predict one partition; one without rows is refused by estimators."""
    answers = vars(owner)[method].__wrapped__(model, X if len(X) else sample, *given, **terms)
    return answers if len(X) else answers[:0]


def delayed_model(model: Any) -> Any:
    """Return a model as dask's tasks take it, which workers send to each other, as it is now."""
    import dask

    return dask.delayed(copy(model), name=f"costframe-model-{uuid4().hex}", traverse=False)


def blocks(*collections: Any) -> list[list[Any]]:
    """Return the partitions of dask's arrays, data frames and columns, each partition delayed."""
    import dask

    # Arrays share tasks under one name, which must be optimized alike; names of a data frame's are of what they do.
    arrays = iter(dask.optimize(*(collection for collection in collections if not hasattr(collection, "divisions"))))
    made = [collection if hasattr(collection, "divisions") else next(arrays) for collection in collections]
    return [list(np.ravel(np.array(collection.to_delayed(), dtype=object))) for collection in made]


def whole_rows(X: Any, names: Any) -> Any:
    """Return dask's rows with all columns in each partition, of a data frame those with these names."""
    held = column_names(X)
    if held is not None:
        return X[list(names)] if names is not None and set(names) <= set(held) else X
    if getattr(X, "ndim", 0) != 2 or np.isnan(X.shape[1]):
        shape = getattr(X, "shape", None)
        raise DataError(f"X: expected a dask array (rows, columns) or data frame, got {type(X).__name__} {shape}")
    return X.rechunk({1: -1})


def one_row(X: Any) -> Any:
    """Return a row of zeros and missing values as dask's rows, from which follow the shape and type of predictions."""
    if not hasattr(X, "columns"):
        return np.zeros((1, X.shape[1]))
    row = X._meta.reindex([0])  # noqa: SLF001 - dask's own name of it
    texts = {name: [""] for name, kind in row.dtypes.items() if str(kind).startswith("str")}
    row = row.assign(**texts) if all(isinstance(name, str) for name in texts) else row
    numbers = row.select_dtypes("number").columns
    row[numbers] = row[numbers].fillna(0)
    return row
