"""Reading of Parquet files larger than memory as data sets: labels in memory, features as a lazy array of dask."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1, F8, I8
from costframe.core.checks import as_path
from costframe.core.errors import DataError, ParameterError, Problems, name_file, quote_names, shown
from costframe.core.machine import fits_in_memory, share_in_memory
from costframe.core.prices.costs import CostModel
from costframe.core.tables.categorical import CategoricalColumns
from costframe.core.tables.columns import as_categories, decode_column, null_texts, table_of
from costframe.core.tables.parquet_files import ParquetFiles
from costframe.core.tables.row_draws import shuffle_kinds
from costframe.datasets.dataset import Dataset
from costframe.datasets.ids import find_ids
from costframe.datasets.leaks import find_leaks
from costframe.datasets.parts import SPLIT, Kinds, check_parts, count_cut, split_rows
from costframe.datasets.table_files import TableFile
from costframe.datasets.tables import BESIDE_WAYS, QID, Reading
from costframe.datasets.text_features import (
    count_texts,
    describe_missing,
    describe_texts,
    holds_numbers,
    is_few_texts,
    refuse_texts,
)

_FEW = 10  # rows or queries of a group that are drawn at least
_CELLS = 1 << 21  # to read at a time
_SHARE = 0.25  # of the memory for a table of doubles: reading and training keep a few copies


@frozen(eq=False)
class LargeRows:
    """The rows of a part: features, a dask array (n, d), labels, (n,), and queries of a ranking, int64 (n,)."""

    X: Any
    y: NDArray[Any]
    qid: I8 | None
    groups: I8 | None = None

    def take(self, chosen: B1) -> LargeRows:
        """Keep some rows, bool (n,)."""
        X = self.X if chosen.all() else self.X[np.flatnonzero(chosen)]
        units = (None if each is None else each[chosen] for each in (self.qid, self.groups))
        return LargeRows(X, self.y[chosen], *units)


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

    def part(self, name: str) -> LargeRows:
        """Return the rows of "train", "valid" or "test"."""
        return LargeRows(self.X, self.y, self.qid, self.groups).take(self.split == name)

    def sampled(self, seed: int) -> Dataset:
        """Read as many rows as fit in memory, drawn at random by part and class; of a ranking whole queries."""
        share = share_in_memory(8 * self.X.size, _SHARE)
        groups = np.unique(self.split, return_inverse=True)[1]
        if self.classes:
            groups = groups * len(self.classes) + np.searchsorted(np.asarray(self.classes), self.y)
        chosen = _draw_share(groups, self.qid, share, seed)
        rows = LargeRows(self.X, self.y, self.qid, self.groups).take(chosen)
        drawn = f"the table does not fit in memory: {chosen.sum():,} of its {len(chosen):,} rows, drawn at random"
        data = Dataset(
            self.name,
            rows.X.compute(),
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
        return evolve(data, notes=(*data.notes, *find_leaks(data)))


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


def read_large_table(
    path: str | os.PathLike[str],
    target: str,
    costs: object = None,
    *,
    task: str | None = None,
    ignore: Iterable[str] = (),
    categorical: Iterable[str] = (),
    missing: Iterable[str] = (),
    group: str | None = None,
    keep_ids: Iterable[str] = (),
    seed: int = 0,
    epochs: Mapping[str, str] | None = None,
) -> LargeDataset:
    """Read Parquet files as `read_table` does, without their features; the arguments and errors are the same.

    Also a ParameterError, without dask.
    """
    file = as_path(path)
    _check_dask(file)
    how = Reading.of(file, target, costs, task, ignore, categorical, seed, group, keep_ids)
    opened = TableFile.open(file, missing)
    names = opened.names()
    how, problems = how.among(names), Problems(file)
    features = how.features(names, problems)
    if asked := [name for name in features if name not in how.keep_ids]:
        ids = find_ids(next(opened.blocks(asked)), asked)  # the first rows tell
        how = how.leaving_out(ids)
        features = how.features(names, Problems(file) if problems.found else problems)
    apart = [name for name, each in how.ids.items() if each.repeats and group is None]
    model, notes = how.price(opened, names, features, problems)
    if special := [name for name in names if name in {target, *how.grouped, *({SPLIT, QID} - set(how.ignore))}]:
        rest = how.outline(opened, opened.read(special), notes, problems)
    with problems.collect():
        dates = [*(epochs or ()), *(price.name for price in (model.features if model else ()) if price.is_date)]
        if dates:
            raise DataError(
                f"column {dates[0]!r}: a date by its price; dates are read only where a table fits in memory"
            )
        found, notes = _categories(opened, features, how, problems)
    problems.end()
    assert model is not None and rest is not None  # noqa: S101, PT018 - else there were problems
    with name_file(file):
        split, remarks = rest.split, list[str]()
        classes = rest.y if rest.task == "classification" else None
        if split is None:
            split, remarks = split_rows(Kinds(len(rest.y), classes, rest.queries, rest.groups), seed)
        elif rest.groups is not None and (count := count_cut(rest.groups, split)):
            remarks = [f"{count:,} values of {group!r} have rows in more than one part, as the column split says"]
        labelled = None if classes is None else tuple(np.unique(classes).tolist())
        check_parts(split, rest.y, labelled)
    chosen = np.array([name in found for name in features])
    labels = {name: each for name, each in found.items() if each is not None}
    X = _RowGroups(opened.parquet(), CategoricalColumns(features, chosen, labels), file.name).to_dask()
    notes = [*rest.notes, *notes, *remarks]
    notes += [f"rows of one {shown(name)} may be in train and test{how.ids[name].way_out(name)}" for name in apart]
    return LargeDataset(
        file.name, X, rest.y, model, rest.task, split, rest.queries, rest.groups, labelled or (), found, tuple(notes),
        how.described(opened.missing, {}),
    )  # fmt: skip


def _check_dask(file: Path) -> None:
    try:
        import dask.array  # noqa: F401 - reads the rows
    except ImportError as error:
        raise ParameterError(
            f"{file}: is larger than memory, or for a cluster, which needs the extra costframe[dask]: {error}"
        ) from error


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
        found = [np.empty((0, len(names)))]
        for batch in group.batches(names, max(1, _CELLS // len(names))):
            with name_file(group.path):
                found.append(table_of(batch.columns, names, self.columns.categories))
                self.columns.check(found[-1], self.name)
        return np.concatenate(found)


def _read_group(reader: _RowGroups, number: int) -> F8:
    return reader.read(number)


def _distinct(files: ParquetFiles, name: str) -> list[Any]:
    """Return the distinct values of a column, in the order of their first rows."""
    found: dict[object, None] = {}
    for group in files.groups:
        for batch in group.batches([name], _CELLS):
            found.update(dict.fromkeys(decode_column(batch.column(0).unique(), f"column {name!r}").to_pylist()))
    return list(found)


def _categories(
    opened: TableFile, features: Sequence[str], how: Reading, problems: Problems
) -> tuple[dict[str, tuple[str, ...] | None], list[str]]:
    """Return the labels of the features that are categorical, None where numbers are, and notes on them."""
    found: dict[str, tuple[str, ...] | None] = {}
    texts: list[str] = []
    missing: list[str] = []
    beside: dict[str, Counter[str]] = {}
    files = opened.parquet()
    for name, kind in zip(features, map(files.type_of, features), strict=True):
        known = kind == "category" or name in how.categorical
        if kind == "float64":
            found |= {name: None} if known else {}
            continue
        values = null_texts(pa.array(_distinct(files, name)), opened.missing)
        if not known and holds_numbers(values, name):
            beside[name] = count_texts(opened.read([name])[name], name)
            continue
        with problems.collect():
            if not known:
                if not is_few_texts(values, name, int(files.first[-1])):
                    raise DataError(f"column {name!r}: expected numbers or texts, got {files.schema.field(name).type}")
                texts.append(name)
            found[name] = as_categories(values, name)[1]
            missing += describe_missing({name: values})
    refuse_texts(beside, BESIDE_WAYS)
    named = [name for name in found if name not in texts]
    notes = [*missing, describe_texts(texts)] if texts else missing
    return found, [*notes, f"split by categories: {quote_names(named)}"] if named else notes
