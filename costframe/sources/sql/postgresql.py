"""A table in PostgreSQL: its columns and statements."""

from __future__ import annotations

from typing import Any

from attrs import define, field, frozen

from costframe.core.checks import needed
from costframe.core.errors import ParameterError, quote_names, shown
from costframe.sources.source import MOST_BYTES, LackingError
from costframe.sources.sql.connections import Connections
from costframe.sources.sql.database import Database, Question, Rows, quote_name, too_long
from costframe.sources.sql.postgresql_types import (
    BIT,
    BPCHAR,
    BYTEA,
    CHAR,
    MONEY,
    NAME,
    SHORT,
    TEXT,
    reader_of_oid,
    spell_key,
)

_COLUMNS = """
SELECT n.nspname, a.attname, a.atttypid, y.typtype, has_column_privilege(c.oid, a.attnum, 'SELECT')
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_type AS y ON y.oid = a.atttypid
WHERE c.oid = to_regclass(%s) AND c.relname = %s AND c.relkind IN ('r', 'v', 'm', 'f', 'p') ORDER BY a.attnum
"""
_KEY_TYPE = "SELECT format_type(oid, NULL), typtype FROM pg_catalog.pg_type WHERE oid = %s::oid"


@frozen
class _Column:
    """A column: its type's number, and whether that is an enum; whether the user may read it."""

    oid: int
    is_enum: bool
    is_readable: bool


@define(eq=False)
class PostgreSQL(Database):
    """One table or view of PostgreSQL.

    Parameters
    ----------
    connections : Connections
    table, key : str
    schema : str, optional
    """

    connections: Connections
    table: str
    key: str
    schema: str | None

    columns: dict[str, _Column] = field(factory=dict, init=False)
    _statements: dict[Any, Any] = field(factory=dict, init=False)
    _source: str = field(default="", init=False)  # the table with its schema, quoted
    _key_oid: int = field(default=TEXT, init=False)  # of a domain, that of its base
    _compared: tuple[str, str] = field(default=("", ""), init=False)  # what is compared, and the type that it has

    @classmethod
    def of(cls, url: str, table: str, key: str, schema: str | None, connections: int) -> PostgreSQL:
        """Check an address; a `ParameterError` has no text of it."""
        psycopg = needed("psycopg", "sql")
        plain = "postgresql://" + url.partition("://")[2]  # a driver is named before it
        try:
            if "://" not in url:
                raise ValueError  # noqa: TRY301
            psycopg.conninfo.conninfo_to_dict(plain)
        except (psycopg.Error, ValueError):
            raise ParameterError("url: expected an address such as postgresql://user@host/name") from None
        return cls(Connections(plain, connections), table, key, schema)

    async def open(self) -> None:
        """Connect, and read the table's columns."""
        for schema, table in self.names():
            name = ".".join(quote_name(part) for part in (schema, table) if part is not None)
            rows = await self._texts(_COLUMNS, name, table)
            if rows:
                self._source = f"{_quote(rows[0][0])}.{_quote(table)}"
                self.columns = {
                    column: _Column(int(oid), kind == "e", readable == "t") for _, column, oid, kind, readable in rows
                }
                return
        raise self.lacking(" in the search path; give its schema")

    async def look_at_key(self) -> None:
        """Look how the column of keys compares: by the base type of a domain; enums and single letters as texts."""
        self._check_readable([self.key])
        column = f"t.{_quote(self.key)}"
        statement = f"SELECT {column} FROM {self._source} AS t LIMIT %s"  # noqa: S608 - quoted
        result = await self.connections.run(statement.encode(), ["0"])
        self._key_oid = result.ftype(0)
        ((name, kind),) = await self._texts(_KEY_TYPE, str(self._key_oid))
        as_texts = kind == "e" or self._key_oid in {CHAR, NAME, BIT}  # casts to these would cut a key short
        if as_texts:
            self._key_oid = TEXT
        if self._key_oid == BPCHAR:
            name = "bpchar"  # "character" is one letter
        self._compared = (f"{column}::text", "text") if as_texts else (column, name.replace("%", "%%"))

    def spell(self, key: Any) -> list[str]:
        """Return a key as PostgreSQL reads it in the type of its column."""
        return [spell_key(key, self._key_oid)]

    async def select(self, question: Question) -> Rows:
        """Return the rows of a question's keys."""
        self._check_readable(question.places)
        statement, long = self.statement(question)
        if len(question.keys) == 1:
            given = [question.keys[0]]
        else:
            keys = _as_array(question.keys)
            given = [keys, *(_as_array("t" if wants else "f" for wants in mask) for mask in question.masks), keys]
        result = await self.connections.run(statement, [*given, str(question.most)])
        places = range(1, len(question.places) + 1)
        readers = [reader_of_oid(result.ftype(j)) for j in places]
        flags = {place - 1: j for j, place in enumerate(long, len(places) + 1)}
        get, rows = result.get_value, []
        for i in range(result.ntuples):
            values = [None if (raw := get(i, j)) is None else readers[j - 1](raw) for j in places]
            for j, flag in flags.items():
                if get(i, flag) == b"t":
                    values[j] = too_long()
            rows.append((int(get(i, 0)) - 1, values))
        return rows

    async def close(self) -> None:
        """Close the connections."""
        await self.connections.close()

    async def _texts(self, statement: str, *given: str) -> list[list[str]]:
        """Return the rows of a statement about the catalog."""
        result = await self.connections.run(statement.encode(), list(given))
        columns = range(result.nfields)
        return [[result.get_value(i, j).decode() for j in columns] for i in range(result.ntuples)]

    def _check_readable(self, places: Any) -> None:
        if secret := [place for place in places if not self.columns[place].is_readable]:
            raise LackingError(f"{shown(self.table)}: permission denied to read {quote_names(secret)}")

    def _make_statement(self, question: Question) -> tuple[bytes, list[int]]:
        """Return a statement, and the places, from 1, that it has a flag for: whether the value is too long."""
        columns, flags, long = [], [], []
        for j, place in enumerate(question.places, 1):
            column, kind = f"t.{_quote(place)}", self.columns[place]
            conditions = [f"p.w{question.mask_of[place]}"] if place in question.mask_of else []
            if not (kind.oid in SHORT or kind.is_enum):
                measured = column if kind.oid == BYTEA else f"{column}::text"
                flags.append(f"octet_length({measured}) > {MOST_BYTES}")
                conditions.append(f"NOT ({flags[-1]})")
                long.append(j)
            if kind.oid == MONEY:  # printed as the server's country does
                column += "::numeric"
            columns.append(f"CASE WHEN {' AND '.join(conditions)} THEN {column} END" if conditions else column)
        compared, kind_of_key = self._compared
        if len(question.keys) == 1:
            number, origin, condition = "1", "", f"{compared} = %s::{kind_of_key}"
        else:  # the database says which key a row has, and can look for all of them below a view
            given = ", ".join([f"%s::{kind_of_key}[]", *("%s::bool[]" for _ in question.masks)])
            names = ", ".join(["k", *(f"w{i}" for i in range(len(question.masks))), "i"])
            number, origin = "p.i", f" JOIN unnest({given}) WITH ORDINALITY AS p({names}) ON {compared} = p.k"
            condition = f"{compared} = ANY(%s::{kind_of_key}[])"
        listed = ", ".join([number, *columns, *flags])
        statement = f"SELECT {listed} FROM {self._source} AS t{origin} WHERE {condition} LIMIT %s"  # noqa: S608 - quoted
        return statement.encode(), long


def _quote(name: str) -> str:
    """Return a name as SQL quotes it, for psycopg, to which a percent sign would be a parameter."""
    return quote_name(name).replace("%", "%%")


def _as_array(texts: Any) -> str:
    """Return texts as PostgreSQL reads an array of any type."""
    quoted = ('"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in texts)
    return "{" + ",".join(quoted) + "}"
