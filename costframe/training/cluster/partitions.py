"""Partitions of the tables of a fit: rows, labels, weights and queries, cut alike and together on one worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import getitem
from typing import Any, TypeVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import I8
from costframe.core.errors import DataError
from costframe.core.tables.frames import category_columns, is_dask
from costframe.core.tables.partitions import blocks, whole_rows
from costframe.training.cluster.asking import ask

A = TypeVar("A")
Part = dict[str, Any]


@frozen(eq=False)
class Partitions:
    """Partitions on the workers of a cluster."""

    parts: list[Any]  # of dicts, with one table or column for each argument of `fit`
    empty: Part  # the same without rows


def load_partitions(client: Any, given: Mapping[str, Any], X: str = "X") -> Partitions:
    """Load the partitions of the arguments of `fit`, all cut as `X`, and wait for them.

    They are dask collections; columns beside X may be in memory, and None is left out. A DataError refuses a column
    that is longer or shorter than X, and a table that does not fit.
    """
    held = {name: value for name, value in given.items() if value is not None}
    held[X] = join_columns(held[X], X)
    lazy = {name: value for name, value in held.items() if is_dask(value)}
    loaded = client.persist(list(lazy.values()))  # at once, for they share partitions
    futures = dict(zip(lazy, map(client.compute, blocks(*loaded)), strict=True))
    rows = {name: _gather(client, _count_rows, parts) for name, parts in futures.items()}
    for name, value in held.items():
        if rows.get(name) != rows[X]:
            futures[name] = client.compute(_recut(name, value, futures.get(name), rows.get(name), rows[X], X))
    columns = [futures[name] for name in held]
    parts = [
        client.submit(_bundle, list(held), *columns_of_part, pure=False)
        for columns_of_part in zip(*columns, strict=True)
    ]
    _gather(client, _count_rows, parts)  # waits for all, and raises their errors
    return Partitions(parts, {name: without_rows(value) for name, value in held.items()})


def join_parts(parts: Sequence[Part], empty: Part) -> Part:
    """Concatenate partitions; `empty` is the result if there are none."""
    if not parts:
        return empty
    return {name: _concatenate([part[name] for part in parts], like, name) for name, like in empty.items()}


def keep_queries_together(client: Any, given: Partitions, qid: str, count: int) -> Partitions:
    """Return partitions, each with all rows of its queries: the same ones, or `count` new ones.

    `qid` is the name of the queries. The rows of a query stay in order.
    """
    queries = _gather(client, _distinct_queries, given.parts, qid=qid)
    together = np.concatenate(queries)
    if len(_distinct(together)) == len(together):
        return given
    dealt = client.map(_deal_queries, given.parts, qid=qid, count=count, pure=False)
    groups = [[client.submit(getitem, part, k, pure=False) for part in dealt] for k in range(count)]
    parts = [client.submit(join_parts, group, given.empty, pure=False) for group in groups]
    _gather(client, _count_rows, parts)
    return Partitions(parts, given.empty)


def _gather(client: Any, function: Callable[..., A], parts: Sequence[Any], **given: Any) -> list[A]:
    """Return the results of a function of each partition."""
    results = client.map(function, parts, pure=False, **given)
    return ask(client, lambda: client.gather(results))


def _distinct(queries: Any) -> NDArray[Any]:
    import pandas as pd

    return np.asarray(pd.unique(np.asarray(queries)))


def _distinct_queries(part: Part, qid: str) -> NDArray[Any]:
    return _distinct(part[qid])


def _deal_queries(part: Part, qid: str, count: int) -> list[Part]:
    """Split a partition by a hash of the queries."""
    import pandas as pd

    group = pd.util.hash_array(np.asarray(part[qid])) % np.uint64(count)
    chosen = [np.flatnonzero(group == k) for k in range(count)]
    return [{name: _take(value, rows) for name, value in part.items()} for rows in chosen]


def _take(value: Any, rows: I8) -> Any:
    return value.iloc[rows] if hasattr(value, "iloc") else value[rows]


def _bundle(names: Sequence[str], *values: Any) -> Part:
    return dict(zip(names, values, strict=True))


def _count_rows(part: Any) -> int:
    return len(next(iter(part.values())) if isinstance(part, dict) else part)


def join_columns(X: Any, name: str) -> Any:
    """Return dask's rows, with all columns in each partition; refuse rows in memory, and categories not known yet."""
    if not is_dask(X):
        raise DataError(f"{name}: expected a dask array or data frame, as the rows of training; got {_kind(X)}")
    for f in category_columns(X):
        column = X.columns[f]
        if not X[column].cat.known:
            raise DataError(
                f"{name}: the categories of column {column!r} are not known before all partitions are read; "
                f"use X[{column!r}].cat.as_known()"
            )
    return whole_rows(X, None)


def _recut(name: str, value: Any, futures: Any, rows: Any, wanted: list[int], X: str) -> list[Any]:
    """Return the blocks of a column, cut as X."""
    import dask
    import dask.array as da

    column = np.asarray(value if futures is None else without_rows(value))
    shape = column.shape if futures is None else (sum(rows), *column.shape[1:])
    if shape[:1] != (sum(wanted),):
        raise DataError(f"{name}: expected {sum(wanted)} values, one for each row of {X}, got shape {shape}")
    whole = da.from_array(column, chunks=shape)
    if futures is not None:
        pieces = zip(map(dask.delayed(np.asarray), futures), rows, strict=True)
        whole = da.concatenate(
            [da.from_delayed(piece, (count, *shape[1:]), dtype=column.dtype) for piece, count in pieces]
        )
    return blocks(whole.rechunk({0: tuple(wanted)}))[0]


def without_rows(value: Any) -> Any:
    """Return a table or column without its rows."""
    if is_dask(value):
        return value._meta if hasattr(value, "divisions") else np.empty((0, *value.shape[1:]), value.dtype)  # noqa: SLF001 - dask's own name of it
    return np.asarray(value)[:0]


def _concatenate(values: list[Any], empty: Any, name: str) -> Any:
    for f in category_columns(empty):
        if any(value.dtypes.iloc[f] != empty.dtypes.iloc[f] for value in values):
            column = empty.columns[f]
            raise DataError(f"{name}: the partitions have different categories of column {column!r}")
    if len(values) == 1:
        return values[0]
    if not hasattr(values[0], "iloc"):
        return np.concatenate(values)
    import pandas as pd

    return pd.concat(values, ignore_index=True)


def _kind(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return type(value).__name__ + ("" if shape is None else f" of shape {shape}")
