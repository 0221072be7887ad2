"""Tables written as text, read whole or in blocks: cells are numbers by the spelling of the file, or as written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from pyarrow import csv

from costframe.core.cells import FORMULA, unguard
from costframe.core.errors import DataError, shown
from costframe.core.numerals import Evidence, Spelling
from costframe.core.tables.columns import MISSING_TEXTS, is_text, map_texts, null_texts
from costframe.datasets.dialects import Dialect, find_dialect

# Bytes to read at a time: as many as pyarrow does by itself; with many columns, as much as 64 headers.
_BLOCK, _LINES = 1 << 20, 64
_EMPTY = ("",)
_NEVER = "\x01"  # a decimal sign that no number has
_KINDS = (pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("s"))  # of what may be written
_LIKE_NUMBERS = r"^\s*[+\-\x{2212}]?[0-9.,][0-9.,' \x{A0}\x{2007}\x{2009}\x{2019}\x{202F}]*(?:[eE][+-]?[0-9]+)?\s*$"
_FIRST = 32  # rows that mostly tell a column of texts from one of numbers


@frozen
class TextTable:
    """A text with a table."""

    path: Path
    dialect: Dialect
    missing: tuple[str, ...] = ()  # further texts that stand for a missing value, beside those that always do

    @classmethod
    def open(cls, path: Path, usual: str, missing: tuple[str, ...] = (), decimal: str | None = None) -> TextTable:
        """Find how a text is written, by all its rows where the first ones do not tell how numbers are spelled.

        Where they do not tell either, `decimal` is the sign of the training table.
        """
        table = cls(path, find_dialect(path, usual), missing)
        spelling = table.dialect.spelling
        if not table.dialect.whole:
            with csv.open_csv(path, *table._options(), table._texts_of(table.names())) as reader:
                spelling = find_spelling_of(reader, missing, table.dialect.separator)
        return evolve(table, dialect=evolve(table.dialect, spelling=spelling.cleared_by(decimal), whole=True))

    def names(self) -> list[str]:
        """Return the names of the columns."""
        with csv.open_csv(self.path, *self._options()) as reader:
            return list(reader.schema.names)[: -1 if self.dialect.closed else None]

    def read(self, texts: Collection[str], check: Callable[[Sequence[str]], object]) -> Any:
        """Return a pyarrow table, with what is written in the columns `texts`; `check` takes the names first."""
        options = self._conversion(column_types=dict.fromkeys(texts, pa.string()))
        table = csv.read_csv(self.path, *self._options(), options)
        check(table.column_names[: -1 if self.dialect.closed else None])
        columns = self._written(dict(zip(table.column_names, table.columns, strict=True)))
        return pa.table({name: column if name in texts else self._spelled(column) for name, column in columns.items()})

    def blocks(self, names: Sequence[str], texts: Collection[str]) -> Iterator[dict[str, Any]]:
        """Yield columns by name, some rows at a time, with what is written in the columns `texts`."""
        every = [*names, *(_EMPTY if self.dialect.closed else ())]
        with csv.open_csv(self.path, *self._options(), self._texts_of(every)) as reader:
            for batch in reader:
                columns = self._written({name: batch.column(name) for name in every})
                yield {name: column if name in texts else self.as_numbers(column) for name, column in columns.items()}

    def _options(self) -> tuple[Any, Any]:
        dialect = self.dialect
        names = {"column_names": list(dialect.names), "skip_rows_after_names": 1} if dialect.names else {}
        return (
            csv.ReadOptions(
                block_size=max(_BLOCK, _LINES * dialect.header),
                encoding=dialect.encoding,
                skip_rows=dialect.skip,
                **names,
            ),
            csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True),
        )

    def _conversion(self, **more: Any) -> Any:
        spelling = self.dialect.spelling
        # A sign that may be that of decimals makes texts, which have one reader.
        decimal = _NEVER if spelling.decimal in spelling.unclear else spelling.decimal
        return csv.ConvertOptions(decimal_point=decimal, null_values=[*MISSING_TEXTS, *self.missing], **more)

    def _texts_of(self, names: Sequence[str]) -> Any:
        """Return options that read some columns, as texts."""
        return self._conversion(column_types=dict.fromkeys(names, pa.string()), include_columns=list(names))

    def _written(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Return columns as they were before they were written, with nothing for empty cells or behind the rows."""
        texts = {name: unguard_texts(null_texts(column, _EMPTY)) for name, column in columns.items()}
        if self.dialect.closed:
            behind = texts.pop("")
            if behind.null_count < len(behind):
                cell = shown(behind.drop_null()[0].as_py())
                raise DataError(f"rows end with a separator, but some have a further cell there, such as {cell}")
        return texts

    def as_numbers(self, column: Any) -> Any:
        """Return a column of a text file as numbers, truth values or dates, or as its texts if some are none."""
        column = null_texts(column, self.missing)
        texts = null_texts(column, MISSING_TEXTS)
        if texts.null_count == len(texts):
            return pa.nulls(len(texts))
        texts, kinds = pc.utf8_trim_whitespace(texts), list(_KINDS)
        spelling = self.dialect.spelling
        if spelling.decimal in spelling.unclear or (spelling.decimal == "," and _has_points(texts)):
            kinds.remove(pa.float64())
        elif spelling.decimal == ",":
            texts = pc.replace_substring(texts, ",", ".")
        for kind in kinds:
            with contextlib.suppress(pa.ArrowInvalid):
                return pc.cast(texts, kind)
        return self._spelled(column)

    def _spelled(self, column: Any) -> Any:
        """Return a column of texts as numbers if all are some, in the spelling of the file."""
        numbers = spelled_numbers(column, self.dialect.spelling, (*MISSING_TEXTS, *self.missing))
        return column if numbers is None else numbers

    def as_written(self, column: Any) -> Any:
        """Return a column of a text file as numbers where each is written as it is printed, else as its texts.

        007, 1E5, 1.50 and a number of more digits than fit are names: as numbers, two of them might be one.
        """
        column = null_texts(column, self.missing)
        sign, numbers = self.dialect.spelling.decimal, self.as_numbers(texts := column.unique())
        pairs = zip(texts.to_pylist(), numbers.to_pylist(), strict=True)
        plain = all(text.replace(sign, ".").lower() == str(value).lower() for text, value in pairs if value is not None)
        return self.as_numbers(column) if plain else column


def _has_points(texts: Any) -> bool:
    return bool(pc.any(pc.match_substring(texts, ".")).as_py())


def spelled_numbers(column: Any, spelling: Spelling, missing: Sequence[str]) -> Any:
    """Return a pyarrow column of texts as numbers, int64 or float64; None if some are none, or it has no texts."""
    if not is_text(column.type):
        return None
    first = null_texts(column[:_FIRST], missing).drop_null().to_pylist()
    if any(spelling.plain(text) is None for text in first):
        return None
    texts = null_texts(column, missing)
    distinct = texts.unique()
    numerals: list[str | None] = []
    for text in distinct.to_pylist():
        plain = None if text is None else spelling.plain(text)
        if plain is None and text is not None:
            return None
        numerals.append(plain)
    return pc.take(_as_numbers(numerals), pc.index_in(texts, distinct))


def _as_numbers(texts: list[str | None]) -> Any:
    """Return numbers as Python spells them, or None, as int64 if all are whole, else as float64."""
    values = [None if text is None else float(text) for text in texts]
    if all(text is None or text.lstrip("+-").isdigit() for text in texts):
        whole = [None if text is None else int(text) for text in texts]
        if all(value is None or -(2**63) <= value < 2**63 for value in whole):
            return pa.array(whole, pa.int64())
    return pa.array(values, pa.float64())


def find_spelling_of(batches: Iterable[Any], missing: Sequence[str], separator: str) -> Spelling:
    """Return the spelling of the numbers in batches of columns of texts, read until it is clear."""
    evidence = Evidence()
    for batch in batches:
        for column in batch.columns:
            texts = null_texts(column, (*MISSING_TEXTS, *missing)).drop_null()
            is_like_number = pc.match_substring_regex(texts, _LIKE_NUMBERS)
            if 2 * (pc.sum(is_like_number).as_py() or 0) >= len(texts) > 0:
                signed = pc.and_(is_like_number, pc.match_substring_regex(texts, "[^0-9]"))
                evidence.add(texts.filter(signed).unique().to_pylist())
        if not evidence.spelling(separator).unclear:
            break
    return evidence.spelling(separator)


def unguard_texts(column: Any) -> Any:
    """Return a column whose texts are as they were before `guard` wrote them; others are unchanged."""
    if not is_text(column.type):
        return column
    if not pc.any(marked := pc.starts_with(column, "'")).as_py():
        return column
    if not pc.any(pc.match_substring_regex(column.filter(marked), FORMULA)).as_py():
        return column
    return map_texts(column, unguard)
