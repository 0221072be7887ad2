"""Rows of a table in Parquet files, which need not fit in memory: features in blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.errors import DataError, quote_names
from costframe.core.tables.categorical import CategoricalColumns
from costframe.training.progress import track

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from costframe.core.tables.parquet_files import ParquetFiles

__all__ = ["BlockTable", "blocks_of"]

_CELLS = 1 << 21  # of a block


@final
@frozen(eq=False)
class BlockTable:
    """Features of some rows of Parquet files. It has the names and types of a frame, and gives rows as an array does.

    Attributes
    ----------
    files : ParquetFiles
    columns : tuple of str (d,)
        Columns of the files that are features, in order.
    kept : bool (rows of the files,), or None
        Rows of this table; None for all.
    categorical : CategoricalColumns
        The columns of categories; others are numbers.
    constant : int64 (k,)
        Columns to take for constant, which are zero.
    name : str
        Name of the table in errors.
    verbose : int
        1 shows a progress bar by row groups.
    """

    files: ParquetFiles
    columns: tuple[str, ...]
    kept: NDArray[np.bool_] | None = None
    categorical: CategoricalColumns = field(factory=CategoricalColumns)
    constant: NDArray[np.int64] = field(factory=lambda: np.zeros(0, np.int64))
    name: str = "X"
    verbose: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and features."""
        return len(self), len(self.columns)

    def __len__(self) -> int:
        return int(self.files.first[-1] if self.kept is None else np.count_nonzero(self.kept))

    @property
    def dtypes(self) -> list[str]:
        """Type of each column, as frames name it: "category", "string", or "float64" for all numbers."""
        return [self.files.type_of(name) for name in self.columns]

    def take(self, kept: NDArray[np.bool_]) -> BlockTable:
        """Keep some rows of this table, bool (n,), without reading them."""
        if self.kept is None:
            return evolve(self, kept=kept)
        inside = self.kept.copy()
        inside[inside] = kept
        return evolve(self, kept=inside)

    def read_as(self, columns: Sequence[str], categorical: CategoricalColumns) -> BlockTable:
        """Return the rows with the columns and categories of a training, in its order.

        Raises
        ------
        DataError
            If a column is not in the files, or is neither of numbers nor categorical.
        """
        known = set(self.files.schema.names)
        if missing := [name for name in columns if name not in known]:
            raise DataError(
                f"{self.name}: has no columns {quote_names(missing, 6)}, but {quote_names(self.files.schema.names, 6)}"
            )
        named = {name for name, chosen in zip(categorical.names, categorical.chosen, strict=True) if chosen}
        for name in columns:
            if name not in named and name not in categorical.categories and self.files.type_of(name) != "float64":
                from costframe.core.tables.columns import way_out

                kind = self.files.schema.field(name).type
                split = "; a column of a dictionary type, or one named in categorical_features, is split by categories"
                raise DataError(
                    f"{self.name}: column {name!r} is of the type {kind}, expected numbers{way_out(kind) or split}"
                )
        return evolve(self, columns=tuple(columns), categorical=categorical)

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        """Yield all rows, float64 (m, d), in order; row groups are read one by one.

        Raises
        ------
        DataError
            If a file cannot be read, or a column does not fit; the text names the file.
        """
        groups = range(len(self.files.groups))
        for number in track(groups, f"reading {self.name}", verbose=self.verbose):
            yield from self._blocks_of(number)

    def __getitem__(self, chosen: Any) -> NDArray[Any]:
        """Return rows in memory, by numbers, mask or slice: float64 (k, d); or by name a column's distinct values."""
        if isinstance(chosen, str):
            return self._distinct(chosen)
        numbers = np.arange(len(self))[chosen]
        found = np.empty((len(numbers), len(self.columns)))
        order = np.argsort(numbers, kind="stable")
        ordered = numbers[order]
        first = self._first_rows()
        begin = np.searchsorted(ordered, first)
        for number in np.flatnonzero(np.diff(begin)).tolist():
            at = int(first[number])
            for block in self._blocks_of(number):
                here = slice(*np.searchsorted(ordered, [at, at + len(block)]))
                found[order[here]] = block[ordered[here] - at]
                at += len(block)
        return found

    @property
    def group_sizes(self) -> list[int]:
        """Rows of this table in each row group."""
        sizes: list[int] = np.diff(self._first_rows()).tolist()
        return sizes

    def read_group(self, number: int) -> NDArray[np.float64]:
        """Return the rows of a row group, float64 (m, d)."""
        return np.concatenate([np.empty((0, len(self.columns))), *self._blocks_of(number)])

    def _first_rows(self) -> NDArray[np.int64]:
        """Return the number of the first row of each row group, and of all rows: int64 (groups + 1,)."""
        first = self.files.first
        return first if self.kept is None else np.concatenate([[0], np.cumsum(self.kept, dtype=np.int64)])[first]

    def _blocks_of(self, number: int) -> Iterator[NDArray[np.float64]]:
        from costframe.core.tables.columns import table_of
        from costframe.core.tables.file_errors import name_file

        group, begin = self.files.groups[number], int(self.files.first[number])
        kept = None if self.kept is None else self.kept[begin : begin + group.rows]
        for batch in group.batches(self.columns, max(1, _CELLS // len(self.columns)), kept):
            if batch.num_rows:
                with name_file(group.path):
                    X = table_of(batch.columns, self.columns, self.categorical.categories)
                    self.categorical.check(X, self.name)
                X[:, self.constant] = 0.0
                yield X

    def _distinct(self, name: str) -> NDArray[Any]:
        """Return the distinct values of a column that is not of plain numbers: object (k,)."""
        from costframe.core.tables.columns import decode_column

        if self.files.type_of(name) == "float64" and "decimal" not in str(self.files.schema.field(name).type):
            return np.empty(0)
        found: dict[object, None] = {}
        for group in track(self.files.groups, f"reading {name}", verbose=self.verbose):
            for batch in group.batches([name], _CELLS):
                found.update(dict.fromkeys(decode_column(batch.column(0).unique(), f"column {name!r}").to_pylist()))
        return np.array([*found, None], object)[:-1]  # None keeps NumPy from finding another type


def blocks_of(X: NDArray[np.float64] | BlockTable) -> Iterator[NDArray[np.float64]]:
    """Yield the rows of a table of blocks, or of an array as the only block: float64 (m, d)."""
    return X.blocks() if isinstance(X, BlockTable) else iter([X])
