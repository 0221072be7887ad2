"""Fits on dask collections: each worker of the cluster, or this process alone, trains on the partitions it holds."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from copy import copy
from itertools import zip_longest
from typing import Any

import numpy as np
from attrs import frozen

from costframe.core.arrays import F8
from costframe.core.errors import CostframeError, DataError, ParameterError, WorkersError, shown
from costframe.core.machine import rows_in_file
from costframe.core.tables.categorical import CategoricalColumns
from costframe.core.tables.dates import Dates
from costframe.core.tables.frames import category_columns, is_dask
from costframe.core.tables.partitions import blocks
from costframe.core.tables.rows import refuse_text
from costframe.training.cluster.asking import ask
from costframe.training.cluster.partitions import (
    Partitions,
    join_columns,
    join_parts,
    keep_queries_together,
    load_partitions,
    without_rows,
)
from costframe.training.cluster.running import LostWorkerError, run_workers
from costframe.training.progress import track

_SECONDS = 300.0


@contextlib.contextmanager
def open_client(cluster: Any) -> Iterator[Any]:
    """Yield the dask client of a cluster, given that or the address of a scheduler; close what it opens.

    A ParameterError says that dask is not installed, or that there is no scheduler at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError("cluster: needs dask; install costframe[dask]") from None
    if isinstance(cluster, Client):
        yield cluster
        return
    if not isinstance(cluster, str):
        raise ParameterError(
            f"cluster: expected a dask client, or an address such as tcp://host:8786, got {shown(cluster)}"
        )
    try:
        client = Client(cluster, timeout=10)
    except (OSError, ValueError) as error:
        raise ParameterError(f"cluster: no scheduler of dask at {cluster!r}: {error}") from None
    with client:
        yield client


def fit_alone(estimator: Any, train: Mapping[str, Any], valid: Mapping[str, Any]) -> dict[str, Any]:
    """Fit an estimator in this process, which reads one partition after the other; return its attributes.

    The estimator is a copy, not fitted, which changes. The arguments of `fit` are dask collections, and columns beside
    them maybe in memory; None where it has none.
    """
    columns = None
    if _has_columns(X := join_columns(train["X"], "X")):
        columns = _find_categories(estimator, X)
        if columns is not None:
            dates = {name: labels for name, labels in columns.categories.items() if isinstance(labels, Dates)}
            estimator = estimator.reading_dates(dates) if dates else estimator
            if named := [name for name, chosen in zip(columns.names, columns.chosen, strict=True) if chosen]:
                estimator.categorical_features = {name: columns.categories.get(name) for name in named}
    given = _read({**train, "X": X}, "X", columns, estimator)
    if (X_val := valid["X_val"]) is not None:
        given |= _read({**valid, "X_val": join_columns(X_val, "X_val")}, "X_val", columns, estimator)
    estimator._is_encoded = True  # noqa: SLF001 - of its own package
    fitted = vars(estimator.fit(**given))
    return {name: value for name, value in fitted.items() if name not in {"_is_encoded", "_dates"}}


def _has_columns(X: Any) -> bool:
    """Return whether a dask collection, or a part of it, is a data frame."""
    return hasattr(X, "columns")


def _find_categories(estimator: Any, X: Any) -> CategoricalColumns | None:
    """Return the categorical columns of a frame, with the labels of all partitions; None if there are none."""
    dates: CategoricalColumns = estimator._find_dates(X._meta, CategoricalColumns())  # noqa: SLF001 - of its own package
    if not category_columns(X) and getattr(estimator, "categorical_features", None) is None:
        return dates if dates.categories else None
    (parts,) = blocks(X)
    by_part = [estimator._find_categorical(part.compute()) for part in parts]  # noqa: SLF001 - of its own package
    columns: CategoricalColumns = by_part[0].with_labels([columns_of_part.categories for columns_of_part in by_part])
    return columns.with_dates(dates.categories, columns.names) if dates.categories else columns  # type: ignore[arg-type]


def _read(given: Mapping[str, Any], X: str, columns: CategoricalColumns | None, estimator: Any) -> dict[str, Any]:
    """Return the arguments in memory, but the rows, called `X`, in a file.

    Collections that are cut alike are computed together, as they share what their partitions come from.
    """
    import dask

    lazy = {name: value for name, value in given.items() if is_dask(value)}
    others = defaultdict[str, list[Any]](list)
    parts = list(zip_longest(*blocks(*lazy.values())))

    def read() -> Iterator[F8]:
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
    in_memory = {name: value for name, value in given.items() if name not in lazy}
    joined = {name: join_parts([{name: value} for value in values], {name: without_rows(lazy[name])})[name]
              for name, values in others.items()}  # fmt: skip
    return in_memory | joined | {X: rows}


def _numbers(part: Any, X: str, columns: CategoricalColumns | None) -> F8:
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


def fit_on_cluster(estimator: Any, client: Any, train: Mapping[str, Any], valid: Mapping[str, Any]) -> None:
    """Fit an estimator on the workers of a dask cluster that hold the rows, without a client in this process.

    The model is that of one machine with all rows. A worker that is lost is replaced once by the others, which load its
    partitions again. `train` and `valid` are arguments of `fit` with a value for each row of X and of X_val; None where
    it has none. The client is by default the current one, if there is one. Errors are those of `fit`, and of algorithms
    that do not train together, or of lost workers.
    """
    estimator.check_trains_together()
    if not is_dask(train["X"]):
        kind = type(train["X"]).__name__
        raise DataError(f"client: has no effect on rows in memory, got X of type {kind}; give dask collections")
    if valid["X_val"] is None or valid["y_val"] is None:
        estimator._validation(*valid.values())  # noqa: SLF001 - refuses all but None
    parameters = estimator.get_params(deep=False)
    if (client := _checked(client)) is None:
        fitted = fit_alone(_blank(estimator), train, valid)
        vars(estimator).update({name: value for name, value in fitted.items() if name not in parameters})
        return
    fit = _Fit(estimator, client, cluster_timeout(), train, None if valid["X_val"] is None else valid)
    try:
        fitted = fit.run_again_if_lost()
    except CostframeError:
        raise
    except Exception as error:
        if fit.client.status == "running":
            raise
        raise WorkersError(f"client: was closed, or lost its scheduler, in the fit: {error}") from error
    vars(estimator).update({name: value for name, value in fitted.items() if name not in parameters})


def _blank(estimator: Any) -> Any:
    """Return a copy of an estimator that is not fitted."""
    blank = copy(estimator)
    vars(blank).clear()
    vars(blank).update(estimator.get_params(deep=False))
    only, dates = estimator._only, estimator._dates  # noqa: SLF001 - the estimator's own package
    blank = blank if only is None else blank.reading_only(only)
    return blank if dates is None else blank.reading_dates(dates)


@frozen
class _Fit:
    estimator: Any
    client: Any
    seconds: float
    train: Mapping[str, Any]
    valid: Mapping[str, Any] | None

    def run_again_if_lost(self) -> dict[str, Any]:
        """Return the attributes of the fitted estimator; if a worker is lost, the others try once more."""
        try:
            return self.run()
        except LostWorkerError:
            return self.run()

    def run(self) -> dict[str, Any]:
        """Load the partitions, train, and return the attributes of the fitted estimator."""
        train = self._load(self.train, "")
        valid = None if self.valid is None else self._load(self.valid, "_val")
        return run_workers(self.client, _blank(self.estimator), train, valid, self.seconds)

    def _load(self, given: Mapping[str, Any], suffix: str) -> Partitions:
        loaded = load_partitions(self.client, given, f"X{suffix}")
        qid = f"qid{suffix}"
        if qid not in loaded.empty:
            return loaded
        return keep_queries_together(self.client, loaded, qid, max(len(ask(self.client, self.client.nthreads)), 1))


def _checked(client: Any) -> Any:
    """Return the client of the cluster, by default the current one, None if there is none."""
    try:
        import distributed
        import xgboost  # noqa: F401 - carries the bytes between the workers
    except ImportError as error:
        raise ParameterError(f"X: dask collections need the extra costframe[dask]: {error}") from error
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError:
            return None
        if client.status != "running":  # one that is closing is still the current one
            return None
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise ParameterError(f"client: expected a distributed.Client that is not asynchronous, got {shown(client)}")
    return client


def cluster_timeout() -> float:
    """Return the seconds after which a silent worker is lost, `costframe.timeout` in dask's configuration."""
    import dask

    given = dask.config.get("costframe.timeout", _SECONDS)
    try:
        seconds = float(dask.utils.parse_timedelta(given))
    except (AttributeError, KeyError, TypeError, ValueError):
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise ParameterError(
            f"costframe.timeout: expected a time as '300s' in dask's configuration, got {shown(given)}"
        )
    return seconds
