"""Tables in SQL databases: one SELECT a trip, with bound parameters and quoted names only."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Hashable, Iterable
from typing import Any

from attrs import define, field

from costframe.core.checks import check_number
from costframe.core.errors import InquiryError, ParameterError, quote_names, shown
from costframe.sources.failures import explain
from costframe.sources.source import KeyRefusedError, LackingError, Reply, Source, Wanted
from costframe.sources.sql.database import Database, Question
from costframe.sources.sql.postgresql import PostgreSQL
from costframe.sources.sql.sqlite import SQLite


@define(eq=False, repr=False)
class SQLSource(Source):
    """A table or view in PostgreSQL or SQLite, read only; its places are columns.

    Each trip is one SELECT for all its keys. Where rows want different columns, the database leaves out for each row
    what it does not want. The database compares keys, as ``WHERE key = ...`` does; values are read as it stores them,
    cell by cell, so that one that cannot be read fails alone. A connection that the server has ended is opened anew.

    Parameters
    ----------
    url : str
        ``sqlite:///features.db``, ``postgresql://user@host/name``. The options of the latter are those of libpq.
    table, key : str
        The table, and its column of keys, as the database spells them. A key in two rows fails. The table may be
        ``schema.table``.
    schema : str, optional
        Schema of the table; else PostgreSQL searches its search path.
    connections : int
        Most connections.
    """

    url: str
    table: str
    key: str
    schema: str | None = None
    connections: int = 5

    _database: Database | None = field(default=None, init=False)
    _opening: asyncio.Lock = field(factory=asyncio.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        for name in ("url", "table", "key"):
            if not isinstance(value := getattr(self, name), str) or not value:
                raise ParameterError(f"{name}: expected a text" + ("" if name == "url" else f", got {shown(value)}"))
        if self.schema is not None and (not isinstance(self.schema, str) or not self.schema):
            raise ParameterError(f"schema: expected a text, got {shown(self.schema)}")
        check_number("connections", self.connections, low=1, whole=True)
        self._make()

    def __repr__(self) -> str:
        """Name the table; the address may hold a password."""
        return f"SQLSource({shown(self.table)})"

    async def connect(self, places: Collection[str]) -> None:
        """Open a connection, and select the places for no key: they are there, and may be read."""
        database = await self._ready(places)
        try:
            await database.select(Question([], places))
        except Exception as error:
            if (failure := explain(error)).is_lasting and not isinstance(error, LackingError):
                raise LackingError(f"{shown(self.table)}: {failure.text}") from None
            raise

    async def fetch(self, wanted: Wanted) -> Reply:
        """Select the rows of all keys."""
        places = tuple(dict.fromkeys(place for places in wanted.values() for place in places))
        database = await self._ready(places)
        reply: dict[Hashable, Any] = {}
        asked: list[tuple[Hashable, Any]] = []  # each key, with a spelling of it
        for key in wanted:
            try:
                asked += [(key, spelled) for spelled in database.spell(key)]
            except KeyRefusedError as error:
                reply[key] = error
        if not asked:
            return reply
        question = Question.of(asked, wanted, places)
        rows = await database.select(question)
        if len(rows) >= question.most:
            raise InquiryError(f"{shown(self.table)}: {len(wanted):,} keys have {question.most:,} rows or more")
        for number, values in rows:
            key = asked[number][0]
            twice = key in reply
            reply[key] = InquiryError("two rows have this key") if twice else dict(zip(places, values, strict=True))
        return reply

    async def close(self) -> None:
        """Close the connections."""
        self._opening = asyncio.Lock()  # the next trip may be in another event loop
        if self._database is not None:
            database, self._database = self._database, None
            await database.close()

    def _make(self) -> Database:
        """Make what opens the table; an error has no text of the address, which may hold a password."""
        kind = self.url.partition(":")[0].partition("+")[0]
        if kind == "sqlite":
            return SQLite.of(self.url, self.table, self.key, self.schema, self.connections)
        if kind in {"postgresql", "postgres"}:
            return PostgreSQL.of(self.url, self.table, self.key, self.schema, self.connections)
        if "://" in self.url and kind.isidentifier():
            raise ParameterError(f"url: expected sqlite or postgresql, got {shown(kind)}")
        raise ParameterError("url: expected an address such as postgresql://user@host/name")

    async def _ready(self, places: Iterable[str]) -> Database:
        """Open the database if it is not, and check that the table has the places."""
        async with self._opening:
            if self._database is None:
                database = self._make()
                try:
                    await database.open()
                    self._check_columns(database.columns, [self.key])
                    await database.look_at_key()
                except BaseException:
                    await database.close()
                    raise
                self._database = database
        self._check_columns(self._database.columns, places)
        return self._database

    def _check_columns(self, columns: Collection[str], places: Iterable[str]) -> None:
        if lacking := [place for place in places if place not in columns]:
            alike = [name for name in columns if name.lower() in {place.lower() for place in lacking}]
            hint = f" (spelled {quote_names(alike)})" if alike else ""
            raise LackingError(
                f"{shown(self.table)}: no column {quote_names(lacking)}{hint}; it has {quote_names(columns)}"
            )
