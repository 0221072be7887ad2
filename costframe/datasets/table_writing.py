"""Writing of tables, in blocks: CSV, TSV and Parquet."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from costframe.core.cells import FORMULA, guard
from costframe.core.errors import DataError
from costframe.core.tables.columns import decode_column, is_text, map_texts, name_type

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
WRITABLE = (*_SEPARATORS, ".parquet")
"""Endings of the files that can be written."""


@contextlib.contextmanager
def table_writer(sink: IO[bytes], ending: str) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Yield a function that writes columns, arrays by name, below those before; `ending` is one of `WRITABLE`.

    A column that the format cannot hold, or that changes its type, is a `DataError`. Texts and names in CSV are as
    `guard` has them, so that no spreadsheet runs them.
    """
    with contextlib.ExitStack() as open_until_the_end:
        writer: Any = None

        def write(columns: Mapping[str, Any]) -> None:
            nonlocal writer
            try:
                batch = pa.table(dict(columns) if ending == ".parquet" else _guard_columns(columns))
                if writer is None:
                    writer = open_until_the_end.enter_context(_open(sink, ending, batch.schema))
                writer.write_table(batch)
            except (pa.ArrowException, ValueError) as error:
                check_writable(columns, ending)
                raise DataError(f"cannot be written as {ending[1:]}: {' '.join(str(error).split()):.200}") from error

        yield write


def _guard_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns with texts, in cells and names, as they are in a CSV file."""
    table = pa.table(dict(columns))
    return {guard(name): _guard_texts(table.column(name)) for name in table.column_names}


def _guard_texts(column: Any) -> Any:
    texts = decode_column(column)
    if not is_text(texts.type) or not pc.any(pc.match_substring_regex(texts, FORMULA)).as_py():
        return column
    return map_texts(texts, guard)


def check_writable(columns: Mapping[str, Any], ending: str) -> None:
    """Refuse columns that a format cannot hold, such as lists in CSV."""
    for name, column in columns.items():
        table = pa.table({name: column}).slice(0, 1)
        try:
            with _open(io.BytesIO(), ending, table.schema) as writer:
                writer.write_table(table)
        except (pa.ArrowException, ValueError) as error:
            kind = name_type(table.schema.types[0])
            raise DataError(f"column {name!r}: {kind} cannot be written as {ending[1:]}; cast it to texts") from error


def _open(sink: IO[bytes], ending: str, schema: Any) -> Any:
    if ending == ".parquet":
        return parquet.ParquetWriter(sink, schema)
    return csv.CSVWriter(sink, schema, write_options=csv.WriteOptions(delimiter=_SEPARATORS[ending]))
