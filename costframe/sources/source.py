"""The protocol of sources: one trip fetches the values that some keys want; and the keys that they take."""

from __future__ import annotations

import asyncio
import math
import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping
from contextlib import suppress
from datetime import date, time
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import numpy as np

from costframe.core.errors import InquiryError, shown
from costframe.core.tables.categories import is_missing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_DECIMAL = re.compile(r"(?!-[0.]+\Z)-?(?:0|[1-9][0-9]{0,400})(?:\.[0-9]{1,400})?")

Wanted = Mapping[Hashable, Collection[str]]
"""The places, such as columns or fields, that each key wants in one trip."""

Reply = Mapping[Hashable, Any]
"""For each key a mapping of its places to raw values; an exception in place of either says why this one failed."""

MOST_BYTES = 1_000_000
"""Most bytes of one value, or of one document with values: what fills a source must not fill the memory."""


class KeyRefusedError(InquiryError):
    """A key that a source cannot be asked for; it was not, so nothing is paid."""


class TripError(InquiryError):
    """A failure of the source, in words of ours; a further trip may do better.

    Parameters
    ----------
    text : str
    wait : float
        Seconds that the source asks to be left alone before.
    """

    def __init__(self, text: str, *, wait: float = 0.0) -> None:
        super().__init__(text)
        self.wait = wait


def may_pass(reply: Any) -> bool:
    """Return whether a key's reply is a failure of the source, which a further trip may not meet."""
    return isinstance(reply, TripError) or (isinstance(reply, BaseException) and not isinstance(reply, InquiryError))


def as_text(key: object) -> str:
    """Return a key as a text that a database or an address can hold; an `InquiryError` refuses others."""
    if type(key) is str and key.isascii() and "\0" not in key:
        return key
    try:
        text = key.decode() if isinstance(key, bytes) else str(key)
        text.encode()
    except Exception:  # noqa: BLE001 - no UTF-8; thousands of digits; a class of the caller's
        raise KeyRefusedError(f"expected a key with a text in UTF-8, got {shown(key)}") from None
    if is_missing(key) or "\0" in text:
        raise KeyRefusedError(f"expected a key, got {shown(key)}")
    return text


def as_type(key: Any, kind: type, most: int | None = None) -> Any:
    """Return a key as a value of the type of a source's keys, exactly that; a `KeyRefusedError` refuses others.

    A text is the number or date that is printed so: "7" is 7, and "0007", "7e0" and "+7" are nobody. Numbers end
    before `most`.
    """
    try:
        value: Any = as_text(key) if kind is str else _converted(key, kind)
        if most is not None and not -most <= value < most:
            raise ValueError  # noqa: TRY301
    except (TypeError, ValueError, ArithmeticError) as error:
        if isinstance(error, KeyRefusedError):
            raise
        raise KeyRefusedError(f"expected a key of type {kind.__name__}, got {shown(key)}") from None
    return value


def _converted(key: Any, kind: Any) -> Any:
    if kind in {int, float, Decimal}:
        value = kind(key)
        if not math.isfinite(value) or not (_is_printed(key, value) if isinstance(key, str) else value == key):
            raise ValueError
        return value
    if kind is UUID and not isinstance(key, UUID):
        return UUID(str(key))
    if issubclass(kind, date | time) and isinstance(key, str):
        value = kind.fromisoformat(key)
        if key not in {str(value), value.isoformat()}:
            raise ValueError
        return value
    if not isinstance(key, kind) or is_missing(key):
        raise TypeError
    return key


def _is_printed(text: str, value: Any) -> bool:
    """Return whether a number is written as it is printed, a decimal with or without zeros at the end."""
    if isinstance(value, Decimal):
        return _DECIMAL.fullmatch(text) is not None
    return text == str(value) or (isinstance(value, float) and value.is_integer() and text == str(int(value)))


class Source(ABC):
    """A database table, a cache, a service: something that gives values of places for keys.

    A source knows neither features nor prices: a `Lookup` says which feature is at which place, what to do when the
    source fails, and how to read its values. Every method runs in one event loop; a source that was not connected
    opens its connections at the first trip, and may be asked for several trips at once.
    """

    async def connect(self, places: Collection[str]) -> None:  # noqa: B027 - most sources have nothing to open
        """Make the first trip as quick as others: open a connection, and look whether the places are there.

        Parameters
        ----------
        places : collection of str
            Distinct; those that trips may ask for.

        Raises
        ------
        InquiryError
            If a table or a place is not there, so that every trip would fail; not a `TripError`.
        Exception
            Anything else, such as a server that is down: trips may do better.
        """

    @abstractmethod
    async def fetch(self, wanted: Wanted) -> Reply:
        """Make one trip for all keys.

        Parameters
        ----------
        wanted : mapping of hashable to collection of str
            Distinct places, at least one, for each key, at least one.

        Returns
        -------
        mapping of hashable to mapping of str to object
            Raw values, as the source stores them. A key without an entry has no row there; an exception in place of an
            entry says that this key alone failed, an `InquiryError` other than `TripError` that it will fail again.
            Further places of a key are left unread.

        Raises
        ------
        Exception
            Anything: the trip failed for all its keys.
        """

    async def close(self) -> None:  # noqa: B027 - most sources hold nothing open
        """Close the connections; a later trip may open them again."""


K = TypeVar("K")


async def answer_each(asks: Mapping[K, Callable[[], Awaitable[Any]]], limit: asyncio.Semaphore) -> dict[K, Any]:
    """Await an answer for each key, within a limit; an exception is in the place of one that failed."""

    async def one(ask: Callable[[], Awaitable[Any]]) -> object:
        async with limit:
            try:
                return await ask()
            except asyncio.CancelledError:
                if (task := asyncio.current_task()) is None or task.cancelling():
                    raise
                return TripError("it was cancelled")  # by itself: nobody has cancelled this task
            except Exception as error:  # noqa: BLE001 - one that fails never ends the trip of others
                return error

    return dict(zip(asks, await asyncio.gather(*map(one, asks.values())), strict=True))


_MOST_EXACT = 2**53 - 1  # of whole numbers in doubles


def as_key(key: Any, entry: str | None) -> Hashable:
    """Return a row's key at a source: the key itself, or an entry of a mapping; an `InquiryError` refuses others."""
    if entry is not None:
        if not isinstance(key, Mapping) or entry not in key:
            raise InquiryError(f"expected a key that is a mapping with {entry!r}, got {shown(key)}")
        key = key[entry]
        if is_missing(key):
            raise InquiryError(f"expected a key at {entry!r}, got {shown(key)}")
    try:
        hash(key)
    except Exception:  # noqa: BLE001 - of a class of the caller's
        raise InquiryError(f"expected a hashable key, got {shown(key)} of type {type(key).__name__}") from None
    return _unify(key)  # type: ignore[no-any-return]


def _unify(key: Any) -> Any:
    """Return one form for equal keys, which share a trip: sources that make texts of them tell 1.0 and True from 1."""
    if type(key) in {int, str}:
        return key
    if type(key) is tuple:
        return tuple(map(_unify, key))
    if isinstance(key, str):
        return str.__str__(key)  # an enum's text is its name
    if isinstance(key, numbers.Real | Decimal | np.bool_):
        number: Any = key
        with suppress(OverflowError):
            if math.isfinite(number) and (short := int(number) if number == int(number) else float(number)) == number:
                if isinstance(number, float | np.floating) and abs(short) > _MOST_EXACT:
                    what = "a float that several whole numbers may be rounded to"
                    raise InquiryError(f"expected a key, got {shown(key)}, {what}")
                return short
        if isinstance(number, Decimal) and number.is_finite():
            return number.normalize(Context(prec=len(number.as_tuple().digits)))
    return key
