"""Tables in SQL databases, through SQLAlchemy: one SELECT a trip, with bound parameters and quoted names only."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

from attrs import define, field

from costframe.core.checks import check_number, needed
from costframe.core.errors import InquiryError, ParameterError, quote_names, shown
from costframe.sources.source import MOST_BYTES, KeyRefusedError, Reply, Source, Wanted, as_type
from costframe.sources.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

T = TypeVar("T")

_DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}

_LOCKED = 2.0  # seconds that SQLite waits for a lock, which nothing can interrupt
_MOST_LENGTH = 50_000_000  # bytes, also of the keys of one trip
_MOST_STATEMENTS = 500


@define(eq=False, repr=False)
class SQLSource(Source):
    """A table or view in PostgreSQL or SQLite, read only; its places are columns.

    Each trip is one SELECT for all its keys. Where rows want different columns, the database leaves out for each row
    what it does not want.

    Parameters
    ----------
    url : str
        Of SQLAlchemy: ``sqlite:///features.db``, ``postgresql://user@host/name``. Its `options`, or those of the
        variable PGOPTIONS, go to PostgreSQL: ``?options=-csearch_path%3Drisk``.
    table, key : str
        The table, and its column of keys, as the database spells them. A key in two rows fails. The table may be
        ``schema.table``.
    schema : str, optional
        Schema of the table, of SQLite an attached database; else PostgreSQL searches its search path.
    connections : int
        Most connections.
    """

    url: str
    table: str
    key: str
    schema: str | None = None
    connections: int = 5

    _database: Any = field(default=None, init=False)
    _table: Any = field(default=None, init=False)
    _too_long: dict[str, Any] = field(factory=dict, init=False)  # of columns whose values may be long
    _statements: dict[Any, Any] = field(factory=dict, init=False)  # by what their rows want
    _opening: asyncio.Lock = field(factory=asyncio.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        for name in ("url", "table", "key"):
            if not isinstance(value := getattr(self, name), str) or not value:
                raise ParameterError(f"{name}: expected a text" + ("" if name == "url" else f", got {shown(value)}"))
        if self.schema is not None and (not isinstance(self.schema, str) or not self.schema):
            raise ParameterError(f"schema: expected a text, got {shown(self.schema)}")
        check_number("connections", self.connections, low=1, whole=True)
        self._address()

    def __repr__(self) -> str:
        """Name the table; the address may hold a password."""
        return f"SQLSource({shown(self.table)})"

    async def connect(self, places: Collection[str]) -> None:
        """Open a connection, and select the places for no key: this also makes the statement of one row."""
        await self._ready(places)
        statement, keys_of = self._select({}, places, {})
        await self._database.call(lambda connection: connection.execute(statement, keys_of | {"most": 1}).all())

    async def fetch(self, wanted: Wanted) -> Reply:
        """Select the rows of all keys."""
        places = tuple(dict.fromkeys(place for places in wanted.values() for place in places))
        await self._ready(places)
        typed, reply = self._typed(wanted)
        if not typed:
            return reply
        statement, keys_of = self._select(wanted, places, typed)
        keys_of["most"] = most = 2 * len(typed) + 1000  # more than one for each key is an error anyway
        rows = await self._database.call(lambda connection: connection.execute(statement, keys_of).all())
        if len(rows) == most:
            raise InquiryError(f"{shown(self.table)}: {len(typed):,} keys have {most:,} rows or more")
        long = self._too_long.keys() & places
        found: dict[Any, Any] = {}
        for key, *values in rows:
            row = dict(zip(places, values, strict=False))
            if long and values[-1]:  # some value is too long, and was left there
                error = InquiryError(f"expected a value of at most {MOST_BYTES:,} bytes, got more")
                row |= {place: error for place in long if row[place] is None}
            found[key] = InquiryError("two rows have this key") if key in found else row
        for value, keys in typed.items():
            if value in found:
                reply |= {key: InquiryError("two rows have this key") if key in reply else found[value] for key in keys}
        return reply

    async def close(self) -> None:
        """Close the pool of connections."""
        self._opening = asyncio.Lock()  # the next trip may be in another event loop
        if self._database is not None:
            database, self._database = self._database, None
            await database.close()

    def _address(self) -> Any:
        """Return the address with a driver; its text is in no error, for it may hold a password."""
        sqlalchemy = needed("sqlalchemy", "sql")
        try:
            url = sqlalchemy.engine.make_url(self.url)
            name = url.get_backend_name()
        except (sqlalchemy.exc.ArgumentError, ValueError):
            raise ParameterError("url: expected an address such as postgresql://user@host/name") from None
        if name not in _DRIVERS:
            raise ParameterError(f"url: expected sqlite or postgresql, got {shown(name)}")
        if name == "sqlite":
            if url.database in {None, "", ":memory:"}:
                raise ParameterError("url: expected the file of a SQLite database")
            if not url.database.startswith("file:"):
                url = url.set(database=f"file:{quote(url.database)}")
            url = url.set(query={"mode": "ro", "uri": "true"})  # or a wrong name would make an empty database
        else:
            needed("greenlet", "sql")
            needed("psycopg", "sql")
        return url.set(drivername=_DRIVERS[name])

    async def _ready(self, places: Iterable[str]) -> None:
        """Open the database if it is not, and check that the table has the places."""
        async with self._opening:
            if self._database is None:
                await self._open()
        self._check_columns(places)

    async def _open(self) -> None:
        """Connect, and read the table's columns with their types."""
        import sqlalchemy as sa

        url = self._address()
        if url.get_backend_name() == "sqlite" and not self._is_there(url):
            raise InquiryError("no file is at the address of the database")
        database = (_Threaded if url.get_backend_name() == "sqlite" else _Async)(url, self.connections)
        try:
            schema, table, found = await database.call(self._find)
            columns = [sa.column(each["name"], each["type"]) for each in found]
            self._table = sa.table(table, *columns, schema=schema)
            self._check_columns([self.key])
        except BaseException:
            await database.close()
            raise
        conditions = {column.name: is_too_long(column, is_sqlite=database.is_sqlite) for column in columns}
        self._too_long = {name: condition for name, condition in conditions.items() if condition is not None}
        self._database, self._statements = database, {}

    def _find(self, connection: Any) -> tuple[str | None, str, list[Any]]:
        """Return the schema, the name and the columns of the table; a whole name goes before one with a schema."""
        import sqlalchemy as sa

        inspector = sa.inspect(connection)
        before, dot, after = self.table.partition(".")
        for schema, table in [(self.schema, self.table), *([(before, after)] if dot and self.schema is None else [])]:
            if schema is None or schema in inspector.get_schema_names():
                with suppress(sa.exc.NoSuchTableError):
                    return schema, table, inspector.get_columns(table, schema=schema)
        if self.schema is not None:
            raise InquiryError(f"no table {shown(self.table)} in the schema {shown(self.schema)}")
        path = "" if dot or connection.dialect.name == "sqlite" else " in the search path; give its schema"
        raise InquiryError(f"no table {shown(self.table)}{path}")

    @staticmethod
    def _is_there(url: Any) -> bool:
        """Return whether a SQLite file exists."""
        return Path(unquote(url.database.removeprefix("file:").partition("?")[0])).is_file()

    def _check_columns(self, places: Iterable[str]) -> None:
        columns = self._table.c
        if lacking := [place for place in places if place not in columns]:
            raise InquiryError(
                f"{shown(self.table)}: no column {quote_names(lacking)}; it has {quote_names(columns.keys())}"
            )

    def _typed(self, wanted: Wanted) -> tuple[dict[Any, list[Hashable]], dict[Hashable, Any]]:
        """Return the keys by their values of the key column's type, and errors for keys that have none."""
        column = self._table.c[self.key].type
        try:
            kind = column.python_type
        except NotImplementedError:
            kind = object
        most = bound(column, is_sqlite=self._database.is_sqlite)
        typed: dict[Any, list[Hashable]] = {}
        errors: dict[Hashable, Any] = {}
        # In a column without a type, each value of SQLite has its own.
        is_free = kind is object and self._database.is_sqlite
        for key in wanted:
            kinds = (str, int) if isinstance(key, str) else (int,) if isinstance(key, int) else (object,)
            for each in kinds if is_free else (kind,):
                try:
                    typed.setdefault(as_type(key, each, 1 << 63 if is_free and each is int else most), []).append(key)
                except KeyRefusedError as error:
                    errors |= {} if is_free and isinstance(key, str) and each is int else {key: error}
        return typed, errors

    def _select(
        self, wanted: Wanted, places: Collection[str], typed: Mapping[Any, list[Hashable]]
    ) -> tuple[Any, dict[str, Any]]:
        """Return a statement with its parameters: the key, and each place for the rows that want it."""
        wanting: dict[str, list[Any]] = {place: [] for place in places}
        for value, keys in typed.items():
            for place in dict.fromkeys(place for key in keys for place in wanted[key]):
                wanting[place].append(value)
        groups = {tuple[Any, ...](typed): "among0"}  # places that the same keys want share a parameter
        shape = tuple(
            (place, groups.setdefault(tuple(values), f"among{len(groups)}")) for place, values in wanting.items()
        )
        as_json = self._database.is_sqlite and all(type(value) in {int, str, float} for value in typed)
        if (shape, as_json) not in self._statements:
            if len(self._statements) >= _MOST_STATEMENTS:
                self._statements.clear()
            self._statements[shape, as_json] = self._make_statement(shape, as_json=as_json)
        keys_of = {name: json.dumps(values) if as_json else list(values) for values, name in groups.items()}
        return self._statements[shape, as_json], keys_of

    def _make_statement(self, shape: tuple[tuple[str, str], ...], *, as_json: bool) -> Any:
        """Return a statement for places, each with the name of the parameter that lists the keys it is wanted for."""
        import sqlalchemy as sa
        from sqlalchemy.dialects.postgresql import ARRAY

        table, key = self._table, self._table.c[self.key]

        def is_one_of(name: str) -> Any:
            if not self._database.is_sqlite:
                return key == sa.any_(sa.bindparam(name, type_=ARRAY(key.type)))
            if as_json:  # one parameter: SQLite allows few
                return key.in_(sa.select(sa.column("value")).select_from(sa.func.json_each(sa.bindparam(name))))
            return key.in_(sa.bindparam(name, expanding=True))

        columns, too_long = [], []
        for j, (place, name) in enumerate(shape):
            conditions = [] if name == "among0" else [is_one_of(name)]
            if place in self._too_long:
                conditions.append(sa.not_(self._too_long[place]))
                too_long.append(self._too_long[place])
            column = table.c[place]
            columns.append(sa.case((sa.and_(*conditions), column)).label(f"v{j}") if conditions else column)
        if too_long:
            columns.append(sa.or_(*too_long).label("long"))
        return sa.select(key.label("k"), *columns).where(is_one_of("among0")).limit(sa.bindparam("most"))


class _Async:
    """Connections to PostgreSQL, in the event loop."""

    is_sqlite = False

    def __init__(self, url: Any, connections: int) -> None:
        from sqlalchemy.ext.asyncio import create_async_engine

        given = url.query.get("options", os.environ.get("PGOPTIONS", ""))  # libpq reads either, and the last word holds
        options = " ".join([*([given] if isinstance(given, str) else given), "-c default_transaction_read_only=on"])
        self._engine = create_async_engine(url, **_pooled(connections), connect_args={"options": options})

    async def call(self, work: Callable[[Any], T]) -> T:
        """Return what a function makes of a connection."""
        async with self._engine.connect() as connection:
            return await connection.run_sync(work)

    async def close(self) -> None:
        await self._engine.dispose()


class _Threaded:
    """Connections to SQLite, which works in threads: one hop there and back is the whole trip."""

    is_sqlite = True

    def __init__(self, url: Any, connections: int) -> None:
        import sqlalchemy as sa

        given = {"timeout": _LOCKED, "check_same_thread": False}  # pysqlite's default
        self._engine = sa.create_engine(url, **_pooled(connections), connect_args=given)
        limit = sqlite3.SQLITE_LIMIT_LENGTH  # a column of numbers may hold a text, too
        sa.event.listen(self._engine, "connect", lambda raw, _: raw.setlimit(limit, _MOST_LENGTH))
        self._threads = Threads(connections)

    async def call(self, work: Callable[[Any], T]) -> T:
        """Return what a function makes of a connection; cancelled, it interrupts that connection."""
        busy: list[Any] = []
        ending = Lock()  # or an interrupt could meet the next trip that has the connection

        def connected() -> T:
            with self._engine.connect() as connection:
                busy.append(connection.connection.dbapi_connection)
                try:
                    return work(connection)
                finally:
                    with ending:
                        busy.clear()

        try:
            return await self._threads.call(connected)  # type: ignore[no-any-return]
        except asyncio.CancelledError:
            with ending:
                for raw in busy:
                    raw.interrupt()
            raise

    async def close(self) -> None:
        await self._threads.end()  # a lock is waited for some seconds
        self._threads.close()
        self._engine.dispose()


def _pooled(connections: int) -> dict[str, Any]:
    return {
        "pool_size": connections,
        "max_overflow": 0,
        "pool_timeout": 3600,  # the policy's time limit ends the wait
        "pool_reset_on_return": None,  # nothing was begun
        "isolation_level": "AUTOCOMMIT",
    }


def bound(column: Any, *, is_sqlite: bool) -> int | None:
    """Return how far a column's integers go; PostgreSQL refuses a whole list with one that goes further."""
    import sqlalchemy as sa

    if not isinstance(column, sa.Integer):
        return None
    bits = 16 if isinstance(column, sa.SmallInteger) else 64 if isinstance(column, sa.BigInteger) else 32
    return 1 << ((64 if is_sqlite else bits) - 1)


def is_too_long(column: Any, *, is_sqlite: bool) -> Any:
    """Return the condition that a column's value has more than the most bytes; None where its type bounds it."""
    import sqlalchemy as sa

    fixed = (sa.Integer, sa.Numeric, sa.Float, sa.Boolean, sa.Date, sa.DateTime, sa.Time, sa.Interval, sa.Enum, sa.Uuid)
    if isinstance(column.type, fixed):
        return None
    if is_sqlite:
        return sa.func.length(sa.cast(column, sa.LargeBinary)) > MOST_BYTES
    return (
        sa.func.octet_length(column if isinstance(column.type, sa.LargeBinary) else sa.cast(column, sa.Text))
        > MOST_BYTES
    )
