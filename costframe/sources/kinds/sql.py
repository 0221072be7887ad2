"""Tables in SQL databases, through SQLAlchemy: one SELECT a trip, with bound parameters and quoted names only."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from attrs import define, field

from costframe.core.checks import check_number
from costframe.core.errors import InquiryError, ParameterError, quote_names, shown
from costframe.sources.kinds.needed import needed
from costframe.sources.source import Reply, Source, Wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping

__all__ = ["SQLSource"]

_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}


@define(eq=False, repr=False)
class SQLSource(Source):
    """A table or view in PostgreSQL or SQLite, read only; its places are columns.

    Each trip is one SELECT for all its keys. Where rows want different columns, the database leaves out for each row
    what it does not want.

    Parameters
    ----------
    url : str
        Of SQLAlchemy: ``sqlite:///features.db``, ``postgresql://user@host/name``.
    table, key : str
        The table, and its column of keys, as the database spells them. A key in two rows fails.
    schema : str, optional
        Schema of the table.
    connections : int
        Most connections.
    """

    url: str
    table: str
    key: str
    schema: str | None = None
    connections: int = 5

    _engine: Any = field(default=None, init=False)
    _table: Any = field(default=None, init=False)
    _opening: asyncio.Lock = field(factory=asyncio.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        for name in ("url", "table", "key"):
            if not isinstance(value := getattr(self, name), str) or not value:
                raise ParameterError(f"{name}: expected a text" + ("" if name == "url" else f", got {shown(value)}"))
        check_number("connections", self.connections, low=1, whole=True)
        self._address()

    def __repr__(self) -> str:
        """Name the table; the address may hold a password."""
        return f"SQLSource({self.table})"

    async def fetch(self, wanted: Wanted) -> Reply:
        """Select the rows of all keys."""
        async with self._opening:
            if self._engine is None:
                await self._open()
        places = tuple(dict.fromkeys(place for places in wanted.values() for place in places))
        self._check_columns(self._table, places)
        typed, reply = self._typed(wanted)
        if not typed:
            return reply
        async with self._engine.connect() as connection:
            rows = (await connection.execute(self._select(wanted, places, typed))).all()
        found: dict[Any, Any] = {}
        for key, *values in rows:
            row = dict(zip(places, values, strict=True))
            found[key] = InquiryError("two rows have this key") if key in found else row
        return reply | {key: found[value] for value, keys in typed.items() if value in found for key in keys}

    async def close(self) -> None:
        """Close the pool of connections."""
        if self._engine is not None:
            engine, self._engine = self._engine, None
            await engine.dispose()

    def _address(self) -> Any:
        """Return the address with an async driver; its text is in no error, for it may hold a password."""
        sqlalchemy = needed("sqlalchemy", "sql")
        try:
            url = sqlalchemy.engine.make_url(self.url)
            name = url.get_backend_name()
        except (sqlalchemy.exc.ArgumentError, ValueError):
            raise ParameterError("url: expected an address such as postgresql://user@host/name") from None
        if name not in _DRIVERS:
            raise ParameterError(f"url: expected sqlite or postgresql, got {shown(name)}")
        needed("greenlet", "sql")
        if name == "sqlite":
            needed("aiosqlite", "sql")
            if url.database in {None, "", ":memory:"}:
                raise ParameterError("url: expected the file of a SQLite database")
            if not url.database.startswith("file:"):  # read only, or a wrong name would make an empty database
                url = url.set(database=f"file:{quote(url.database)}", query={"mode": "ro", "uri": "true"})
        else:
            needed("psycopg", "sql")
        return url.set(drivername=_DRIVERS[name])

    async def _open(self) -> None:
        """Connect, and read the table's columns with their types."""
        import sqlalchemy as sa
        from sqlalchemy.ext.asyncio import create_async_engine

        url = self._address()
        if url.get_backend_name() == "sqlite" and not self._is_there(url):
            raise InquiryError("no file is at the address of the database")
        own = {"options": "-c default_transaction_read_only=on"} if url.get_backend_name() == "postgresql" else {}
        engine = create_async_engine(
            url,
            pool_size=self.connections,
            max_overflow=0,
            pool_timeout=3600,  # the policy's time limit ends the wait
            isolation_level="AUTOCOMMIT",
            connect_args=own,
        )
        try:
            async with engine.connect() as connection:
                found = await connection.run_sync(
                    lambda sync: sa.inspect(sync).get_columns(self.table, schema=self.schema)
                )
        except sa.exc.NoSuchTableError:
            await engine.dispose()
            raise InquiryError(f"no table {shown(self.table)}") from None
        except BaseException:
            await engine.dispose()
            raise
        columns = [sa.column(each["name"], each["type"]) for each in found]
        table = sa.table(self.table, *columns, schema=self.schema)
        try:
            self._check_columns(table, [self.key])
        except InquiryError:
            await engine.dispose()
            raise
        self._engine, self._table = engine, table

    @staticmethod
    def _is_there(url: Any) -> bool:
        """Return whether a SQLite file exists; a connection that fails to open would leave a thread behind."""
        return Path(unquote(url.database.removeprefix("file:").partition("?")[0])).is_file()

    def _check_columns(self, table: Any, places: Iterable[str]) -> None:
        if lacking := [place for place in places if place not in table.c]:
            raise InquiryError(f"{self.table}: no column {quote_names(lacking)}; it has {quote_names(table.c.keys())}")

    def _typed(self, wanted: Wanted) -> tuple[dict[Any, list[Hashable]], dict[Hashable, Any]]:
        """Return the keys by their values of the key column's type, and errors for keys that have none."""
        try:
            kind = self._table.c[self.key].type.python_type
        except NotImplementedError:
            kind = object
        typed: dict[Any, list[Hashable]] = {}
        errors: dict[Hashable, Any] = {}
        for key in wanted:
            try:
                value = key if kind is object or isinstance(key, kind) else kind(key)
            except (TypeError, ValueError, ArithmeticError):
                errors[key] = InquiryError(f"expected a key of type {kind.__name__}, got {shown(key)}")
                continue
            typed.setdefault(value, []).append(key)
        return typed, errors

    def _select(self, wanted: Wanted, places: Collection[str], typed: Mapping[Any, list[Hashable]]) -> Any:
        """Return the statement: the key, and each place for the rows that want it."""
        import sqlalchemy as sa

        wanting: dict[str, list[Any]] = {place: [] for place in places}
        for value, keys in typed.items():
            for place in dict.fromkeys(place for key in keys for place in wanted[key]):
                wanting[place].append(value)
        table, key = self._table, self._table.c[self.key]
        among: dict[tuple[Any, ...], Any] = {}

        def is_one_of(values: list[Any]) -> Any:
            """Return the condition that the key is one of these; equal ones share their parameter."""
            if tuple(values) not in among:
                among[tuple(values)] = self._among(key, values)
            return among[tuple(values)]

        columns = [
            table.c[place] if len(values) == len(typed) else sa.case((is_one_of(values), table.c[place])).label(f"v{j}")
            for j, (place, values) in enumerate(wanting.items())
        ]
        return sa.select(key.label("k"), *columns).where(is_one_of(list(typed)))

    def _among(self, key: Any, values: list[Any]) -> Any:
        import sqlalchemy as sa

        if self._engine.dialect.name == "postgresql":
            from sqlalchemy.dialects.postgresql import ARRAY

            return key == sa.any_(sa.bindparam(None, values, type_=ARRAY(key.type)))
        if all(type(value) in {int, str, float} for value in values):  # one parameter: SQLite allows few
            return key.in_(sa.select(sa.column("value")).select_from(sa.func.json_each(json.dumps(values))))
        return key.in_(values)
