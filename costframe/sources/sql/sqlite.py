"""A table in a file of SQLite: its columns, statements, and keys as SQLite compares them."""

from __future__ import annotations

import json
import re
import sqlite3
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any
from urllib.parse import unquote

from attrs import define, field

from costframe.core.errors import ParameterError, shown
from costframe.sources.keys import as_type, key_as_text
from costframe.sources.source import MOST_BYTES, KeyRefusedError
from costframe.sources.sql.database import Database, Question, Rows, quote_name, too_long
from costframe.sources.sql.sqlite_file import SQLiteFile
from costframe.sources.sql.sqlite_values import reader_of_declared

_MOST_INTEGER = 1 << 63
_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", re.ASCII)  # what SQLite takes for one


@define(eq=False)
class SQLite(Database):
    """One table or view of a file.

    Parameters
    ----------
    file : SQLiteFile
    table, key : str
    schema : str, optional
    """

    file: SQLiteFile
    table: str
    key: str
    schema: str | None

    columns: dict[str, str] = field(factory=dict, init=False)  # with their declared types, in capitals
    _statements: dict[Any, Any] = field(factory=dict, init=False)
    _source: str = field(default="", init=False)
    _is_indexed: bool = field(default=False, init=False)

    @classmethod
    def of(cls, url: str, table: str, key: str, schema: str | None, connections: int) -> SQLite:
        """Check an address."""
        _, slashes, path = url.partition(":///")
        path = path.partition("?")[0]
        if path.startswith("file:"):
            path = unquote(path.removeprefix("file:"))
        if not slashes or path in {"", ":memory:"}:
            raise ParameterError("url: expected the file of a SQLite database")
        return cls(SQLiteFile(path, connections), table, key, schema)

    async def open(self) -> None:
        """Read the table's columns."""
        for schema, table in self.names():
            listed = await self.file.call(partial(_columns, schema=schema or "main", table=table))
            if listed:
                self._source = ".".join(quote_name(part) for part in (schema, table) if part is not None)
                self.columns = {name: declared.upper() for name, declared in listed}
                return
        raise self.lacking()

    async def look_at_key(self) -> None:
        """Look whether SQLite finds a row by its key without reading all."""
        key = f"t.{quote_name(self.key)}"
        plan = f"EXPLAIN QUERY PLAN SELECT 1 FROM {self._source} AS t WHERE {key} = ?"  # noqa: S608 - quoted
        steps = await self.file.call(lambda raw: raw.execute(plan, [None]).fetchall())
        self._is_indexed = len(steps) == 1 and steps[0][-1].startswith("SEARCH")

    def spell(self, key: Any) -> list[Any]:
        """Return the values that a key stands for: SQLite may store each value of a column in a type of its own."""
        affinity = _affinity(self.columns[self.key])
        if isinstance(key, bytes) and affinity != "text":
            return [key]
        if isinstance(key, datetime):  # as libraries write it
            return list(dict.fromkeys([key.isoformat(" "), key.isoformat(), key.isoformat(" ", "microseconds")]))
        if isinstance(key, int | float) and affinity != "text":
            return [as_type(key, type(key), _MOST_INTEGER if isinstance(key, int) else None)]
        text = key_as_text(key)
        if affinity == "text" or not _NUMBER.fullmatch(text):
            return [text]
        if not affinity:  # texts and numbers may be there
            return [text, *_whole(text)]
        number = as_type(text, {"integer": int, "real": float}.get(affinity, Decimal))  # or 0007 would be 7
        if number == int(number) and abs(number) >= _MOST_INTEGER:
            raise KeyRefusedError(f"expected a whole number that SQLite holds, got {shown(key)}")
        return [text]

    async def select(self, question: Question) -> Rows:
        """Return the rows of a question's keys."""
        if len(question.keys) < 2 or all(type(key) in {int, str} for key in question.keys):
            statement, long = self.statement(question)
            return await self.file.call(lambda raw: self._rows(raw, question, statement, long))
        rows = []  # JSON has no bytes, and rounds doubles
        for number, key in enumerate(question.keys):
            places = [place for place in question.places if question.wants(number, place)]
            for _, values in await self.select(Question([key], places)):
                by_place = dict(zip(places, values, strict=True))
                rows.append((number, [by_place.get(place) for place in question.places]))
        return rows

    async def close(self) -> None:
        """Close the file."""
        await self.file.close()

    def _rows(self, raw: sqlite3.Connection, question: Question, statement: str, long: list[int]) -> Rows:
        if len(question.keys) == 1:
            given = [question.keys[0]]
        else:
            wanting = [[i for i, wants in enumerate(mask) if wants] for mask in question.masks]
            given = [*map(json.dumps, (question.keys, *wanting))]
        selected = raw.execute(statement, [*given, question.most])
        readers = [
            (j, reader)
            for j, place in enumerate(question.places)
            if (reader := reader_of_declared(self.columns[place]))
        ]
        if not (readers or long):
            return [(number, values) for number, *values in selected]
        places, rows = len(question.places), []
        for number, *values in selected:
            row = values[:places]
            for j, reader in readers:
                row[j] = reader(row[j])
            for j, flag in zip(long, values[places:], strict=True):
                if flag:
                    row[j] = too_long()
            rows.append((number, row))
        return rows

    def _make_statement(self, question: Question) -> tuple[str, list[int]]:
        """Return a statement, and the places that it has a flag for: whether the value is too long."""
        key = f"t.{quote_name(self.key)}"
        columns, flags, long = [], [], []
        for j, place in enumerate(question.places):
            column = f"t.{quote_name(place)}"
            conditions = []
            if place in question.mask_of:
                wanting = f"json_each(?{2 + question.mask_of[place]})"
                conditions.append(f"p.key IN (SELECT value FROM {wanting})")  # noqa: S608 - a number
            if _affinity(self.columns[place]) in {"text", ""}:
                flags.append(f"length(CAST({column} AS BLOB)) > {MOST_BYTES}")
                conditions.append(f"NOT ({flags[-1]})")
                long.append(j)
            columns.append(f"CASE WHEN {' AND '.join(conditions)} THEN {column} END" if conditions else column)
        is_single = len(question.keys) == 1
        listed = ", ".join(["0" if is_single else "p.key", *columns, *flags])
        if is_single:
            return f"SELECT {listed} FROM {self._source} AS t WHERE {key} = ? LIMIT ?", long  # noqa: S608 - quoted
        source, limit = self._source, f"LIMIT ?{2 + len(question.masks)}"
        if (
            not self._is_indexed
        ):  # look for all keys in one pass, and below a view; then SQLite says which key a row has
            needed = ", ".join(f"t.{quote_name(name)}" for name in {self.key: 0} | dict.fromkeys(question.places))
            among = "(SELECT value FROM json_each(?1))"
            source = f"(SELECT {needed} FROM {source} AS t WHERE {key} IN {among} {limit})"  # noqa: S608 - quoted
        origin = f"json_each(?1) AS p CROSS JOIN {source} AS t ON {key} = p.value"
        return f"SELECT {listed} FROM {origin} {limit}", long  # noqa: S608 - quoted


def _columns(raw: sqlite3.Connection, schema: str, table: str) -> list[tuple[str, str]]:
    """Return a table's columns with their declared types, generated ones too; none if it is not there."""
    if schema not in {name for _, name, _ in raw.execute("PRAGMA database_list")}:
        return []
    listed = raw.execute("SELECT name, type FROM pragma_table_xinfo(?, ?) WHERE hidden <> 1", (table, schema))
    return [(name, declared or "") for name, declared in listed]


def _affinity(declared: str) -> str:
    """Return the affinity of a declared type, in capitals, by SQLite's rules; an empty text of none."""
    for affinity, signs in (("integer", ("INT",)), ("text", ("CHAR", "CLOB", "TEXT")), ("", ("BLOB",)),
                            ("real", ("REAL", "FLOA", "DOUB"))):  # fmt: skip
        if any(sign in declared for sign in signs):
            return affinity
    return "numeric" if declared else ""


def _whole(text: str) -> list[int]:
    try:
        return [as_type(text, int, _MOST_INTEGER)]
    except KeyRefusedError:
        return []
