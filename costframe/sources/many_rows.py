"""The driver for many rows in lockstep, over a table or a function."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from functools import partial
from typing import Any

from costframe.core.cost.expected import ExpectedCost
from costframe.core.errors import ParameterError, shown
from costframe.core.predictors.fitted import FittedEstimator, as_predictor
from costframe.core.predictors.prediction import Prediction
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.sources.at_hand import check_replies, rows_fetcher
from costframe.sources.calls import CallSource
from costframe.sources.drive import Drive, sources_of_function
from costframe.sources.error_notes import annotate_errors, describe_step, quote_things
from costframe.sources.event_loop import run_in_loop
from costframe.sources.partitions import many_by_partition
from costframe.sources.predictions import Predictions, copy_rows, predict_table
from costframe.sources.sources import Sources
from costframe.sources.terms import read_once


@many_by_partition
def predict_many(
    predictor: Predictor | FittedEstimator,
    source: Any,
    keys: Iterable[Hashable] | None = None,
    costs: object = None,
    *,
    deadline: float | None = None,
    **asked: Any,
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
    costs, **asked
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
    asked = read_once(asked)
    terms = predictor.row_terms(prices, unavailable=asked.get("unavailable", ()))
    table = copy_rows(source, keys, predictor, terms)
    begin = partial(predictor.inquire, prices, **asked)
    if deadline is not None and (table is not None or not callable(source)):
        raise ParameterError(f"deadline: has no effect on values at hand, got {shown(source)} as the source")
    if table is not None:
        begin()  # refuses terms that do not fit
        unknown = {name: value for name, value in asked.items() if name != "known"}
        how = None if list(asked.get("known", ())) else ExpectedCost(prices, **unknown)
        return predict_table(predictor, table, begin, how)
    order, fetch = rows_fetcher(source, keys, predictor.feature_names)
    if deadline is not None:
        sources = sources_of_function(CallSource(source), predictor, deadline)
        drive = Drive.of(predictor, sources, prices, deadline, **asked)
        return Predictions.of(run_in_loop(_predict_all(drive, order)), predictor.feature_names)
    inquiries = {key: begin() for key in order}
    unfinished = dict(inquiries)
    while requests := {key: names for key, inquiry in unfinished.items() if (names := inquiry.needs)}:
        unfinished = {key: inquiries[key] for key in requests}
        wanted = dict.fromkeys(name for names in requests.values() for name in names)
        doing = f"fetching {quote_things(wanted)} for {quote_things(requests)}"
        with annotate_errors(partial(str, doing), inquiries.values()):
            replies = check_replies(fetch(dict(requests)), requests, predictor.categories)  # it may change its copy
        for key, values in replies.items():
            with annotate_errors(partial(describe_step, (), values, f" {key!r}"), [inquiries[key]]):
                inquiries[key].supply(values)
    return Predictions.of([inquiry.answer for inquiry in inquiries.values()], predictor.feature_names)


async def _predict_all(drive: Drive, keys: Collection[Hashable]) -> list[Prediction]:
    """Predict rows of distinct keys together; raise the error of the first that fails, in their order."""
    ends = dict([ended async for rows in drive.predict_blocks(keys, max(len(keys), 1)) for ended in rows])
    predictions: list[Prediction] = []
    for key in keys:
        if isinstance(end := ends[key], Exception):
            raise end
        predictions.append(end)
    return predictions
