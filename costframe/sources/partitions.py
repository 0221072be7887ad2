"""Drivers of many rows over dask's rows and keys, partition by partition."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import wraps
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np
from attrs import define, evolve

from costframe.core.errors import ParameterError, UnknownValuesWarning, printable, shown
from costframe.core.predictors.fitted import as_predictor
from costframe.core.tables.frames import is_dask
from costframe.core.tables.partitions import blocks, delayed_model, one_row, whole_rows
from costframe.core.tables.unknown_values import odd_columns, warn_of
from costframe.sources.drive import Ended
from costframe.sources.predictions import Predictions
from costframe.sources.source import PricedSource
from costframe.sources.sources import Sources
from costframe.sources.summary import SourcesSummary
from costframe.sources.terms import read_once
from costframe.sources.workers import results_of

F = TypeVar("F", bound=Callable[..., Any])


def many_by_partition(driver: F) -> F:
    """Make a driver of many rows take dask's array or data frame of rows, or dask's keys of a function's rows."""

    @wraps(driver)
    def predict_many(predictor: Any, source: Any, keys: Any = None, costs: object = None, **terms: Any) -> Predictions:
        if not (is_dask(source) or is_dask(keys)):
            predictions: Predictions = driver(predictor, source, keys, costs, **terms)
            return predictions
        import dask

        predictor, terms = as_predictor(predictor), read_once(terms)
        if is_dask(source):
            rows = whole_rows(source, predictor.feature_names)
            driver(predictor, one_row(rows)[:0], keys, costs, **terms)  # refuses what is wrong in any partition
            parts = blocks(rows)[0]
            arguments = [(part, None) for part in parts]
        elif callable(source):
            driver(predictor, source, (), costs, **terms)
            arguments = [(source, part) for part in _key_partitions(keys)]
        else:
            raise ParameterError(f"keys: those of dask need a function of keys as the source, got {shown(source)}")
        predict, model = dask.delayed(_predict_part, pure=False), delayed_model(predictor)
        tasks = [predict(predict_many, model, *part, costs, terms, i) for i, part in enumerate(arguments)]
        ended = [part for _, part in sorted(results_of(tasks), key=itemgetter(0))]
        if not is_dask(source):
            return Predictions.merge(ended)
        return Predictions.merge(ended, _OnDemand(predict_many, predictor, parts, costs, terms))

    return predict_many  # type: ignore[return-value]


def stream_by_partition(driver: F) -> F:
    """Make a driver over sources take dask's keys, and a function that makes the sources of a task."""

    @wraps(driver)
    def predict_stream(
        predictor: Any, sources: Any, keys: Any, costs: object = None, *, observe: Any = None, **terms: Any
    ) -> Iterator[Ended]:
        if not is_dask(keys):
            yield from driver(predictor, sources, keys, costs, observe=observe, **terms)
            return
        if observe is not None:
            raise ParameterError("observe: expected None with keys of dask, whose rows end in other processes")
        summary = SourcesSummary()
        yield from stream_parts(driver, predictor, sources, keys, costs, summary, **terms)
        warn_of(odd_columns(summary.coverage, "the model", as_predictor(predictor).categories).values())

    return predict_stream  # type: ignore[return-value]


def stream_parts(
    driver: Any, predictor: Any, make: Any, keys: Any, costs: object, summary: SourcesSummary, **terms: Any
) -> Iterator[Ended]:
    """Yield the rows of dask's keys, a partition after the other, and add to `summary` what their sources tell.

    `driver` is `predict_stream`, for the keys of a partition; `make` makes the sources of each.
    """
    import dask

    if isinstance(make, Sources) or not callable(make):
        raise ParameterError(
            "sources: with keys of dask, expected a function that makes Sources where it is called, such as "
            f"partial(Sources.load, 'sources.toml'); got {shown(make)}"
        )
    drive, model = dask.delayed(_drive_part, pure=False), delayed_model(as_predictor(predictor))
    terms = read_once(terms)
    tasks = [drive(driver, model, make, part, costs, terms) for part in _key_partitions(keys)]
    with closing(results_of(tasks)) as parts:
        for _, (ended, end) in parts:
            summary.add(end)
            yield from ended


@define
class _OnDemand:
    """Predicts a partition here, when the whole `Prediction` of one of its rows is read; these are read in order."""

    driver: Any
    predictor: Any
    parts: list[Any]
    costs: object
    terms: dict[str, Any]
    last: tuple[int, Predictions] | None = None

    def __call__(self, number: int) -> Predictions:
        if self.last is None or self.last[0] != number:
            rows = self.parts[number].compute()
            self.last = number, self.driver(self.predictor, rows, None, self.costs, **self.terms)
        return self.last[1]


def _key_partitions(keys: Any) -> list[Any]:
    """Return the partitions of keys, each delayed."""
    from dask.delayed import Delayed

    if isinstance(keys, Delayed) or (not hasattr(keys, "columns") and getattr(keys, "ndim", 1) != 1):
        raise ParameterError(f"keys: expected a dask array (rows,), column or data frame, got {shown(keys)}")
    return blocks(keys)[0]


def _predict_part(
    driver: Any, model: Any, source: Any, keys: Any, costs: object, terms: Mapping[str, Any], number: int
) -> Predictions:
    """Predict a partition's rows; those of a table come as arrays alone, without the rows."""
    try:
        predictions: Predictions = driver(model, source, None if keys is None else _listed(keys), costs, **terms)
        return predictions if keys is not None else evolve(predictions, predict=None)  # type: ignore[arg-type]  # `_OnDemand` has them
    except Exception as error:
        error.add_note(f"costframe: in partition {number}")
        raise


def _drive_part(
    driver: Any, model: Any, make: Callable[[], Sources], keys: Any, costs: object, terms: Mapping[str, Any]
) -> tuple[list[Ended], SourcesSummary]:
    sources: Any = make()
    if not isinstance(sources, Sources):
        raise ParameterError(f"sources: expected a function that makes Sources, but it made {shown(sources)}")
    _refuse_limits(sources)
    with sources, warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownValuesWarning)  # the end of all parts tells of these
        ended = list(driver(model, sources, _listed(keys), costs, **terms))
        return ended, SourcesSummary.of(sources)


def _refuse_limits(sources: Sources) -> None:
    """Refuse a limit of what a run pays: each task has its own sources, so the run could pay it once a task."""
    for name, lookup in sources.lookups.items():
        if isinstance(lookup.source, PricedSource) and lookup.source.is_limited:
            raise ParameterError(
                f"sources: {printable(name)}: total_cost holds within one process; with keys of dask, or on a cluster, "
                "expected sources without it"
            )


def _listed(keys: Any) -> list[Any]:
    """Return the keys of a partition, of a data frame as mappings by the names of its columns."""
    if hasattr(keys, "columns"):
        return list(keys.to_dict("records"))
    if hasattr(keys, "to_list"):
        return list(keys.to_list())
    values = np.asarray(keys)
    return list(values) if values.dtype.kind in "mM" else values.tolist()  # it makes whole numbers of dates
