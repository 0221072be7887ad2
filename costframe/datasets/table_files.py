"""Files of tables: text, Parquet and Arrow, read whole or in blocks of rows, as a model reads them, and written."""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from pyarrow import csv, feather, ipc, parquet

from costframe.core.checks import as_path
from costframe.core.errors import (
    DataError,
    ParameterError,
    format_count,
    name_file,
    name_reading_errors,
    quote_names,
    shown,
)
from costframe.core.tables.columns import (
    MISSING_TEXTS,
    decode_column,
    feature_values,
    is_categorical,
    is_number,
    is_numeric,
    is_text,
    kind_of,
    null_texts,
    plain_column,
    text_values,
)
from costframe.core.tables.hashed_labels import HashedLabels
from costframe.core.tables.parquet_files import ParquetFiles, is_several
from costframe.datasets.dataset import SPLIT
from costframe.datasets.dialects import Dialect, find_dialect, with_points, without_points
from costframe.datasets.endings import ENDINGS, TEXTS, ending_of
from costframe.datasets.text_features import count_texts, refuse_texts

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from costframe.core.tables.categories import Categories, Labels

# Bytes to read at a time: as many as pyarrow does by itself; with many columns, as much as 64 headers.
_BLOCK, _LINES = 1 << 20, 64
_CELLS = 1 << 20  # of a block of Parquet
_EMPTY = ("",)
_KINDS = (pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("s"))  # of what may be written

_Columns = dict[str, Any]  # pyarrow.ChunkedArray or Array, by name


@frozen
class TableFile:
    """A file with a table; every error is one line that names it."""

    path: Path
    ending: str  # of the format, without that of a compression
    dialect: Dialect | None = None  # how a text is written; None for other formats
    files: ParquetFiles | None = None  # the files of a table in several, in a folder or of a pattern
    missing: tuple[str, ...] = ()  # further texts that stand for a missing value, beside those that always do

    @classmethod
    def open(cls, path: str | os.PathLike[str], missing: Iterable[str] = ()) -> TableFile:
        """Find the format of a file, by its ending and, of a text, by its content; several files are Parquet."""
        file, missing = as_path(path), check_missing(missing)
        ending = ending_of(file)
        if is_several(file) and ending in (None, ".parquet"):
            return cls(file, ".parquet", files=ParquetFiles.open(file), missing=missing)
        if ending is None:
            excel = "; save an Excel sheet as 'CSV UTF-8'" if file.suffix.lower().startswith(".xls") else ""
            raise DataError(f"{file}: expected a file that ends in {ENDINGS}{excel}")
        if file.is_dir():
            raise DataError(f"{file}: expected a file, got a directory")
        with name_reading_errors(file):
            file.open("rb").close()  # Python's error is clearer
            dialect = find_dialect(file, TEXTS[ending]) if ending in TEXTS else None
            return cls(file, ending, dialect, missing=missing)

    @property
    def note(self) -> str | None:
        """What is unusual about a text, in one line; None if nothing is."""
        said = None if self.dialect is None else self.dialect.describe(TEXTS[self.ending])
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
            if self.dialect is not None:
                with csv.open_csv(self.path, *self._how_written()) as reader:
                    return self._check_names(reader.schema.names)
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
            if self.dialect is not None:
                options = self._conversion(column_types=dict.fromkeys(names, pa.string()), include_columns=list(names))
                with csv.open_csv(self.path, *self._how_written(), options) as reader:
                    for batch in reader:
                        columns = dict(zip(names, batch.columns, strict=True))
                        yield {
                            name: null_texts(column, _EMPTY) if name in texts else self.as_numbers(column)
                            for name, column in columns.items()
                        }
                return
            rows = max(1, _CELLS // max(1, len(names)))
            for batch in self._batches(list(names), rows):
                columns = {name: plain_column(batch.column(name)) for name in names}
                yield {
                    name: each if name in texts else self._known(each, may_cast=True, must_find=False)
                    for name, each in columns.items()
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
        if self.dialect is not None:
            options = self._conversion(column_types=dict.fromkeys(texts, pa.string()))
            table = csv.read_csv(self.path, *self._how_written(), options)
            return pa.table(
                [self._of_commas(null_texts(column, _EMPTY)) if name not in texts else null_texts(column, _EMPTY)
                 for name, column in zip(table.column_names, table.columns, strict=True)],
                table.column_names,
            )  # fmt: skip
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

    def _how_written(self) -> tuple[Any, Any]:
        dialect = self.dialect or Dialect()
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
        decimal = "." if self.dialect is None else self.dialect.decimal
        return csv.ConvertOptions(decimal_point=decimal, null_values=[*MISSING_TEXTS, *self.missing], **more)

    def _known(self, column: Any, *, may_cast: bool, must_find: bool = True) -> Any:
        """Return a column without the texts in `missing`; one of numbers, which was of texts for their sake, as such.

        With `must_find`, columns without these texts stay texts; some blocks of a column may have none.
        """
        if not self.missing:
            return column
        if is_categorical(column.type):
            return null_texts(decode_column(column), self.missing).dictionary_encode()
        known = null_texts(column, self.missing)
        may_cast &= self.dialect is None and is_text(column.type)
        if may_cast and not (must_find and known.null_count == column.null_count):
            with contextlib.suppress(pa.ArrowInvalid):
                return pc.cast(null_texts(known, MISSING_TEXTS), pa.float64())
        return known

    def as_numbers(self, column: Any) -> Any:
        """Return a column of a text file as numbers, truth values or dates, or as its texts if some are none."""
        if self.dialect is None:
            return column
        column = null_texts(column, self.missing)
        texts = null_texts(column, MISSING_TEXTS)
        if texts.null_count == len(texts):
            return pa.nulls(len(texts))
        texts, kinds = pc.utf8_trim_whitespace(texts), list(_KINDS)
        if self.dialect.dotted:
            undotted = without_points(texts)
            texts, kinds = (texts, kinds[2:]) if undotted is None else (undotted, kinds)  # no numbers
        if self.dialect.decimal == ",":
            texts = pc.replace_substring(texts, ",", ".")
        for kind in kinds:
            with contextlib.suppress(pa.ArrowInvalid):
                return pc.cast(texts, kind)
        return with_points(column) if self.dialect.decimal == "," else column

    def _of_commas(self, column: Any) -> Any:
        """Return a column that was read as texts for its commas, or its points for thousands, as numbers if it may."""
        if self.dialect is None or self.dialect.decimal != "," or not is_text(column.type):
            return column
        return self.as_numbers(column) if self.dialect.dotted else with_points(column)

    def as_written(self, column: Any) -> Any:
        """Return a column of a text file as numbers where each is written as it is printed, else as its texts.

        007, 1E5, 1.50 and a number of more digits than fit are names: as numbers, two of them might be one.
        """
        if self.dialect is None:
            return column
        column = null_texts(column, self.missing)
        sign, numbers = self.dialect.decimal, self.as_numbers(texts := column.unique())
        pairs = zip(texts.to_pylist(), numbers.to_pylist(), strict=True)
        plain = all(text.replace(sign, ".").lower() == str(value).lower() for text, value in pairs if value is not None)
        return self.as_numbers(column) if plain else column

    def _check_names(self, names: Sequence[str]) -> list[str]:
        # An index that pandas wrote is not a column.
        kept = [name for name in names if not re.fullmatch(r"__index_level_\d+__", name)]
        seen = set[str]()
        for place, name in enumerate(kept):
            if not name.strip():
                raise DataError(f"{self.path}: column {place + 1} of {len(kept)} has no name")
            if name in seen:
                raise DataError(f"{self.path}: two columns are named {shown(name)}")
            seen.add(name)
        return kept


def check_missing(missing: Iterable[str]) -> tuple[str, ...]:
    """Return texts that stand for missing values; refuse other values, and one text in place of a list."""
    given = (missing,) if isinstance(missing, str) else tuple(missing)
    if isinstance(missing, str) or not all(isinstance(text, str) for text in given):
        raise ParameterError(f"missing: expected a list of texts, got {shown(missing)}")
    return given


_SEPARATORS = {".csv": ",", ".tsv": "\t"}
WRITABLE = (*_SEPARATORS, ".parquet")
"""Endings of the files that can be written."""


@contextlib.contextmanager
def table_writer(sink: IO[bytes], ending: str) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Yield a function that writes columns, arrays by name, below those before; `ending` is one of `WRITABLE`.

    A column that the format cannot hold, or that changes its type, is a `DataError`.
    """
    with contextlib.ExitStack() as open_until_the_end:
        writer: Any = None

        def write(columns: Mapping[str, Any]) -> None:
            nonlocal writer
            try:
                batch = pa.table(dict(columns))
                if writer is None:
                    writer = open_until_the_end.enter_context(_open(sink, ending, batch.schema))
                writer.write_table(batch)
            except (pa.ArrowException, ValueError) as error:
                check_writable(columns, ending)
                raise DataError(f"cannot be written as {ending[1:]}: {' '.join(str(error).split()):.200}") from error

        yield write


def check_writable(columns: Mapping[str, Any], ending: str) -> None:
    """Refuse columns that a format cannot hold, such as lists in CSV."""
    for name, column in columns.items():
        table = pa.table({name: column}).slice(0, 1)
        try:
            with _open(io.BytesIO(), ending, table.schema) as writer:
                writer.write_table(table)
        except (pa.ArrowException, ValueError) as error:
            kind = kind_of(table.schema.types[0])
            raise DataError(f"column {name!r}: {kind} cannot be written as {ending[1:]}; cast it to texts") from error


def _open(sink: IO[bytes], ending: str, schema: Any) -> Any:
    if ending == ".parquet":
        return parquet.ParquetWriter(sink, schema)
    return csv.CSVWriter(sink, schema, write_options=csv.WriteOptions(delimiter=_SEPARATORS[ending]))


@frozen
class ModelRows:
    """The rows of a file, or of one part of it, as a model reads them."""

    file: TableFile
    feature_names: Sequence[str]  # of the model, in its order; the file may have more, in any order
    part: str | None = None  # rows with this text in the column ``split``; None for all
    categories: Categories = field(factory=dict)  # labels, which become their positions, or their hashes
    reader: str = "the model"  # name of the model in errors
    keep: Sequence[str] = ()  # further columns to copy
    used: Collection[str] | None = None  # features that the model reads: the file may lack others; by default all
    # called at the end with a text on each column with labels that the model does not know, which are missing
    # to it
    remark: Callable[[str], None] = lambda _: None

    def blocks(self) -> Iterator[tuple[NDArray[np.float64], dict[str, Any]]]:
        """Yield features, float64 (rows, d), and columns to copy, pyarrow.Array by name, some rows at a time.

        A `DataError` names a column that is missing or does not fit, or says that no row is in the part.
        """
        path, names, found = self.file.path, self._check_names(), 0
        unknown: dict[str, tuple[int, str]] = {}
        place = {name: f for f, name in enumerate(self.feature_names) if name in names}
        beside: dict[str, Counter[str]] = {name: Counter() for name in place}
        texts = {name for name, labels in self.categories.items() if _are_texts(labels)}
        copied = set(self.keep)
        for columns in self.file.blocks(names, texts | copied | {SPLIT}):
            with name_file(path):
                read = {name: self._as_read(columns[name], name, is_copy=name in copied - texts) for name in beside}
                for name in read.keys() - self.categories.keys():
                    beside[name] += count_texts(read[name], name)
                if any(beside.values()):  # count on, for the error at the end
                    continue
                rows = len(columns[names[0]])
                inside = np.ones(rows, np.bool_)
                if self.part is not None:
                    inside = np.asarray(text_values(columns[SPLIT], SPLIT) == self.part)
                X = np.full((rows, len(self.feature_names)), np.nan)
                for name, column in read.items():
                    f = place[name]
                    X[:, f] = feature_values(column, name, self.categories.get(name))
                    if name in self.categories:
                        _count_unknown(unknown, name, column, np.isnan(X[:, f]) & inside)
            found += int(inside.sum())
            yield X[inside], {name: decode_column(columns[name].filter(pa.array(inside)), name) for name in self.keep}
        with name_file(path):
            refuse_texts(beside)
        for name, (count, example) in unknown.items():
            self.remark(
                f"{path.name}: column {name!r}: {format_count(count, 'label')} such as {shown(example)} that "
                f"{self.reader} does not know, and takes for missing"
            )
        if not found:
            what = "expected rows, got none" if self.part is None else f"no row is in the part {self.part!r}"
            raise DataError(f"{path}: {what}")

    def _as_read(self, column: Any, name: str, *, is_copy: bool) -> Any:
        """Return a column as the model reads it: texts with hashes as written, unless they are fractions or truths."""
        column = null_texts(column, self.file.missing)
        is_hashed = isinstance(self.categories.get(name), HashedLabels)
        if not (is_hashed or is_copy):
            return column
        kind = (numbers := self.file.as_numbers(column)).type
        return column if is_hashed and (pa.types.is_integer(kind) or not is_numeric(kind)) else numbers

    def _check_names(self) -> list[str]:
        """Return the columns to read, at least one; refuse what the file lacks."""
        path, known = self.file.path, self.file.names()
        lacked = [name for name in self.feature_names if name not in known]
        if missing := [name for name in lacked if self.used is None or name in self.used]:
            has = f"the table has {quote_names(known)}"
            raise DataError(f"{path}: no column {quote_names(missing)}, which {self.reader} reads; {has}")
        if missing := [name for name in self.keep if name not in known]:
            raise DataError(f"{path}: no column {quote_names(missing)} to copy; the table has {quote_names(known)}")
        if self.part is not None and SPLIT not in known:
            raise DataError(f"{path}: no column {SPLIT!r} to find the part {self.part!r} in")
        wanted = [
            *(name for name in self.feature_names if name not in lacked),
            *self.keep,
            *([SPLIT] if self.part is not None else []),
        ]
        return list(dict.fromkeys(wanted)) or known[:1]


def _count_unknown(unknown: dict[str, tuple[int, str]], name: str, column: Any, missing: NDArray[np.bool_]) -> None:
    """Add to the number of a column's labels that are missing to a model though not in the file, with the first one."""
    strange = null_texts(decode_column(column, name), MISSING_TEXTS).filter(pa.array(missing)).drop_null()
    if len(strange):
        count, example = unknown.get(name, (0, str(strange[0])))
        unknown[name] = count + len(strange), example


def _are_texts(labels: Labels) -> bool:
    """Return whether some labels, such as 007, true or NA, would be read as something else than texts."""
    if not isinstance(labels, tuple):
        return isinstance(labels, HashedLabels)
    others = {*MISSING_TEXTS, "true", "false"}
    return any(is_number(label) or label[:1].isdigit() or {label, label.lower()} & others for label in labels)
