"""What a source is, and sources at hand: functions and tables."""

from __future__ import annotations

import asyncio
import inspect
import math
import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Context, Decimal
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import numpy as np
from attrs import define, field

from costframe.core.checks import check_number, needed
from costframe.core.errors import DataError, InquiryError, ParameterError, quote_names, shown
from costframe.core.tables.categories import is_missing
from costframe.core.tables.frames import column_names
from costframe.sources.code_errors import check_takes
from costframe.sources.threads import Threads

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


class LackingError(InquiryError):
    """A source lacks a table, a place or a permission, so that every trip fails, whatever it asks for."""


class OddValueError(InquiryError):
    """A value of a kind that no feature has, in place of that value; other values of its row are read.

    Parameters
    ----------
    text : str
    spelled : str
        The value as the source spells it, which a marker of missing values may name.
    """

    def __init__(self, text: str, spelled: str) -> None:
        super().__init__(text)
        self.spelled = spelled


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
    if kind is date and isinstance(key, datetime):  # whose day is not all of it
        if key.time() != time.min or key.tzinfo is not None:
            raise ValueError
        return key.date()
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
            Anything: the trip failed for all its keys. Unless it says that the source itself is down, as `TripError`,
            `LackingError` and errors of connections and time limits do, the trip is made again in parts.
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


def _check_callable(calls: Any) -> None:
    functions = calls.values() if isinstance(calls, Mapping) else [calls]
    if not functions or not all(callable(each) for each in functions):
        raise ParameterError(f"calls: expected a function, or functions by place, got {shown(calls)}")


@define(eq=False)
class CallSource(Source):
    """Values from functions, sync or async; sync ones run in threads.

    A function that hangs keeps its thread after its time is over; it never keeps the process from ending.

    Parameters
    ----------
    calls : callable, or mapping of str to callable
        ``calls({key: places}) -> {key: {place: value}}`` for all keys of a trip; with `each`,
        ``calls(key, places) -> {place: value}``; or for each place a function ``calls[place](key) -> value``.
    each : bool
        Whether the function takes one key; all keys of a trip run side by side.
    workers : int
        Most functions, and threads for them, that run side by side.
    """

    calls: Callable[..., Any] | Mapping[str, Callable[[Any], Any]]
    each: bool = False
    workers: int = 16

    _threads: Threads | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        _check_callable(self.calls)
        check_number("workers", self.workers, low=1, whole=True)

    async def connect(self, places: Collection[str]) -> None:
        """Check that there is a function for each place, where functions have places, and what functions take."""
        if callable(self.calls):
            check_takes(self.calls, ("key", "places") if self.each else ("wanted",), "calls")
            return
        if lacking := [place for place in places if place not in self.calls]:
            raise ParameterError(f"calls: no function for {quote_names(lacking)}")
        for place in places:
            check_takes(self.calls[place], ("key",), f"calls, {shown(place)}")

    async def fetch(self, wanted: Wanted) -> Reply:
        """Call the function once, or once for each key, or for each key and place."""
        if not self.each and callable(self.calls):
            return await self._call(self.calls, dict(wanted))  # type: ignore[no-any-return]
        asks = {key: partial(self._one, key, tuple(places)) for key, places in wanted.items()}
        return await answer_each(asks, asyncio.Semaphore(self.workers))

    async def _one(self, key: Hashable, places: tuple[str, ...]) -> object:
        if callable(self.calls):
            return await self._call(self.calls, key, places)
        if lacking := [place for place in places if place not in self.calls]:
            raise ParameterError(f"calls: no function for {quote_names(lacking)}")
        return {place: await self._call(self.calls[place], key) for place in places}

    async def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
            return await function(*arguments)
        self._threads = self._threads or Threads(self.workers)
        reply = await self._threads.call(function, *arguments)
        return await reply if inspect.isawaitable(reply) else reply

    async def close(self) -> None:
        """Let go of the threads; calls under way end by themselves."""
        if self._threads is not None:
            self._threads.close()
            self._threads = None


_KINDS = {str, int, float, date, datetime, Decimal, UUID}


@define(eq=False, repr=False)
class TableSource(Source):
    """Values from a table in memory; its places are columns.

    Parameters
    ----------
    table : data frame, or mapping of str to sequence (rows,)
        Columns by name.
    key : str, optional
        The column of keys; None numbers the rows from 0. A key in two rows fails. Keys of one type are found by their
        texts, too, and texts by whole numbers.
    """

    table: Any
    key: str | None = None

    _columns: dict[str, Any] = field(factory=dict, init=False)
    _rows: dict[Hashable, list[int]] = field(factory=dict, init=False)
    _kind: type | None = field(default=None, init=False)  # of all keys

    def __attrs_post_init__(self) -> None:
        names = list(self.table) if isinstance(self.table, dict) else column_names(self.table)
        if not names:
            raise ParameterError(f"table: expected columns with names, at least one, got {type(self.table).__name__}")
        if self.key is not None and not isinstance(self.key, str):
            raise ParameterError(f"key: expected the name of a column, got {shown(self.key)}")
        self._columns = {name: _listed(self.table[name], name) for name in names}
        sizes = {len(column) for column in self._columns.values()}
        if len(sizes) > 1:
            raise DataError(f"table: expected columns of one length, got {sorted(sizes)}")
        if self.key is not None and self.key not in self._columns:
            raise ParameterError(f"key: expected a column of the table, got {shown(self.key)}")
        for i, key in enumerate(range(sizes.pop()) if self.key is None else self._columns[self.key]):
            if not is_missing(key):  # is nobody's key; Python finds the same NaN, and no other
                self._rows.setdefault(key, []).append(i)
        kinds = {type(key) for key in self._rows}
        if len(kinds) == 1 and kinds <= _KINDS:
            (self._kind,) = kinds

    def __repr__(self) -> str:
        """Name its size."""
        return f"TableSource({len(self._rows)} keys x {len(self._columns)} columns)"

    async def connect(self, places: Collection[str]) -> None:
        """Check that the table has the places."""
        if lacking := [place for place in places if place not in self._columns]:
            raise InquiryError(f"no column {quote_names(lacking)}; the table has {quote_names(self._columns)}")

    async def fetch(self, wanted: Wanted) -> Reply:
        """Look the rows up."""
        reply: dict[Hashable, Any] = {}
        for key, places in wanted.items():
            try:
                own = key if self._kind is None else as_type(key, self._kind)
            except KeyRefusedError as error:
                reply[key] = error
            else:
                reply |= {key: self._one(self._rows[own], places)} if own in self._rows else {}
        return reply

    def _one(self, rows: list[int], places: Collection[str]) -> object:
        if len(rows) > 1:
            return InquiryError(f"{len(rows)} rows have this key")
        return {place: self._columns[place][rows[0]] for place in places if place in self._columns}


def _listed(column: Any, name: str) -> list[Any]:
    for method in ("to_pylist", "to_list"):  # of pyarrow; of pandas and polars
        if hasattr(column, method):
            return list(getattr(column, method)())
    values = np.asanyarray(column)
    if values.ndim != 1:
        raise ParameterError(f"table: expected a list of values as column {name!r}, got {shown(column)}")
    return list(values.tolist())  # a masked array has None for what it hides


def read_source(path: str, key: str, folder: Path = Path()) -> TableSource:
    """Read a file with a table, such as CSV or Parquet, beside the file that names it."""
    needed("pyarrow", "cli")
    from costframe.datasets.table_files import TableFile

    return TableSource(TableFile.open(folder / path).read(texts=[key]), key)
