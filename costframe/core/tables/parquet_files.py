"""Parquet files that hold one table, read row group by row group."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from glob import glob, has_magic
from itertools import takewhile
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen
from pyarrow import dataset as datasets
from pyarrow import fs, parquet

from costframe.core.arrays import I8
from costframe.core.errors import DataError, name_reading_errors, quote_names, shown
from costframe.core.tables.columns import is_categorical, is_numeric, is_text, plain_type

ENDING = ".parquet"
_ADDRESS = re.compile(r"(s3|gs|gcs|hdfs|viewfs|abfss?|file):/")  # a `Path` keeps one slash


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
            folder = path if path.exists() else Path(*_plain(path.parts))
        schemas: list[Any] = []
        for each in paths:
            with name_reading_errors(str(each)):
                schemas.append(parquet.read_schema(_absolute(each), filesystem=system))
            if set(schemas[-1].names) != set(schemas[0].names):
                raise DataError(
                    f"{each}: expected the columns of {paths[0].name}, {quote_names(schemas[0].names)}, "
                    f"got {quote_names(schemas[-1].names)}"
                )
        found = _Paths(str(path), tuple(map(_absolute, paths)), _absolute(folder), system)
        with name_reading_errors(path):
            types = pa.unify_schemas(_plain_schemas(schemas), promote_options="permissive")
            known = found.open().schema
            more = [known.field(name) for name in known.names if name not in set(types.names)]
        return cls(evolve(found, schema=pa.schema([*types, *more])))

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
        found: list[RowGroup] = []
        for fragment in self.dataset.get_fragments():
            with name_reading_errors(fragment.path):
                parts = fragment.split_by_row_group()
                found += [RowGroup(fragment.path, part, self.schema, part.row_groups[0].num_rows) for part in parts]
        return tuple(found)

    @cached_property
    def first(self) -> I8:
        """The number of the first row of each row group, and the number of all rows: int64 (groups + 1,)."""
        return np.cumsum([0, *(group.rows for group in self.groups)])


def _plain_schemas(schemas: Sequence[Any]) -> list[Any]:
    """Return schemas with plain types; a column that not all files store in a dictionary is one of its values."""
    stored = [{each.name for each in schema if is_categorical(plain_type(each.type))} for schema in schemas]
    everywhere = set.intersection(*stored)

    def plain(name: str, kind: Any) -> Any:
        kind = plain_type(kind)
        if not is_categorical(kind):
            return kind
        values = pa.large_string() if is_text(kind.value_type) else kind.value_type
        return pa.dictionary(pa.int32(), values) if name in everywhere else values

    return [pa.schema([(each.name, plain(each.name, each.type)) for each in schema]) for schema in schemas]


def is_several(path: Path) -> bool:
    """Return whether a path is of a folder of Parquet files, or a pattern."""
    return path.is_dir() or ((is_address(path) or has_magic(str(path))) and not path.exists())


def is_address(path: Path) -> bool:
    """Return whether a path was written as the address of a file system, such as ``s3://bucket/folder``."""
    return _ADDRESS.match(path.as_posix()) is not None and not path.exists()


def _plain(parts: Sequence[str]) -> list[str]:
    """Return the parts of a path before those that are patterns."""
    return list(takewhile(lambda part: not has_magic(part), parts))


def find_remote_files(path: Path) -> tuple[Any, PurePosixPath, tuple[PurePosixPath, ...]]:
    """Return a pyarrow file system, a folder of it, and the Parquet files that `find_files` would find there.

    A ``*`` of a pattern stands for a part of one name. A DataError says that the system cannot be reached, or has none.
    """
    scheme, *parts = path.parts
    root, plain = scheme + ("///" if scheme == "file:" else "//"), _plain(parts)
    address, pattern = root + "/".join(parts), parts[len(plain) :]
    if "**" in pattern:
        raise DataError(f"{address}: ** is for local folders; name a folder, which includes those below")
    try:
        system, folder = fs.FileSystem.from_uri(root + "/".join(plain))
        found = [system.get_file_info(folder)]
        for part in pattern:
            inside = [each for info in found if not info.is_file for each in _list(system, info.path)]
            found = [each for each in inside if _matches(each.base_name, part)]
        if others := [each.path for each in found if each.is_file and not each.path.lower().endswith(ENDING)]:
            raise DataError(f"{address}: expected files that end in {ENDING}, got {shown(others[0])}")
        files = [PurePosixPath(each.path) for each in found if each.is_file]
        for above in (each.path for each in found if not each.is_file):
            below = [PurePosixPath(each.path) for each in _list(system, above, recursive=True) if each.is_file]
            hidden = [any(part.startswith((".", "_")) for part in each.relative_to(above).parts) for each in below]
            files += [each for each, no in zip(below, hidden, strict=True) if not no and each.suffix == ENDING]
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{address}: cannot be read: {' '.join(str(error).split()):.200}") from error
    if not files:
        raise DataError(f"{address}: no file that matches and ends in {ENDING}")
    base = PurePosixPath(folder)
    return system, base.parent if files == [base] else base, tuple(sorted(files))


def _list(system: Any, folder: str, *, recursive: bool = False) -> Any:
    return system.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=recursive))


def _matches(name: str, pattern: str) -> bool:
    """Return whether a name matches, as a shell would say: names that begin with a dot only if the pattern does."""
    return fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def _absolute(path: PurePath) -> str:
    """Return a text that other processes can use, and that is no address."""
    return os.path.abspath(path) if isinstance(path, Path) else str(path)  # noqa: PTH100 - links stay


def find_files(path: Path) -> tuple[Path, ...]:
    """Return the Parquet files in a folder, also in folders below, or that match a pattern such as ``2024-*``.

    Files and folders whose names begin with a dot or an underscore are not parts of a table. A DataError says that
    there are none, or that a match is no such file.
    """
    if path.is_dir():
        inside = (each.relative_to(path) for each in path.rglob(f"*{ENDING}") if each.is_file())
        found = [path / each for each in inside if not any(part.startswith((".", "_")) for part in each.parts)]
        if not found:
            raise DataError(f"{path}: expected a folder of Parquet files, got one without files that end in {ENDING}")
        return tuple(sorted(found))
    matches = [Path(each) for each in sorted(glob(str(path), recursive=True))]  # noqa: PTH207 - a Path cannot be absolute there
    files = [file for each in matches for file in (find_files(each) if each.is_dir() else [each])]
    if not files:
        raise DataError(f"{path}: no such file, and none that matches")
    if others := [file for file in files if file.suffix.lower() != ENDING]:
        raise DataError(f"{path}: expected files that end in {ENDING}, got {shown(str(others[0]))}")
    return tuple(dict.fromkeys(files))
