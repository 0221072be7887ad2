"""Files of tables: text, Parquet and Arrow, read whole or in blocks of rows."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from pyarrow import feather, ipc, parquet

from costframe.core.checks import as_items, as_path
from costframe.core.errors import DataError, ParameterError, name_reading_errors, shown
from costframe.core.numerals import Spelling
from costframe.core.piped import STANDARD_INPUT, STANDARD_STREAM, copy_stream, is_piped
from costframe.core.tables.columns import (
    MISSING_TEXTS,
    decode_column,
    is_categorical,
    is_text,
    null_texts,
    plain_column,
)
from costframe.core.tables.parquet_files import ParquetFiles
from costframe.core.tables.parquet_paths import is_several
from costframe.datasets.endings import ENDINGS, TEXTS, ending_of
from costframe.datasets.text_features import TYPED
from costframe.datasets.text_tables import TextTable

_CELLS = 1 << 20  # of a block of Parquet
_Columns = dict[str, Any]  # pyarrow.ChunkedArray or Array, by name


@frozen
class TableFile:
    """A file with a table; every error is one line that names it."""

    path: Path
    ending: str  # of the format, without that of a compression
    text: TextTable | None = None  # its text; None for other formats
    files: ParquetFiles | None = None  # the files of a table in several, in a folder or of a pattern
    missing: tuple[str, ...] = ()  # further texts that stand for a missing value, beside those that always do

    @classmethod
    def open(cls, path: str | os.PathLike[str], missing: Iterable[str] = (), decimal: str | None = None) -> TableFile:
        """Find the format of a file, by its ending and, of a text, by its content; several files are Parquet.

        Numbers of a text that it does not tell how to read have this decimal sign, that of the training table.

        Standard input, whose path is -, and other streams are texts, CSV if their ending says nothing else.
        """
        file, missing = as_path(path), check_missing(missing)
        ending = ending_of(file)
        if is_piped(file):
            return cls._open_stream(file, ending or ".csv", missing, decimal)
        if is_several(file) and ending in (None, ".parquet"):
            return cls(file, ".parquet", files=ParquetFiles.open(file), missing=missing)
        if ending is None:
            excel = "; save an Excel sheet as 'CSV UTF-8'" if file.suffix.lower().startswith(".xls") else ""
            raise DataError(f"{file}: expected a file that ends in {ENDINGS}{excel}")
        if file.is_dir():
            raise DataError(f"{file}: expected a file, got a directory")
        with name_reading_errors(file):
            file.open("rb").close()  # Python's error is clearer
            text = TextTable.open(file, TEXTS[ending], missing, decimal) if ending in TEXTS else None
            return cls(file, ending, text, missing=missing)

    @classmethod
    def _open_stream(cls, stream: Path, ending: str, missing: tuple[str, ...], decimal: str | None) -> TableFile:
        path = STANDARD_INPUT if str(stream) == STANDARD_STREAM else stream
        if ending not in TEXTS:
            raise DataError(f"{path}: expected a table as text from a stream, got a file that ends in {ending}")
        with name_reading_errors(path):
            copy = copy_stream(stream, "".join(stream.suffixes[-2:]) if ending_of(stream) else ending)
            text = TextTable.open(copy, TEXTS[ending], missing, decimal)
            return cls(path, ending, text, missing=missing)

    @property
    def spelling(self) -> Spelling:
        """How numbers that are texts are spelled."""
        return TYPED if self.text is None else self.text.dialect.spelling

    @property
    def codes(self) -> tuple[str, ...]:
        """Columns of a text whose whole numbers may be codes, as 007 is."""
        return () if self.text is None else self.text.dialect.codes

    @property
    def note(self) -> str | None:
        """What is unusual about a text, in one line; None if nothing is."""
        said = None if self.text is None else self.text.dialect.describe(TEXTS[self.ending])
        return None if said is None else f"{self.path.name}: {said}"

    def read(self, columns: Sequence[str] | None = None, *, texts: Collection[str] = ()) -> _Columns:
        """Read columns, by name in order, all by default: at least one column and row; names differ and are not empty.

        Some columns alone are of Parquet files. Of a text file, those in `texts` hold what is written, each letter.
        """
        with name_reading_errors(self.path):
            table = self._read(texts) if columns is None else self.parquet().dataset.to_table(columns=list(columns))
        names = self._check_names(table.column_names)
        if not names or not table.num_rows:
            raise DataError(f"{self.path}: expected rows, got an empty table")
        return {
            name: self._known(plain_column(column), may_cast=name not in texts)
            for name, column in zip(table.column_names, table.columns, strict=True)
            if name in names
        }

    def parquet(self) -> ParquetFiles:
        """Return the Parquet file or files, to be read by row groups."""
        return ParquetFiles.open(self.path) if self.files is None else self.files

    def names(self) -> list[str]:
        """Return the names of the columns, without reading them all."""
        with name_reading_errors(self.path):
            if self.text is not None:
                return self._check_names(self.text.names())
            if self.files is not None:
                return self._check_names(self.files.schema.names)
            if self.ending == ".parquet":
                return self._check_names(parquet.read_schema(self.path).names)
            return self._check_names(self._read().column_names)

    def blocks(self, names: Sequence[str], texts: Collection[str] = ()) -> Iterator[_Columns]:
        """Read the columns `names` block by block, some rows at a time, in their order.

        Columns of a text file hold what is written if they are in `texts`, else numbers; where some are none, texts.
        Columns in `texts` keep the texts in `missing`.
        """
        with name_reading_errors(self.path):
            if self.text is not None:
                yield from self.text.blocks(names, texts)
                return
            rows = max(1, _CELLS // max(1, len(names)))
            for batch in self._batches(list(names), rows):
                columns = {name: plain_column(batch.column(name)) for name in names}
                yield {
                    name: column if name in texts else self._known(column, may_cast=True, must_find=False)
                    for name, column in columns.items()
                }

    def _batches(self, names: list[str], rows: int) -> Iterator[Any]:
        """Yield batches of at most some rows of a Parquet or Arrow file."""
        if self.ending != ".parquet":
            yield from self._read().select(names).to_batches(rows)
            return
        if self.files is not None:
            for part in self.files.groups:
                yield from part.batches(names, rows)
            return
        with parquet.ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):  # one by one: of several, pyarrow keeps all in memory
                yield from file.iter_batches(rows, row_groups=[group], columns=names)

    def _read(self, texts: Collection[str] = ()) -> Any:
        if self.text is not None:
            return self.text.read(texts, self._check_names)
        if self.files is not None:
            return self.files.dataset.to_table()
        if self.ending == ".parquet":
            return parquet.ParquetFile(self.path).read()
        with self.path.open("rb") as stream:
            begin = stream.read(6)
        if begin.startswith((b"ARROW1", b"FEA1")):
            return feather.read_table(self.path)
        with pa.memory_map(str(self.path)) as source:
            return ipc.open_stream(source).read_all()

    def _known(self, column: Any, *, may_cast: bool, must_find: bool = True) -> Any:
        """Return a column without the texts in `missing`; one of numbers, which was of texts for their sake, as such.

        With `must_find`, columns without these texts stay texts; some blocks of a column may have none.
        """
        if not self.missing:
            return column
        if is_categorical(column.type):
            return null_texts(decode_column(column), self.missing).dictionary_encode()
        known = null_texts(column, self.missing)
        may_cast &= self.text is None and is_text(column.type)
        if may_cast and not (must_find and known.null_count == column.null_count):
            with contextlib.suppress(pa.ArrowInvalid):
                return pc.cast(null_texts(known, MISSING_TEXTS), pa.float64())
        return known

    def as_numbers(self, column: Any) -> Any:
        """Return a column of a text file as numbers, truth values or dates, or as its texts if some are none."""
        return column if self.text is None else self.text.as_numbers(column)

    def as_written(self, column: Any) -> Any:
        """Return a column of a text file as numbers where each is written as it is printed, else as its texts."""
        return column if self.text is None else self.text.as_written(column)

    def _check_names(self, names: Sequence[str]) -> list[str]:
        # An index that pandas wrote is not a column.
        columns = [name for name in names if not re.fullmatch(r"__index_level_\d+__", name)]
        seen = set[str]()
        for place, name in enumerate(columns):
            if not name.strip():
                raise DataError(f"{self.path}: column {place + 1} of {len(columns)} has no name")
            if name in seen:
                raise DataError(f"{self.path}: two columns are named {shown(name)}")
            seen.add(name)
        return columns


def check_missing(missing: Iterable[str]) -> tuple[str, ...]:
    """Return texts that stand for missing values; refuse other values, and one text in place of a list."""
    given = as_items(missing, ordered=False)
    if given is None or not all(isinstance(text, str) for text in given):
        raise ParameterError(f"missing: expected a list of texts, got {shown(missing)}")
    return given
