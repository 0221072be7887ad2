"""Parquet files that hold one table, read row group by row group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen
from pyarrow import dataset as datasets
from pyarrow import parquet

from costframe.core.arrays import I8
from costframe.core.errors import DataError, name_reading_errors, quote_names
from costframe.core.tables.columns import is_categorical, is_numeric, is_text, plain_type
from costframe.core.tables.parquet_paths import as_absolute, find_files, find_remote_files, is_address, plain_parts


class RowGroup(NamedTuple):
    """Consecutive rows of a file, which are in memory together when they are read."""

    path: str
    fragment: Any  # pyarrow.dataset.ParquetFileFragment
    schema: Any  # pyarrow.Schema, of the whole table
    rows: int

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield batches, pyarrow.RecordBatch, of these columns and at most some rows; errors name the file."""
        with name_reading_errors(self.path):
            yield from self.fragment.to_batches(schema=self.schema, columns=list(columns), batch_size=rows)


@frozen
class _Paths:
    """Parquet files to open on whichever machine reads them."""

    name: str  # of the table, in errors
    paths: tuple[str, ...]  # absolute ones
    folder: str  # names of folders below it, such as ``year=2024``, are columns
    system: Any
    schema: Any = None

    def open(self) -> Any:
        """Return the pyarrow.dataset.Dataset of the files."""
        how = {"partitioning": "hive", "partition_base_dir": self.folder, "filesystem": self.system}
        with name_reading_errors(self.name):
            return datasets.dataset(list(self.paths), self.schema, format="parquet", **how)


@frozen(eq=False)
class ParquetFiles:
    """The files of a table, in order. A copy for another process opens them itself."""

    _paths: _Paths

    @cached_property
    def dataset(self) -> Any:
        """The files as a pyarrow.dataset.Dataset."""
        return self._paths.open()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._paths,)

    @classmethod
    def open(cls, path: Path) -> ParquetFiles:
        """Open a file, or those in a folder or that match a pattern; see `find_files`.

        They have the same columns in any order, with numbers of any types. Names of folders below, such as
        ``year=2024``, are columns too. A path ``s3://bucket/folder``, or of another file system of pyarrow, is an
        address.
        """
        folder: PurePath
        paths: Sequence[PurePath]
        if is_address(path):
            system, folder, paths = find_remote_files(path)
        else:
            system, paths = None, (path,) if path.is_file() else find_files(path)
            folder = path if path.exists() else Path(*plain_parts(path.parts))
        schemas: list[Any] = []
        for file in paths:
            with name_reading_errors(str(file)):
                schemas.append(parquet.read_schema(as_absolute(file), filesystem=system))
            if set(schemas[-1].names) != set(schemas[0].names):
                raise DataError(
                    f"{file}: expected the columns of {paths[0].name}, {quote_names(schemas[0].names)}, "
                    f"got {quote_names(schemas[-1].names)}"
                )
        files = _Paths(str(path), tuple(map(as_absolute, paths)), as_absolute(folder), system)
        with name_reading_errors(path):
            types = pa.unify_schemas(_plain_schemas(schemas), promote_options="permissive")
            known = files.open().schema
            more = [known.field(name) for name in known.names if name not in set(types.names)]
        return cls(evolve(files, schema=pa.schema([*types, *more])))

    @cached_property
    def schema(self) -> Any:
        """Names and plain types of the columns, pyarrow.Schema; rows are read as these."""
        (schema,) = _plain_schemas([self.dataset.schema])
        return schema

    def type_of(self, column: str) -> str:
        """Return the type of a column, as frames name it: "category", "string", or "float64" for all numbers."""
        kind = self.schema.field(column).type
        return "category" if is_categorical(kind) else "float64" if is_numeric(kind) else "string"

    @cached_property
    def groups(self) -> tuple[RowGroup, ...]:
        """The row groups of all files."""
        groups: list[RowGroup] = []
        for fragment in self.dataset.get_fragments():
            with name_reading_errors(fragment.path):
                parts = fragment.split_by_row_group()
                groups += [RowGroup(fragment.path, part, self.schema, part.row_groups[0].num_rows) for part in parts]
        return tuple(groups)

    @cached_property
    def first(self) -> I8:
        """The number of the first row of each row group, and the number of all rows: int64 (groups + 1,)."""
        return np.cumsum([0, *(group.rows for group in self.groups)])


def _plain_schemas(schemas: Sequence[Any]) -> list[Any]:
    """Return schemas with plain types; a column that not all files store in a dictionary is one of its values."""
    stored = [{column.name for column in schema if is_categorical(plain_type(column.type))} for schema in schemas]
    everywhere = set.intersection(*stored)

    def plain(name: str, kind: Any) -> Any:
        kind = plain_type(kind)
        if not is_categorical(kind):
            return kind
        values = pa.large_string() if is_text(kind.value_type) else kind.value_type
        return pa.dictionary(pa.int32(), values) if name in everywhere else values

    return [pa.schema([(column.name, plain(column.name, column.type)) for column in schema]) for schema in schemas]
