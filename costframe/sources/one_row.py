"""Drivers for one row, over values at hand, functions and `Sources`."""

from __future__ import annotations

import inspect
from typing import Any

from costframe.core.errors import ParameterError, shown
from costframe.core.predictors.fitted import FittedEstimator, as_predictor
from costframe.core.predictors.prediction import Prediction
from costframe.core.predictors.predictor import Predictor
from costframe.sources.at_hand import check_reply, row_fetcher
from costframe.sources.calls import CallSource
from costframe.sources.drive import Drive, Observe, sources_of_function
from costframe.sources.error_notes import annotate_errors, describe_step
from costframe.sources.event_loop import run_in_loop
from costframe.sources.sources import Sources


def predict_one(
    predictor: Predictor | FittedEstimator,
    source: Any,
    costs: object = None,
    *,
    key: Any = None,
    deadline: float | None = None,
    observe: Observe | None = None,
    **asked: Any,
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
    if (sources := _as_sources(source, key, deadline, observe, predictor)) is not None:
        return run_in_loop(Drive.of(predictor, sources, costs, deadline, observe, **asked).predict(key))
    inquiry = predictor.inquire(costs, **asked)
    fetch = row_fetcher(source, predictor.feature_names)
    values = None
    with annotate_errors(lambda: describe_step(names, values), [inquiry]):
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
    deadline: float | None = None,
    observe: Observe | None = None,
    **asked: Any,
) -> Prediction:
    """Predict one row like `predict_one`; the callable may return an awaitable, such as a coroutine."""
    predictor = as_predictor(predictor)
    if (sources := _as_sources(source, key, deadline, observe, predictor)) is not None:
        return await Drive.of(predictor, sources, costs, deadline, observe, **asked).predict(key)
    inquiry = predictor.inquire(costs, **asked)
    fetch = row_fetcher(source, predictor.feature_names)
    values = None
    with annotate_errors(lambda: describe_step(names, values), [inquiry]):
        while names := inquiry.needs:
            reply = fetch(names)
            values = check_reply(await reply if inspect.isawaitable(reply) else reply, names, predictor.categories)
            inquiry.supply(values)
            values = None
    return inquiry.answer


def _as_sources(
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

    return sources_of_function(CallSource(fetch, each=True), predictor, deadline)
