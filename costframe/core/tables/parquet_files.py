"""Parquet files that hold one table, read row group by row group."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from attrs import frozen
from pyarrow import dataset as datasets
from pyarrow import parquet

from costframe.core.errors import DataError, quote_names, shown
from costframe.core.tables.file_errors import name_reading_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["ParquetFiles", "RowGroup", "find_files"]

ENDING = ".parquet"


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


@frozen(eq=False)
class ParquetFiles:
    """The files of a table, in order.

    Attributes
    ----------
    dataset : pyarrow.dataset.Dataset
        Of Parquet files, without a filter.
    """

    dataset: Any

    @classmethod
    def of(cls, dataset: Any, what: str) -> ParquetFiles:
        """Check a pyarrow.dataset.Dataset; `what` is its name in errors."""
        try:
            fragments = list(dataset.get_fragments())
        except ValueError:
            raise DataError(
                f"{what}: expected a dataset without a filter; give weights of zero to rows to leave out"
            ) from None
        for fragment in fragments:
            if not isinstance(fragment, datasets.ParquetFileFragment):
                raise DataError(f"{what}: expected a dataset of Parquet files, got {type(dataset).__name__} of others")
        return cls(dataset)

    @classmethod
    def open(cls, paths: Sequence[Path], folder: Path | None = None) -> ParquetFiles:
        """Open files that have the same columns in any order, and numbers of any types.

        Names of folders below `folder`, such as ``year=2024``, are columns too.
        """
        schemas = []
        for path in paths:
            with name_reading_errors(path):
                schemas.append(parquet.read_schema(path))
            if set(schemas[-1].names) != set(schemas[0].names):
                raise DataError(
                    f"{path}: expected the columns of {paths[0].name}, {quote_names(schemas[0].names)}, "
                    f"got {quote_names(schemas[-1].names)}"
                )
        first = paths[0]
        with name_reading_errors(folder or first.parent):
            types = pa.unify_schemas([each.remove_metadata() for each in schemas], promote_options="permissive")
            named = datasets.dataset(
                [str(path) for path in paths], format="parquet", partitioning="hive",
                partition_base_dir=str(folder or first.parent),
            )  # fmt: skip
            more = [named.schema.field(name) for name in named.schema.names if name not in set(types.names)]
            return cls(named.replace_schema(pa.schema([*types, *more])))

    @property
    def schema(self) -> Any:
        """Names and types of the columns, pyarrow.Schema."""
        return self.dataset.schema

    @cached_property
    def groups(self) -> tuple[RowGroup, ...]:
        """The row groups of all files."""
        found = []
        for fragment in self.dataset.get_fragments():
            with name_reading_errors(fragment.path):
                for each in fragment.split_by_row_group():
                    found.append(RowGroup(fragment.path, each, self.schema, each.row_groups[0].num_rows))
        return tuple(found)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """The number of the first row of each row group, and the number of all rows: int64 (groups + 1,)."""
        return np.cumsum([0, *(group.rows for group in self.groups)])


def find_files(path: Path) -> tuple[Path, ...]:
    """Return the Parquet files in a folder, also in folders below, or that match a pattern such as ``2024-*``.

    Files and folders whose names begin with a dot or an underscore are not parts of a table.

    Raises
    ------
    DataError
        If there are no such files, or a file that matches is not one.
    """
    if path.is_dir():
        inside = (each.relative_to(path) for each in path.rglob(f"*{ENDING}") if each.is_file())
        found = [path / each for each in inside if not any(part.startswith((".", "_")) for part in each.parts)]
        if not found:
            raise DataError(f"{path}: expected a folder of Parquet files, got one without files that end in {ENDING}")
        return tuple(sorted(found))
    matches = [Path(each) for each in sorted(glob(str(path), recursive=True))]
    files = [file for each in matches for file in (find_files(each) if each.is_dir() else [each])]
    if not files:
        raise DataError(f"{path}: no such file, and none that matches")
    if others := [file for file in files if file.suffix.lower() != ENDING]:
        raise DataError(f"{path}: expected files that end in {ENDING}, got {shown(str(others[0]))}")
    return tuple(dict.fromkeys(files))
