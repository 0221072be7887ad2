"""Checks of the replies of sources, and notes on their exceptions."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from costframe.core.errors import InquiryError
from costframe.core.predictors.inquiry import as_number

if TYPE_CHECKING:
    from costframe.core.predictors.inquiry import Inquiry
    from costframe.core.tables.categories import Categories

__all__ = ["annotate_errors", "check_replies", "check_reply", "quote_things"]


def check_reply(
    reply: object, names: tuple[str, ...], categories: Categories, whose: str = "the source"
) -> dict[str, float]:
    """Return a source's values of exactly `names`; refuse any other reply, naming the source.

    Labels in `categories` become their numbers.
    """
    table = _mapping(reply, whose, f"values of {quote_things(names)} by name")
    _check_keys(table, names, whose)
    try:
        return {name: as_number(name, table[name], categories.get(name)) for name in names}
    except InquiryError as error:
        raise InquiryError(f"{whose}: {error}") from None


def check_replies(
    reply: object, requests: Mapping[Any, tuple[str, ...]], categories: Categories
) -> dict[Any, dict[str, float]]:
    """Return a source's values for exactly the keys of `requests`; errors name the key."""
    table = _mapping(reply, "the source", "a mapping of values for each key")
    _check_keys(table, requests, "the source")
    return {
        key: check_reply(table[key], names, categories, f"the source, key {key!r}") for key, names in requests.items()
    }


@contextmanager
def annotate_errors(doing: str, inquiries: Iterable[Inquiry]) -> Iterator[None]:
    """Add to an exception a note of the current step, and of the features and cost of the inquiries so far."""
    try:
        yield
    except Exception as error:
        so_far = list(inquiries)
        bought = [name for inquiry in so_far for name in inquiry.acquired]
        total = sum(inquiry.cost for inquiry in so_far)
        what = quote_things(bought) if len(so_far) == 1 else f"{len(bought)} values for {len(so_far)} rows"
        error.add_note(f"costframe: while {doing}; acquired so far: {what or 'nothing'}; paid so far: {total:g}")
        raise


def quote_things(things: Iterable[object], most: int = 10) -> str:
    """Quote at most `most` things."""
    quoted = [repr(thing) for thing in things]
    return ", ".join(quoted[:most]) + (f" and {len(quoted) - most} more" if len(quoted) > most else "")


def _mapping(reply: object, whose: str, expected: str) -> Mapping[Any, Any]:
    if isinstance(reply, Mapping):
        return reply
    if inspect.isawaitable(reply):
        if inspect.iscoroutine(reply):
            reply.close()  # avoids Python's warning about a coroutine that was never awaited
        raise InquiryError(f"{whose}: expected {expected}, got something to await; predict_one_async awaits")
    raise InquiryError(f"{whose}: expected a mapping, {expected}, got {type(reply).__name__}")


def _check_keys(table: Mapping[Any, Any], asked: Iterable[Any], whose: str) -> None:
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
