"""How a driver takes rows through sources: in blocks whose rounds are one trip, or partition by partition of dask's."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import wraps
from itertools import islice
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np
from attrs import define, evolve, frozen

from costframe.core.checks import check_functions, check_number
from costframe.core.errors import ParameterError, SourceError, UnknownValuesWarning, WorkersError, shown
from costframe.core.predictors.fitted import as_predictor
from costframe.core.predictors.inquiry import Prediction
from costframe.core.tables.frames import blocks, delayed_model, is_dask, one_row, whole_rows
from costframe.core.tables.unknown_values import odd_columns, warn_of
from costframe.sources.live_row import LiveRow, RowTerms, supply_rows
from costframe.sources.predictions import Predictions
from costframe.sources.sources import Sources
from costframe.sources.told import SourcesEnd

Ended = tuple[Any, "Prediction | Exception"]
"""The key of a row, and its prediction or the error that ended it."""


Observe = Callable[[Any, LiveRow, "Prediction | Exception"], object]
"""Called with the key, the row and the end of each row that has ended."""


@frozen(eq=False)
class Drive:
    """One call of a driver over sources."""

    terms: RowTerms
    sources: Sources
    deadline: float | None = None  # seconds that a row has, from the beginning of its block
    observe: Observe | None = None

    def __attrs_post_init__(self) -> None:
        if self.deadline is not None:
            check_number("deadline", self.deadline, strict=True)
        check_functions(observe=self.observe)
        self.sources.check_serves(self.terms.asked)

    async def open(self) -> None:
        """Connect the sources, and have the model laid out before a clock starts."""
        if self.deadline is None:
            await self.sources.connect(self.terms.asked)
        else:
            await self.sources.warm(self.terms)

    def warn(self) -> None:
        """Warn of features of which the sources had no value so far, or mostly labels, that the model knows."""
        warn_of(odd_columns(self.sources.coverage, "the model", self.terms.predictor.categories).values())

    async def one(self, key: Any) -> Prediction:
        """Predict one row; raise the error that ends it."""
        ended = [each async for some in self.many([key], 1) for each in some]
        (_, end), *_ = ended
        if isinstance(end, Exception):
            raise end
        return end

    async def many(self, keys: Iterable[Any], in_flight: int) -> AsyncIterator[list[Ended]]:
        """Predict rows in blocks of `in_flight`; yield rows as they end, those of one round together."""
        for begun, block in key_blocks(keys, in_flight):
            async for ended in self.block(block, begun):
                yield ended

    async def block(self, keys: list[Any], begun: int) -> AsyncIterator[list[Ended]]:
        """Advance the rows of a block together: each round is one trip to each lookup that any row needs."""
        clock = asyncio.get_running_loop().time
        limit = None if self.deadline is None else clock() + self.deadline
        rows = {i: LiveRow(self.terms, begun + i) for i in range(len(keys))}
        while rows:
            ended = list(self._answers(rows, keys))
            if ended:
                yield ended
            wants = {i: (keys[i], row.needs) for i, row in rows.items()}
            if not wants:
                return
            outcomes = await self.sources.fetch(wants, self.terms.predictor.categories, limit)
            late = limit is not None and clock() >= limit
            errors = supply_rows([rows[i] for i in outcomes], list(outcomes.values()), late=late)
            ends = zip(outcomes, errors, strict=True)
            if failed := [self._close(keys[i], rows.pop(i), error) for i, error in ends if error is not None]:
                yield failed

    def _answers(self, rows: dict[int, LiveRow], keys: list[Any]) -> Iterator[Ended]:
        """Take the rows that need nothing more."""
        for i in [i for i, row in rows.items() if not row.needs]:
            row = rows.pop(i)
            yield self._close(keys[i], row, row.answer)

    def _close(self, key: Any, row: LiveRow, end: Prediction | Exception) -> Ended:
        if isinstance(end, SourceError):
            end.add_note(f"costframe: row {shown(key)}; paid {end.cost:g}, and {end.failed_cost:g} in vain")
        if self.observe is not None:
            self.observe(key, row, end)
        return key, end


def key_blocks(keys: Iterable[Any], size: int) -> Iterator[tuple[int, list[Any]]]:
    """Cut keys into blocks, each with the number of keys before it."""
    if is_dask(keys):
        raise ParameterError("keys: those of dask go to predict_stream, whose rows end in other processes")
    is_one = isinstance(keys, str | bytes | Mapping | type) or getattr(keys, "ndim", 1) != 1
    if is_one or not isinstance(keys, Iterable):
        raise ParameterError(f"keys: expected a list of keys, one a row, got {shown(keys)}")
    left, begun = iter(keys), 0
    while block := list(islice(left, size)):
        yield begun, block
        begun += len(block)


F = TypeVar("F", bound=Callable[..., Any])

_LOOK = 1.0  # seconds between looks at the workers


def many_by_partition(driver: F) -> F:
    """Make a driver of many rows take dask's array or data frame of rows, or dask's keys of a function's rows."""

    @wraps(driver)
    def predict_many(predictor: Any, source: Any, keys: Any = None, costs: object = None, **terms: Any) -> Predictions:
        if not (is_dask(source) or is_dask(keys)):
            predictions: Predictions = driver(predictor, source, keys, costs, **terms)
            return predictions
        import dask

        predictor, terms = as_predictor(predictor), _read_once(terms)
        if is_dask(source):
            rows = whole_rows(source, predictor.feature_names)
            driver(predictor, one_row(rows)[:0], keys, costs, **terms)  # refuses what is wrong in any partition
            parts = blocks(rows)[0]
            given = [(part, None) for part in parts]
        elif callable(source):
            driver(predictor, source, (), costs, **terms)
            given = [(source, part) for part in _key_blocks(keys)]
        else:
            raise ParameterError(f"keys: those of dask need a function of keys as the source, got {shown(source)}")
        predict, model = dask.delayed(_predict_part, pure=False), delayed_model(predictor)
        tasks = [predict(predict_many, model, *each, costs, terms, number) for number, each in enumerate(given)]
        found = [part for _, part in sorted(_results(tasks), key=itemgetter(0))]
        if not is_dask(source):
            return Predictions.merge(found)
        return Predictions.merge(found, _OnDemand(predict_many, predictor, parts, costs, terms))

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
        told = SourcesEnd()
        yield from stream_parts(driver, predictor, sources, keys, costs, told, **terms)
        warn_of(odd_columns(told.coverage, "the model", as_predictor(predictor).categories).values())

    return predict_stream  # type: ignore[return-value]


def stream_parts(
    driver: Any, predictor: Any, make: Any, keys: Any, costs: object, told: SourcesEnd, **terms: Any
) -> Iterator[Ended]:
    """Yield the rows of dask's keys, a partition after the other, and add to `told` what their sources tell.

    `driver` is `predict_stream`, for the keys of a partition; `make` makes the sources of each.
    """
    import dask

    if isinstance(make, Sources) or not callable(make):
        raise ParameterError(
            "sources: with keys of dask, expected a function that makes Sources where it is called, such as "
            f"partial(Sources.load, 'sources.toml'); got {shown(make)}"
        )
    drive, model = dask.delayed(_drive_part, pure=False), delayed_model(as_predictor(predictor))
    terms = _read_once(terms)
    tasks = [drive(driver, model, make, part, costs, terms) for part in _key_blocks(keys)]
    with closing(_results(tasks)) as parts:
        for _, (ended, end) in parts:
            told.add(end)
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


def _key_blocks(keys: Any) -> list[Any]:
    """Return the partitions of keys, each delayed."""
    from dask.delayed import Delayed

    if isinstance(keys, Delayed) or (not hasattr(keys, "columns") and getattr(keys, "ndim", 1) != 1):
        raise ParameterError(f"keys: expected a dask array (rows,), column or data frame, got {shown(keys)}")
    return blocks(keys)[0]


def _read_once(terms: Mapping[str, Any]) -> dict[str, Any]:
    """Return terms whose iterables can be read by every task."""
    return {
        name: value
        if isinstance(value, str) or hasattr(value, "__len__") or not hasattr(value, "__iter__")
        else [*value]
        for name, value in terms.items()
    }


def _predict_part(
    driver: Any, model: Any, source: Any, keys: Any, costs: object, terms: Mapping[str, Any], number: int
) -> Predictions:
    """Predict a partition's rows; those of a table come as arrays alone, without the rows."""
    try:
        found: Predictions = driver(model, source, None if keys is None else _listed(keys), costs, **terms)
        return found if keys is not None else evolve(found, predict=None)  # type: ignore[arg-type]  # `_OnDemand` has them
    except Exception as error:
        error.add_note(f"costframe: in partition {number}")
        raise


def _drive_part(
    driver: Any, model: Any, make: Callable[[], Sources], keys: Any, costs: object, terms: Mapping[str, Any]
) -> tuple[list[Ended], SourcesEnd]:
    sources: Any = make()
    if not isinstance(sources, Sources):
        raise ParameterError(f"sources: expected a function that makes Sources, but it made {shown(sources)}")
    with sources, warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownValuesWarning)  # the end of all parts tells of these
        ended = list(driver(model, sources, _listed(keys), costs, **terms))
        return ended, SourcesEnd.of(sources)


def _listed(keys: Any) -> list[Any]:
    """Return the keys of a partition, of a data frame as mappings by the names of its columns."""
    if hasattr(keys, "columns"):
        return list(keys.to_dict("records"))
    if hasattr(keys, "to_list"):
        return list(keys.to_list())
    values = np.asarray(keys)
    return list(values) if values.dtype.kind in "mM" else values.tolist()  # it makes whole numbers of dates


def _current_client() -> Any:
    """Return the current client of a cluster; None if there is none, or it is closed."""
    try:
        from distributed import get_client

        client = get_client()
    except (ImportError, ValueError):
        return None
    return client if client.status == "running" else None


def _results(tasks: Sequence[Any]) -> Generator[tuple[int, Any], None, None]:
    """Yield the numbers and results of delayed tasks as they end, on the cluster of the current client if there is one.

    Each is computed once, and so is what they share: what it pays would be paid again.

    Raises
    ------
    WorkersError
        If workers are lost again and again, or there are none for the time of `cluster_timeout`.
    """
    import dask

    client = _current_client()
    if client is None:
        yield from enumerate(dask.compute(*tasks))
        return
    from distributed import KilledWorker, wait

    from costframe.training.cluster.fitting import cluster_timeout

    seconds = cluster_timeout()
    futures = client.compute(list(tasks))
    numbers, waiting, worked = {future: number for number, future in enumerate(futures)}, futures, time.monotonic()
    del futures
    try:
        while waiting:
            with suppress(TimeoutError):
                ended, waiting = wait(waiting, timeout=_LOOK, return_when="FIRST_COMPLETED")
                for future in ended:
                    result = future.result()
                    future.release()  # the cluster need not keep it
                    yield numbers.pop(future), result
            worked = time.monotonic() if client.nthreads() else worked
            _check_waiting(time.monotonic() - worked, seconds)
    except KilledWorker as error:
        raise WorkersError("workers: one after another was lost when it predicted the same partition") from error
    except Exception as error:
        if client.status == "running":
            raise
        raise WorkersError(f"client: was closed, or lost its scheduler, before all rows had ended: {error}") from error
    finally:
        if client.status == "running":
            client.cancel(list(numbers))


def _check_waiting(waited: float, seconds: float) -> None:
    if waited > seconds:
        raise WorkersError(f"workers: the cluster has had none for {seconds:g} s")
