"""Values at hand and functions: how drivers fetch from them, and checks of what they reply."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from costframe.core.checks import as_items
from costframe.core.errors import DataError, InquiryError, ParameterError, shown
from costframe.core.tables.categories import Categories
from costframe.core.terms.values import as_floats
from costframe.sources.error_notes import quote_things

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
        reply = {name: values[name] for name in names if name in values}
        if len(reply) < len(names):
            raise InquiryError(f"{whose} lacks {', '.join(repr(name) for name in names if name not in reply)}")
        return reply

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
        return dict(zip(names, as_floats(table, names, categories), strict=True))
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
