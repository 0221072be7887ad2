"""Fetch functions for sources, checks of their replies, and notes on their exceptions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import DataError, InquiryError, ParameterError, shown
from costframe.core.predictors.inquiry import as_numbers
from costframe.core.tables.rows import as_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictors.inquiry import Inquiry
    from costframe.core.predictors.predictor import Predictor
    from costframe.core.tables.categories import Categories

__all__ = [
    "annotate_errors",
    "as_table",
    "check_replies",
    "check_reply",
    "quote_things",
    "row_fetcher",
    "rows_fetcher",
]

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


def as_table(source: Any, keys: object, predictor: Predictor) -> NDArray[np.float64] | None:
    """Return a copy of an array's or a data frame's rows, float64 (rows, d); None for other sources of many rows."""
    if not isinstance(source, Mapping) and callable(source):
        return None
    if keys is not None:
        raise ParameterError("keys: are for a callable source; the rows of a table are numbered from 0")
    if isinstance(source, Mapping):
        raise DataError("the source: expected a table of rows, got one mapping; one row goes to predict_one")
    if isinstance(source, Sequence) and all(isinstance(row, Mapping) for row in source):
        return None
    return np.array(as_rows(source, predictor.feature_names, predictor.categories, predictor.used_features))


def _check_keys(keys: Iterable[Hashable] | None) -> tuple[Hashable, ...]:
    if keys is None or isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise ParameterError(f"keys: a callable source needs a list of keys, one a row; got {shown(keys)}")
    listed = tuple(keys)
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
    labels = _labels(row)
    if labels is not None and labels != list(range(len(labels))):
        named = dict(zip(map(str, labels), values, strict=True))
        if len(named) < len(values):
            raise DataError(f"{whose}: expected values with different names, got {quote_things(labels)}")
        return named
    if len(values) != len(feature_names):
        raise DataError(f"{whose}: expected {len(feature_names)} values, one a feature, got {len(values)}")
    return dict(zip(feature_names, values, strict=True))


def _labels(row: Any) -> list[Any] | None:
    """Return the labels of a pandas Series, recognized by its methods, without importing pandas."""
    return list(row.index) if hasattr(row, "index") and hasattr(row, "to_dict") else None


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
