"""Predictions of many rows, and functions that fetch features for drivers, with checks of their replies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, overload

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import B1, F8, I8
from costframe.core.checks import as_items
from costframe.core.cost.expected import ExpectedCost, stack_values
from costframe.core.errors import DataError, InquiryError, ParameterError, brief, format_count, shown
from costframe.core.machine import CHUNK
from costframe.core.predictors.inquiry import Inquiry, Prediction, as_numbers
from costframe.core.predictors.predictor import Predictor
from costframe.core.tables.categories import Categories
from costframe.core.tables.rows import as_rows

FetchOne = Callable[[tuple[str, ...]], Any]  # feature names -> values by name, or an awaitable of them
FetchMany = Callable[[dict[Any, tuple[str, ...]]], Any]  # feature names by key -> values by name for each key


def row_fetcher(source: Any, feature_names: Sequence[str]) -> FetchOne:
    """Return a function that fetches one row's values from a mapping, pandas Series, array (d,), or callable."""
    if not isinstance(source, Mapping) and callable(source):
        return source  # type: ignore[no-any-return]
    return _lookup(source, feature_names, "the source")


def rows_fetcher(
    source: Any, keys: Iterable[Hashable] | None, feature_names: Sequence[str]
) -> tuple[tuple[Any, ...], FetchMany]:
    """Return the keys of the rows of a callable or a sequence of mappings, and a function that fetches their values.

    The rows of a sequence have the keys 0, 1, ...
    """
    if not isinstance(source, Sequence):
        return _check_keys(keys), source
    rows = [_lookup(row, feature_names, f"row {i} of the source") for i, row in enumerate(source)]
    return tuple(range(len(rows))), lambda requests: {key: rows[key](names) for key, names in requests.items()}


def as_table(source: Any, keys: object, predictor: Predictor, read: Sequence[str]) -> F8 | None:
    """Return a copy of an array's or a data frame's rows, float64 (rows, d); None for other sources of many rows.

    Of a frame's columns it reads those named in `read`.
    """
    if not isinstance(source, Mapping) and callable(source):
        return None
    if keys is not None:
        raise ParameterError("keys: are for a callable source; the rows of a table are numbered from 0")
    if isinstance(source, Mapping):
        raise DataError("the source: expected a table of rows, got one mapping; one row goes to predict_one")
    if isinstance(source, Sequence) and all(isinstance(row, Mapping) for row in source):
        return None
    return np.array(as_rows(source, predictor.feature_names, predictor.categories, read))


def _check_keys(keys: Iterable[Hashable] | None) -> tuple[Hashable, ...]:
    listed = None if hasattr(keys, "columns") else as_items(keys)
    if listed is None:
        raise ParameterError(f"keys: a callable source needs a list of keys in order, one a row; got {shown(keys)}")
    seen: set[Hashable] = set()
    for key in listed:
        try:
            twice = key in seen
        except TypeError:
            raise ParameterError(
                f"keys: expected hashable keys, got {shown(key)} of type {type(key).__name__}"
            ) from None
        if twice:
            raise ParameterError(f"keys: expected distinct keys, got {shown(key)} twice")
        seen.add(key)
    return listed


def _lookup(row: Any, feature_names: Sequence[str], whose: str) -> FetchOne:
    values = row if isinstance(row, Mapping) else _by_name(row, feature_names, whose)

    def fetch(names: tuple[str, ...]) -> dict[str, Any]:
        found = {name: values[name] for name in names if name in values}
        if len(found) < len(names):
            raise InquiryError(f"{whose} lacks {', '.join(repr(name) for name in names if name not in found)}")
        return found

    return fetch


def _by_name(row: Any, feature_names: Sequence[str], whose: str) -> Mapping[str, Any]:
    given = np.ma.filled(row.astype(object), np.nan) if isinstance(row, np.ma.MaskedArray) else row
    values = np.asarray(given, dtype=object)  # object: a text must not turn numbers into texts
    if values.ndim != 1:
        raise DataError(
            f"{whose}: expected a mapping, a callable, or one dimension of {len(feature_names)} values, "
            f"got {type(row).__name__} of shape {values.shape}"
        )
    # A pandas Series, recognized by its methods, has labels.
    labels = list(row.index) if hasattr(row, "index") and hasattr(row, "to_dict") else None
    if labels is not None and labels != list(range(len(labels))):
        named = dict(zip(map(str, labels), values, strict=True))
        if len(named) < len(values):
            raise DataError(f"{whose}: expected values with different names, got {quote_things(labels)}")
        return named
    if len(values) != len(feature_names):
        raise DataError(f"{whose}: expected {len(feature_names)} values, one a feature, got {len(values)}")
    return dict(zip(feature_names, values, strict=True))


def check_reply(
    reply: object, names: tuple[str, ...], categories: Categories, whose: str = "the source"
) -> dict[str, float]:
    """Return a source's values of exactly `names`; refuse any other reply, naming the source.

    Labels in `categories` become their numbers.
    """
    if type(reply) is dict and not categories and {*map(type, reply.values())} == {float} and _is_exactly(reply, names):
        return reply
    table = _mapping(reply, whose, lambda: f"values of {quote_things(names)} by name")
    _expect_exactly(table, names, whose)
    try:
        return dict(zip(names, as_numbers(table, names, categories), strict=True))
    except InquiryError as error:
        raise InquiryError(f"{whose}: {error}") from None


def check_replies(
    reply: object, requests: Mapping[Any, tuple[str, ...]], categories: Categories
) -> dict[Any, dict[str, float]]:
    """Return a source's values for exactly the keys of `requests`; errors name the key."""
    table = _mapping(reply, "the source", lambda: "a mapping of values for each key")
    _expect_exactly(table, requests, "the source")
    return {
        key: check_reply(table[key], names, categories, f"the source, key {key!r}") for key, names in requests.items()
    }


class annotate_errors:  # noqa: N801 - a context manager, which begins in a tenth of a generator's time
    """Add to an exception a note of the current step, and of the features and cost of the inquiries so far."""

    def __init__(self, doing: Callable[[], str], inquiries: Iterable[Inquiry]) -> None:
        self._doing, self._inquiries = doing, inquiries

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if not isinstance(error, Exception):
            return
        so_far = list(self._inquiries)
        bought = [name for inquiry in so_far for name in inquiry.acquired]
        total = sum(inquiry.cost for inquiry in so_far)
        what = quote_things(bought) if len(so_far) == 1 else f"{len(bought)} values for {len(so_far)} rows"
        note = f"while {self._doing()}; acquired so far: {what or 'nothing'}; paid so far: {total:g}"
        error.add_note(f"costframe: {note}")


def quote_things(things: Iterable[object], most: int = 10) -> str:
    """Quote at most `most` things."""
    quoted = [repr(thing) for thing in things]
    return ", ".join(quoted[:most]) + (f" and {len(quoted) - most} more" if len(quoted) > most else "")


def _mapping(reply: object, whose: str, expected: Callable[[], str]) -> Mapping[Any, Any]:
    if isinstance(reply, Mapping):
        return reply
    if inspect.isawaitable(reply):
        if inspect.iscoroutine(reply):
            reply.close()  # avoids Python's warning about a coroutine that was never awaited
        raise InquiryError(f"{whose}: expected {expected()}, got something to await; predict_one_async awaits")
    raise InquiryError(f"{whose}: expected a mapping, {expected()}, got {type(reply).__name__}")


def _is_exactly(table: Mapping[Any, Any], asked: Collection[Any]) -> bool:
    return len(table) == len(asked) and all(map(table.__contains__, asked))


def _expect_exactly(table: Mapping[Any, Any], asked: Collection[Any], whose: str) -> None:
    if _is_exactly(table, asked):
        return
    wanted = dict.fromkeys(asked)
    if missing := [key for key in wanted if key not in table]:
        raise InquiryError(
            f"{whose} gave no {quote_things(missing)}; asked for {quote_things(wanted)}, it gave {quote_things(table)}"
        )
    if surplus := [key for key in table if key not in wanted]:
        raise InquiryError(
            f"{whose} gave {quote_things(surplus)}, which nobody asked for and no price was charged for; "
            f"asked for {quote_things(wanted)}"
        )


@frozen(eq=False, repr=False)
class Predictions(Sequence[Prediction]):
    """Predictions of rows, in their order: a sequence of `Prediction`, and arrays of what they hold.

    The engine made the arrays of a table; each `Prediction` then comes from an inquiry for its row, when it is
    read. A slice has a part of the rows.

    Attributes
    ----------
    value : float64 (rows,), or (rows, K) for K > 1 outputs
        Prediction of each row, as from `predict`.
    cost : float64 (rows,)
        Cost of each row in the cost model's unit. The engine adds prices in another order than an inquiry, so the cost
        of a row and of its `Prediction` may differ by rounding.
    acquired : bool (rows, d)
        Features that each row paid for, in the order of ``predictor.feature_names``.
    cut : bool (rows,)
        Rows whose `reason` is not "complete".
    """

    value: F8
    cost: F8
    acquired: B1
    cut: B1
    _rows: range
    _predict: Callable[[int], Prediction]

    @classmethod
    def of(cls, ends: Sequence[Prediction], feature_names: Sequence[str]) -> Predictions:
        """Make arrays of predictions that are there; a `DataError` refuses values of different lengths."""
        column = {name: f for f, name in enumerate(feature_names)}
        acquired = np.zeros((len(ends), len(column)), np.bool_)
        for row, end in zip(acquired, ends, strict=True):
            row[[column[name] for name in end.acquired]] = True
        return cls(
            stack_values([end.value for end in ends]),
            np.array([end.cost for end in ends], np.float64),
            acquired,
            np.array([end.reason != "complete" for end in ends], np.bool_),
            range(len(ends)),
            ends.__getitem__,
        )

    @classmethod
    def merge(cls, parts: Sequence[Predictions], read: Callable[[int], Predictions] | None = None) -> Predictions:
        """Join the predictions of consecutive rows; `read` returns a part again that came as arrays alone."""
        first = np.cumsum([0, *map(len, parts)])
        some = [part for part in parts if len(part)] or parts[:1]
        value, cost, acquired, cut = (
            np.concatenate([getattr(part, name) for part in some]) for name in ("value", "cost", "acquired", "cut")
        )
        predict = partial(_predict_in_part, first, parts.__getitem__ if read is None else read)
        return cls(value, cost, acquired, cut, range(int(first[-1])), predict)

    def __repr__(self) -> str:
        """Name the number of rows and their mean cost; the arrays would fill pages."""
        cost = (f"mean cost {self.cost.mean():g}", f"{np.count_nonzero(self.cut)} cut") if len(self) else ()
        return brief(self, format_count(len(self), "row"), *cost)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Prediction]:
        return map(self._predict, self._rows)  # unlike a sequence's own, an `IndexError` of a learner passes

    @overload
    def __getitem__(self, place: int) -> Prediction: ...

    @overload
    def __getitem__(self, place: slice) -> Predictions: ...

    def __getitem__(self, place: int | slice) -> Prediction | Predictions:
        """Return the prediction of a row, or those of some rows."""
        if not isinstance(place, slice):
            return self._predict(self._rows[place])
        arrays = {name: getattr(self, name)[place] for name in ("value", "cost", "acquired", "cut")}
        return evolve(self, **arrays, rows=self._rows[place])


def _predict_in_part(first: I8, read: Callable[[int], Predictions], i: int) -> Prediction:
    number = int(np.searchsorted(first, i, side="right")) - 1
    return read(number)[i - int(first[number])]


def predict_table(predictor: Predictor, X: F8, begin: Callable[[], Inquiry], how: ExpectedCost | None) -> Predictions:
    """Predict the rows of a table, float64 (rows, d), that nobody changes later.

    Parameters
    ----------
    predictor : Predictor
    X : float64 (rows, d)
    begin : callable
        Begins the inquiry of a row.
    how : ExpectedCost or None
        The terms of these inquiries; None if no report has such terms, and inquiries must predict every row.
    """
    columns = {name: f for f, name in enumerate(predictor.feature_names)}
    predict = partial(_predict_row, begin, columns, X)
    if how is None:
        return Predictions.of([predict(i) for i in range(len(X))], predictor.feature_names)
    try:
        report = how.evaluate(predictor, X)
    except Exception:
        _raise_of_row(predictor, X, how, predict)
        raise
    assert report.predictions is not None  # noqa: S101 - routing is hard
    cut = np.zeros(len(X), np.bool_) if report.cut is None else report.cut
    acquired = np.asarray(report.acquired, np.bool_)
    return Predictions(report.predictions, report.per_row, acquired, cut, range(len(X)), predict)


def _raise_of_row(predictor: Predictor, X: F8, how: ExpectedCost, predict: Callable[[int], object]) -> None:
    """Find the first row for which a learner raises, if there is one: `predict` names the row in its error."""
    for first in range(0, len(X), CHUNK):
        part = X[first : first + CHUNK]
        try:
            how.evaluate(predictor, part)
        except Exception:  # noqa: BLE001 - raised below
            for i in range(first, first + len(part)):  # all rows one by one would take long
                predict(i)


def _predict_row(begin: Callable[[], Inquiry], columns: dict[str, int], X: F8, i: int) -> Prediction:
    inquiry, row = begin(), X[i].tolist()
    with annotate_errors(lambda: f"predicting row {i}", [inquiry]):
        while names := inquiry.needs:
            inquiry.supply({name: row[columns[name]] for name in names})
    return inquiry.answer
