"""Drivers for many rows over `Sources`, which yield each row as it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterable
from typing import Any

from costframe.core.checks import check_number
from costframe.core.errors import ParameterError, shown
from costframe.core.predictors.fitted import FittedEstimator, as_predictor
from costframe.core.predictors.predictor import Predictor
from costframe.sources.drive import Drive, Ended, Observe, key_blocks
from costframe.sources.event_loop import run_in_loop
from costframe.sources.partitions import stream_by_partition
from costframe.sources.sources import Sources

IN_FLIGHT = 1000  # rows that advance together


@stream_by_partition
def predict_stream(
    predictor: Predictor | FittedEstimator,
    sources: Sources,
    keys: Iterable[Any],
    costs: object = None,
    *,
    in_flight: int = IN_FLIGHT,
    deadline: float | None = None,
    observe: Observe | None = None,
    **asked: Any,
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
    costs, **asked
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
    _check_sources(sources)
    drive = Drive.of(as_predictor(predictor), sources, costs, deadline, observe, **asked)
    size = check_number("in_flight", in_flight, low=1, whole=True)
    run_in_loop(drive.open())
    for start, block in key_blocks(keys, size):  # in the caller's thread
        rows: Any = drive.predict_block(block, start)
        try:
            while (ended := run_in_loop(_next(rows))) is not None:
                yield from ended
        finally:
            run_in_loop(rows.aclose())
    drive.warn()


async def predict_stream_async(
    predictor: Predictor | FittedEstimator,
    sources: Sources,
    keys: Iterable[Any],
    costs: object = None,
    *,
    in_flight: int = IN_FLIGHT,
    deadline: float | None = None,
    observe: Observe | None = None,
    **asked: Any,
) -> AsyncIterator[Ended]:
    """Predict many rows like `predict_stream`, in the running event loop."""
    _check_sources(sources)
    drive = Drive.of(as_predictor(predictor), sources, costs, deadline, observe, **asked)
    size = check_number("in_flight", in_flight, low=1, whole=True)
    await drive.open()
    async for rows in drive.predict_blocks(keys, size):
        for ended in rows:
            yield ended
    drive.warn()


def _check_sources(sources: object) -> None:
    if not isinstance(sources, Sources):
        raise ParameterError(f"sources: expected Sources, got {shown(sources)}; predict_many takes other sources")


async def _next(rows: AsyncIterator[list[Ended]]) -> list[Ended] | None:
    return await anext(rows, None)
