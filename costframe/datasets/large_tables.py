"""Data sets larger than memory: labels in memory, features as a lazy array of dask over row groups of Parquet files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import ParameterError, name_file
from costframe.core.machine import fits_in_memory, share_in_memory
from costframe.core.prices.costs import CostModel
from costframe.core.tables.categorical import CategoricalColumns
from costframe.core.tables.feature_values import table_of
from costframe.core.tables.parquet_files import ParquetFiles
from costframe.core.tables.row_draws import shuffle_kinds
from costframe.datasets.dataset import Dataset, PartRows
from costframe.datasets.leaks import find_leaks, remark_on_empty_tests
from costframe.datasets.table_files import TableFile

_FEW = 10  # rows or queries of a group that are drawn at least
_CELLS = 1 << 21  # to read at a time
_SHARE = 0.25  # of the memory for a table of doubles: reading and training keep a few copies


@frozen(eq=False)
class LargeDataset:
    """A data set whose features are not in memory; attributes are those of `Dataset`, but for `X`."""

    name: str
    X: Any  # with a partition for each row group, which workers read at the paths or addresses of this machine
    y: NDArray[Any]
    costs: CostModel
    task: str
    split: NDArray[np.str_]
    qid: I8 | None
    groups: I8 | None
    classes: tuple[Any, ...]
    categorical: Mapping[str, tuple[str, ...] | None]
    notes: tuple[str, ...]
    reading: Mapping[str, Any]

    def part(self, name: str) -> PartRows:
        """Return the rows of "train", "valid" or "test"."""
        return PartRows(self.X, self.y, self.qid, self.groups).take(self.split == name)

    def sampled(self, seed: int) -> Dataset:
        """Read as many rows as fit in memory, drawn at random by part and class; of a ranking whole queries."""
        share = share_in_memory(8 * self.X.size, _SHARE)
        groups = np.unique(self.split, return_inverse=True)[1]
        if self.classes:
            groups = groups * len(self.classes) + np.searchsorted(np.asarray(self.classes), self.y)
        chosen = _draw_share(groups, self.qid, share, seed)
        rows = PartRows(self.X, self.y, self.qid, self.groups).take(chosen)
        drawn = f"the table does not fit in memory: {chosen.sum():,} of its {len(chosen):,} rows, drawn at random"
        data = Dataset(
            self.name,
            np.asarray(rows.X),  # which computes it
            rows.y,
            self.costs.names,
            self.costs,
            self.task,
            self.split[chosen],
            rows.qid,
            self.classes,
            self.categorical,
            self.notes if chosen.all() else (*self.notes, drawn),
            reading=self.reading,
            groups=rows.groups,
        )
        asks = self.reading.get("records") is None
        leaks = find_leaks(data, asks=asks)
        empty = remark_on_empty_tests(data, leaks) if asks else None
        return evolve(data, notes=(*data.notes, *leaks, *([empty] if empty else [])))


def _draw_share(groups: I8, qid: I8 | None, share: float, seed: int) -> B1:
    """Return which rows, or whole queries, are among a share of each group, a few at least, drawn at random.

    Parameters
    ----------
    groups : int64 (n,)
        Group of each row, such as a part or a class; the same for all rows of a query.
    qid : int64 (n,) or None
    share : float
    seed : int

    Returns
    -------
    bool (n,)
    """
    every = np.arange(len(groups))
    first, items = (every, every) if qid is None else np.unique(qid, return_index=True, return_inverse=True)[1:]
    kinds = groups[first]
    place, begin = shuffle_kinds(kinds, np.random.default_rng(seed))
    most = np.maximum((share * np.bincount(kinds)).astype(np.int64), _FEW)
    return np.asarray((place - begin < most[kinds])[items])


def is_large(path: str | os.PathLike[str]) -> bool:
    """Return whether a table is in Parquet files and too large to be read and trained on in memory."""
    opened = TableFile.open(path)
    if opened.ending != ".parquet":
        return False
    files = opened.parquet()
    return not fits_in_memory(8 * int(files.first[-1]) * len(files.schema.names), _SHARE)


def check_dask(file: Path) -> None:
    """Refuse to read a table by row groups without dask."""
    try:
        import dask.array  # noqa: F401 - reads the rows
    except ImportError as error:
        raise ParameterError(
            f"{file}: is larger than memory, or for a cluster, which needs the extra costframe[dask]: {error}"
        ) from error


def read_lazily(
    files: ParquetFiles, names: Sequence[str], categorical: Mapping[str, tuple[str, ...] | None], table: str
) -> Any:
    """Return the features `names` of all rows, with labels of categorical ones: a dask array of float64 (n, d)."""
    chosen = np.array([name in categorical for name in names])
    labels = {name: known for name, known in categorical.items() if known is not None}
    return _RowGroups(files, CategoricalColumns(tuple(names), chosen, labels), table).to_dask()


@frozen(eq=False)
class _RowGroups:
    """Reader of the features of row groups, on whichever machine."""

    files: ParquetFiles
    columns: CategoricalColumns
    name: str

    def to_dask(self) -> Any:
        """Return all rows, a dask array of float64 (n, d)."""
        import dask
        import dask.array as da

        reader, d = dask.delayed(self), len(self.columns.names)
        sizes = [group.rows for group in self.files.groups]
        read = dask.delayed(_read_group)
        parts = [da.from_delayed(read(reader, at), (rows, d), np.float64) for at, rows in enumerate(sizes) if rows]
        return da.concatenate(parts)

    def read(self, number: int) -> F8:
        """Return the rows of a row group, float64 (m, d)."""
        group, names = self.files.groups[number], self.columns.names
        parts = [np.empty((0, len(names)))]
        for batch in group.batches(names, max(1, _CELLS // len(names))):
            with name_file(group.path):
                parts.append(table_of(batch.columns, names, self.columns.categories))
                self.columns.check(parts[-1], self.name)
        return np.concatenate(parts)


def _read_group(reader: _RowGroups, number: int) -> F8:
    return reader.read(number)
