"""Sources in this process: functions of many keys, of one key or for each value, and tables in memory."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Hashable, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from attrs import define, field

from costframe.core.checks import check_number, needed
from costframe.core.errors import DataError, InquiryError, ParameterError, quote_names, shown
from costframe.core.tables.categories import is_missing
from costframe.core.tables.frames import column_names
from costframe.sources.source import KeyRefusedError, Reply, Source, Wanted, answer_each, as_type
from costframe.sources.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable


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
        """Check that there is a function for each place, where functions have places."""
        if not callable(self.calls) and (lacking := [place for place in places if place not in self.calls]):
            raise ParameterError(f"calls: no function for {quote_names(lacking)}")

    async def fetch(self, wanted: Wanted) -> Reply:
        """Call the function once, or once for each key, or for each key and place."""
        if not self.each and callable(self.calls):
            return await self._call(self.calls, dict(wanted))  # type: ignore[no-any-return]
        asks = {key: partial(self._one, key, tuple(places)) for key, places in wanted.items()}
        return await answer_each(asks, asyncio.Semaphore(self.workers))

    async def _one(self, key: Hashable, places: tuple[str, ...]) -> object:
        if callable(self.calls):
            return await self._call(self.calls, key, places)
        await self.connect(places)
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
        self._columns = {name: _listed(self.table[name]) for name in names}
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


def _listed(column: Any) -> list[Any]:
    for method in ("to_pylist", "to_list"):  # of pyarrow; of pandas and polars
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(np.asanyarray(column).tolist())  # a masked array has None for what it hides


def read_source(path: str, key: str, folder: Path = Path()) -> TableSource:
    """Read a file with a table, such as CSV or Parquet, beside the file that names it."""
    needed("pyarrow", "cli")
    from costframe.datasets.table_files import TableFile

    return TableSource(TableFile.open(folder / path).read(texts=[key]), key)
