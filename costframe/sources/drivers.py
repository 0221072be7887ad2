"""Drivers of inquiries: for one row, for one row with async sources, and for many rows in lockstep."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from costframe.core.predictors.fitted import as_predictor
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import names_of
from costframe.sources.fetching import (
    annotate_errors,
    check_replies,
    check_reply,
    quote_things,
    row_fetcher,
    rows_fetcher,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.core.predictors.inquiry import Inquiry, Prediction
    from costframe.core.predictors.predictor import Known, Predictor

__all__ = ["predict_many", "predict_one", "predict_one_async"]


def predict_one(
    predictor: Predictor | FittedEstimator,
    source: Any,
    costs: object = None,
    *,
    acquisition: str = "path",
    known: Known = (),
    max_cost: float | None = None,
    unavailable: Iterable[str] = (),
) -> Prediction:
    """Predict one row, and fetch from `source` only features that are certainly needed.

    Parameters
    ----------
    predictor : Predictor, or an estimator fitted to one
    source : mapping of str to float, array-like (d,), or callable
        Values by name, or by position of ``predictor.feature_names``; or ``fetch(names) -> {name: value}``, called once
        a round, which must return exactly these names. NaN is a value: the feature is acquired, but missing. Categories
        that are texts may be given as labels or as numbers of labels.
    costs : CostModel, or anything `CostModel.of` accepts
        None uses the predictor's own.
    acquisition : {"path", "learner"}
        Whether a tree acquires features split by split, or all of them before it is evaluated.
    known : iterable of str, or mapping of str to float
        Features and resources already paid for. Features given with their values are not fetched.
    max_cost : float, optional
        Hard cap on the cost of the row.
    unavailable : iterable of str
        Features and resources that must not be fetched, for example because a source is down. The row still gets an
        answer, whose `reason` says why it was cut.

    Returns
    -------
    Prediction
        Value, cost, acquired features, rounds and exit.

    Raises
    ------
    InquiryError
        If the source lacks a needed feature, or its reply is not a number or label for each requested feature.
    DataError
        If the source is an array of another shape.

    Notes
    -----
    An exception of the callable passes through, with a note of the features being fetched and the cost so far.
    """
    predictor = as_predictor(predictor)
    inquiry = predictor.inquire(costs, acquisition, known, max_cost=max_cost, unavailable=unavailable)
    fetch = row_fetcher(source, predictor.feature_names)
    while names := inquiry.needs:
        with annotate_errors(f"fetching {quote_things(names)}", [inquiry]):
            reply = fetch(names)
            values = check_reply(reply, names, predictor.categories)
        _supply(inquiry, values)
    return inquiry.answer


async def predict_one_async(
    predictor: Predictor | FittedEstimator,
    source: Any,
    costs: object = None,
    *,
    acquisition: str = "path",
    known: Known = (),
    max_cost: float | None = None,
    unavailable: Iterable[str] = (),
) -> Prediction:
    """Predict one row like `predict_one`; the callable may return an awaitable, such as a coroutine."""
    predictor = as_predictor(predictor)
    inquiry = predictor.inquire(costs, acquisition, known, max_cost=max_cost, unavailable=unavailable)
    fetch = row_fetcher(source, predictor.feature_names)
    while names := inquiry.needs:
        with annotate_errors(f"fetching {quote_things(names)}", [inquiry]):
            reply = fetch(names)
            values = check_reply(await reply if inspect.isawaitable(reply) else reply, names, predictor.categories)
        _supply(inquiry, values)
    return inquiry.answer


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
) -> list[Prediction]:
    """Predict many rows in lockstep: every round is one trip for all rows that are not finished.

    Parameters
    ----------
    predictor : Predictor, or an estimator fitted to one
    source : array-like (rows, d), data frame, sequence of mappings, or callable
        A data frame is matched by name, an array by position; or ``fetch({key: names}) -> {key: {name: value}}``, which
        must return exactly these keys and names.
    keys : iterable of hashable
        Distinct keys of the rows for a callable source; None for a table.
    costs, acquisition, known, max_cost, unavailable
        As in `predict_one`, the same for all rows.

    Returns
    -------
    list of Prediction
        In the order of the rows or keys; each equals the result of `predict_one`.

    Raises
    ------
    InquiryError
        As for `predict_one`; the text names the row or key.
    DataError
        If a table does not fit the predictor's features.
    ParameterError
        If keys are missing, not hashable, not distinct, or given for a table.
    """
    predictor = as_predictor(predictor)
    order, fetch = rows_fetcher(source, keys, predictor)
    prices = CostModel.of(predictor.costs if costs is None else costs, predictor.feature_names)
    paid = known if hasattr(known, "__len__") else tuple(known)  # read once for every row
    barred = names_of(unavailable)
    inquiries = {
        key: predictor.inquire(prices, acquisition, paid, max_cost=max_cost, unavailable=barred) for key in order
    }
    unfinished = dict(inquiries)
    while requests := {key: names for key, inquiry in unfinished.items() if (names := inquiry.needs)}:
        unfinished = {key: inquiries[key] for key in requests}
        names = dict.fromkeys(name for each in requests.values() for name in each)
        with annotate_errors(f"fetching {quote_things(names)} for {quote_things(requests)}", inquiries.values()):
            replies = check_replies(
                fetch(dict(requests)), requests, predictor.categories
            )  # a source may change its copy
        for key, values in replies.items():
            _supply(inquiries[key], values, f" {key!r}")
    return [inquiry.answer for inquiry in inquiries.values()]


def _supply(inquiry: Inquiry, values: dict[str, float], row: str = "") -> None:
    with annotate_errors(f"predicting row{row} from {quote_things(values)}", [inquiry]):  # an opaque learner may raise
        inquiry.supply(values)
