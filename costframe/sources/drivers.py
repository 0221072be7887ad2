"""Drivers of inquiries: for one row, and for many rows in lockstep; over values at hand, functions, and `Sources`."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Collection, Generator, Hashable, Iterable, Mapping
from functools import partial
from typing import Any

from costframe.core.checks import check_number
from costframe.core.cost.expected import ExpectedCost
from costframe.core.errors import ParameterError, shown
from costframe.core.predictors.fitted import FittedEstimator, as_predictor
from costframe.core.predictors.inquiry import Prediction
from costframe.core.predictors.predictor import Known, Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import names_of
from costframe.sources.live_row import RowTerms
from costframe.sources.lookups import Lookup, Policy
from costframe.sources.partitions import Drive, Ended, Observe, key_blocks, many_by_partition, stream_by_partition
from costframe.sources.predictions import (
    Predictions,
    annotate_errors,
    as_table,
    check_replies,
    check_reply,
    predict_table,
    quote_things,
    row_fetcher,
    rows_fetcher,
)
from costframe.sources.source import CallSource
from costframe.sources.sources import Sources
from costframe.sources.threads import run

IN_FLIGHT = 1000  # rows that advance together


def predict_one(
    predictor: Predictor | FittedEstimator,
    source: Any,
    costs: object = None,
    *,
    key: Any = None,
    acquisition: str = "path",
    known: Known = (),
    max_cost: float | None = None,
    unavailable: Iterable[str] = (),
    deadline: float | None = None,
    observe: Observe | None = None,
) -> Prediction:
    """Predict one row, and fetch from `source` only features that are certainly needed.

    Parameters
    ----------
    predictor : Predictor, or an estimator fitted to one
    source : mapping of str to float, array-like (d,), callable, or Sources
        Values by name, or by position of ``predictor.feature_names``; or ``fetch(names) -> {name: value}``, called once
        a round, which must return exactly these names; or `Sources`, which keep to policies when they fail. NaN is a
        value: the feature is acquired, but missing. Categories that are texts may be given as labels or as numbers of
        labels.
    costs : CostModel, or anything `CostModel.of` accepts
        None uses the predictor's own.
    key : hashable, or mapping of str to hashable
        The row's key for `Sources`, or its keys by name where lookups name theirs.
    acquisition : {"path", "learner"}
        Whether a tree acquires features split by split, or all of them before it is evaluated.
    known : iterable of str, or mapping of str to float
        Features and resources already paid for. Features given with their values are not fetched.
    max_cost : float, optional
        Hard cap on the cost of the row.
    unavailable : iterable of str
        Features and resources that must not be fetched, for example because a source is down. The row still gets an
        answer, whose `reason` says why it was cut.
    deadline : float, optional
        Seconds after which the row has an answer, from what has come until then; its `reason` is "deadline".
    observe : callable, optional
        Of `Sources`: called with the key, the `LiveRow` and its end; see `InquiryLog`.

    Returns
    -------
    Prediction
        Value, cost, acquired features, rounds and exit.

    Raises
    ------
    InquiryError
        If the source lacks a needed feature, or its reply is not a number or label for each requested feature.
    SourceError
        If a lookup of `Sources` fails, and its policy is to raise.
    DataError
        If the source is an array of another shape.

    Notes
    -----
    An exception of the callable passes through, with a note of the features being fetched and the cost so far.
    """
    predictor = as_predictor(predictor)
    if (live := _live(source, key, deadline, observe, predictor)) is not None:
        drive = _drive(live, predictor, costs, acquisition, known, max_cost, unavailable, deadline, observe)
        return run(drive.one(key))
    inquiry = predictor.inquire(costs, acquisition, known, max_cost=max_cost, unavailable=unavailable)
    fetch = row_fetcher(source, predictor.feature_names)
    values = None
    with annotate_errors(lambda: _doing(names, values), [inquiry]):
        while names := inquiry.needs:
            values = check_reply(fetch(names), names, predictor.categories)
            inquiry.supply(values)
            values = None
    return inquiry.answer


async def predict_one_async(
    predictor: Predictor | FittedEstimator,
    source: Any,
    costs: object = None,
    *,
    key: Any = None,
    acquisition: str = "path",
    known: Known = (),
    max_cost: float | None = None,
    unavailable: Iterable[str] = (),
    deadline: float | None = None,
    observe: Observe | None = None,
) -> Prediction:
    """Predict one row like `predict_one`; the callable may return an awaitable, such as a coroutine."""
    predictor = as_predictor(predictor)
    if (live := _live(source, key, deadline, observe, predictor)) is not None:
        drive = _drive(live, predictor, costs, acquisition, known, max_cost, unavailable, deadline, observe)
        return await drive.one(key)
    inquiry = predictor.inquire(costs, acquisition, known, max_cost=max_cost, unavailable=unavailable)
    fetch = row_fetcher(source, predictor.feature_names)
    values = None
    with annotate_errors(lambda: _doing(names, values), [inquiry]):
        while names := inquiry.needs:
            reply = fetch(names)
            values = check_reply(await reply if inspect.isawaitable(reply) else reply, names, predictor.categories)
            inquiry.supply(values)
            values = None
    return inquiry.answer


@many_by_partition
def predict_many(
    predictor: Predictor | FittedEstimator,
    source: Any,
    keys: Iterable[Hashable] | None = None,
    costs: object = None,
    *,
    acquisition: str = "path",
    known: Known = (),
    max_cost: float | None = None,
    unavailable: Iterable[str] = (),
    deadline: float | None = None,
) -> Predictions:
    """Predict many rows: those of an array or a data frame by the engine, others in lockstep.

    In lockstep, every round is one trip for all rows that are not finished.

    Parameters
    ----------
    predictor : Predictor, or an estimator fitted to one
    source : array-like (rows, d), data frame, sequence of mappings, or callable
        A data frame is matched by name, an array by position; or ``fetch({key: names}) -> {key: {name: value}}``, which
        must return exactly these keys and names. `Sources` go to `predict_stream`, whose rows can fail one by one.
        Partitions of a dask array or data frame are predicted by tasks, whose arrays come together here.
    keys : iterable of hashable
        Distinct keys of the rows for a callable source; None for a table. Those of a dask collection are distinct
        within each partition, and each partition's task calls the function.
    costs, acquisition, known, max_cost, unavailable
        As in `predict_one`, the same for all rows.
    deadline : float, optional
        Seconds after which every row of a callable source has an answer, from what has come until then.

    Returns
    -------
    Predictions
        A sequence of `Prediction` in the order of the rows or keys, each equal to the result of `predict_one`, and
        arrays of values and costs. With `known`, inquiries predict all rows, also those of a table.

    Raises
    ------
    InquiryError
        As for `predict_one`; the text names the row or key.
    SourceError
        If there is a deadline, and the callable raises before it, or its reply lacks a value.
    DataError
        If a table does not fit the predictor's features.
    ParameterError
        If keys are missing, not hashable, not distinct, or given for a table.
    """
    if isinstance(source, Sources):
        raise ParameterError("source: Sources are for predict_stream, which yields each row as it ends")
    predictor = as_predictor(predictor)
    prices = CostModel.of(predictor.costs if costs is None else costs, predictor.feature_names)
    barred = names_of(unavailable)
    table = as_table(source, keys, predictor, predictor.label_features(prices, barred))
    paid = _read_once(known)
    limits: dict[str, Any] = {"max_cost": max_cost, "unavailable": barred}
    begin = partial(predictor.inquire, prices, acquisition, paid, **limits)
    if deadline is not None and (table is not None or not callable(source)):
        raise ParameterError(f"deadline: has no effect on values at hand, got {shown(source)} as the source")
    if table is not None:
        begin()  # refuses terms that do not fit
        how = None if list(paid) else ExpectedCost(prices, acquisition=acquisition, **limits)
        return predict_table(predictor, table, begin, how)
    order, fetch = rows_fetcher(source, keys, predictor.feature_names)
    if deadline is not None:
        live = _calls(CallSource(source), predictor, deadline)
        drive = _drive(live, predictor, prices, acquisition, paid, max_cost, barred, deadline, None)
        return Predictions.of(run(_predict_all(drive, order)), predictor.feature_names)
    inquiries = {key: begin() for key in order}
    unfinished = dict(inquiries)
    while requests := {key: names for key, inquiry in unfinished.items() if (names := inquiry.needs)}:
        unfinished = {key: inquiries[key] for key in requests}
        names = dict.fromkeys(name for each in requests.values() for name in each)
        doing = f"fetching {quote_things(names)} for {quote_things(requests)}"
        with annotate_errors(partial(str, doing), inquiries.values()):
            replies = check_replies(
                fetch(dict(requests)), requests, predictor.categories
            )  # a source may change its copy
        for key, values in replies.items():
            with annotate_errors(partial(_doing, (), values, f" {key!r}"), [inquiries[key]]):
                inquiries[key].supply(values)
    return Predictions.of([inquiry.answer for inquiry in inquiries.values()], predictor.feature_names)


def _doing(names: Iterable[object], values: Iterable[object] | None, row: str = "") -> str:
    """Tell of features that are fetched, or with values, of which an opaque learner may raise."""
    return f"fetching {quote_things(names)}" if values is None else f"predicting row{row} from {quote_things(values)}"


@stream_by_partition
def predict_stream(
    predictor: Predictor | FittedEstimator,
    sources: Sources,
    keys: Iterable[Any],
    costs: object = None,
    *,
    in_flight: int = IN_FLIGHT,
    acquisition: str = "path",
    known: Known = (),
    max_cost: float | None = None,
    unavailable: Iterable[str] = (),
    deadline: float | None = None,
    observe: Observe | None = None,
) -> Generator[Ended, None, None]:
    """Predict many rows over sources, and yield each as it ends, in any order.

    Rows advance together in blocks: each round is at most one trip to each lookup, for all rows of the block that need
    it. A block of `in_flight` rows takes at most rounds x lookups trips, besides retries.

    Parameters
    ----------
    predictor : Predictor, or an estimator fitted to one
    sources : Sources
        With keys of dask a function that makes them, as ``partial(Sources.load, "sources.toml")``: each partition's
        task opens its own.
    keys : iterable of hashable, or of mappings of str to hashable
        Keys of the rows; read block by block. A key may come again. The rows of a dask array, column or data frame (of
        mappings) end partition by partition, while further tasks run. A lost worker's partition begins, and pays, anew.
    costs, acquisition, known, max_cost, unavailable
        As in `predict_one`, the same for all rows.
    in_flight : int
        Rows of a block.
    deadline : float, optional
        Seconds that a row has from the beginning of its block. The sources are open before the first block begins, and
        the model has walked a few made-up rows; see `Sources.open`.
    observe : callable, optional
        Called with each row that has ended: its key, the `LiveRow` and its end; see `InquiryLog`. Not with keys of
        dask, whose rows end in other processes.

    Yields
    ------
    (key, Prediction or Exception)
        An error ends its row only; a `SourceError` says what the row had paid. After the last row, an
        `UnknownValuesWarning` names features of which the sources had no value, or mostly labels that the model does
        not know.

    Raises
    ------
    ParameterError
        If no lookup serves a feature that the model may read, or its table or place is not there; before the first row.
    """
    drive = _stream(predictor, sources, costs, acquisition, known, max_cost, unavailable, deadline, observe)
    size = check_number("in_flight", in_flight, low=1, whole=True)
    run(drive.open())
    for begun, block in key_blocks(keys, size):  # in the caller's thread
        rows: Any = drive.block(block, begun)
        try:
            while (ended := run(_next(rows))) is not None:
                yield from ended
        finally:
            run(rows.aclose())
    drive.warn()


async def predict_stream_async(
    predictor: Predictor | FittedEstimator,
    sources: Sources,
    keys: Iterable[Any],
    costs: object = None,
    *,
    in_flight: int = IN_FLIGHT,
    acquisition: str = "path",
    known: Known = (),
    max_cost: float | None = None,
    unavailable: Iterable[str] = (),
    deadline: float | None = None,
    observe: Observe | None = None,
) -> AsyncIterator[Ended]:
    """Predict many rows like `predict_stream`, in the running event loop."""
    drive = _stream(predictor, sources, costs, acquisition, known, max_cost, unavailable, deadline, observe)
    size = check_number("in_flight", in_flight, low=1, whole=True)
    await drive.open()
    async for ended in drive.many(keys, size):
        for each in ended:
            yield each
    drive.warn()


async def _next(rows: AsyncIterator[list[Ended]]) -> list[Ended] | None:
    return await anext(rows, None)


async def _predict_all(drive: Drive, keys: Collection[Hashable]) -> list[Prediction]:
    """Predict rows of distinct keys together; raise the error of the first that fails, in their order."""
    ends = dict([each async for some in drive.many(keys, max(len(keys), 1)) for each in some])
    found: list[Prediction] = []
    for key in keys:
        if isinstance(end := ends[key], Exception):
            raise end
        found.append(end)
    return found


def _live(
    source: Any, key: Any, deadline: float | None, observe: Observe | None, predictor: Predictor
) -> Sources | None:
    """Return the sources that a call needs an event loop for; None where values are at hand, or a function waits."""
    if isinstance(source, Sources):
        if key is None:
            raise ParameterError("key: expected that of the row, which Sources ask with, got None")
        return source
    if key is not None:
        raise ParameterError(f"key: is for Sources; {shown(source)} is one row's source by itself")
    if observe is not None:
        raise ParameterError(
            f"observe: is for Sources, whose rows it is called with; got {shown(source)} as the source"
        )
    if deadline is None:
        return None
    if not callable(source) or hasattr(source, "__getitem__"):
        raise ParameterError(f"deadline: has no effect on values at hand, got {shown(source)} as the source")

    def fetch(_key: object, names: tuple[str, ...]) -> Any:
        return source(names)

    return _calls(CallSource(fetch, each=True), predictor, deadline)


def _calls(source: CallSource, predictor: Predictor, deadline: float) -> Sources:
    """Return a function of the caller as sources, for which only the deadline is a time limit."""
    policy = Policy(timeout=check_number("deadline", deadline, strict=True))
    return Sources({"source": Lookup(source, predictor.feature_names, policy=policy)})


def _read_once(known: Known) -> Known:
    """Return what rows have paid for, as every row reads it: a mapping, or a tuple of names."""
    return known if isinstance(known, Mapping) else names_of(known, "known", ", or these with values")


def _stream(predictor: Predictor | FittedEstimator, sources: Any, *terms: Any) -> Drive:
    if not isinstance(sources, Sources):
        raise ParameterError(f"sources: expected Sources, got {shown(sources)}; predict_many takes other sources")
    return _drive(sources, as_predictor(predictor), *terms)


def _drive(
    sources: Sources,
    predictor: Predictor,
    costs: object,
    acquisition: str,
    known: Known,
    max_cost: float | None,
    unavailable: Iterable[str],
    deadline: float | None,
    observe: Observe | None,
) -> Drive:
    prices = CostModel.of(predictor.costs if costs is None else costs, predictor.feature_names)
    paid = _read_once(known)
    terms = RowTerms(predictor, prices, acquisition, paid, max_cost, unavailable, sources.policies)
    return Drive(terms, sources, deadline, observe)
