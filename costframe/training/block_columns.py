"""The arguments of `fit` from a pyarrow dataset: labels, weights and queries in memory, features in blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.core.errors import DataError, ParameterError, shown, suggestion
from costframe.core.tables.splits import SPLIT
from costframe.training.blocks import BlockTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from costframe.core.tables.parquet_files import ParquetFiles

__all__ = ["is_dataset", "open_table", "read_fit_rows"]

_ROWS = 1 << 20  # at a time
_ARGUMENTS = "y", "sample_weight", "qid"


def is_dataset(X: Any) -> bool:
    """Return whether rows are a pyarrow.dataset.Dataset, without importing pyarrow."""
    return type(X).__module__.startswith("pyarrow._dataset")


def open_table(dataset: Any, name: str, *, verbose: int = 0) -> BlockTable:
    """Open a pyarrow.dataset.Dataset of Parquet files, whose columns are all features, called `name` in errors."""
    from costframe.core.tables.frames import check_names
    from costframe.core.tables.parquet_files import ParquetFiles

    files = ParquetFiles.of(dataset, name)
    check_names(files.schema.names, name)
    return BlockTable(files, tuple(files.schema.names), name=name, verbose=verbose)


def read_fit_rows(given: Mapping[str, Any], *, verbose: int = 0) -> dict[str, Any]:
    """Return the arguments of `fit`, of which X or X_val are datasets, with tables of blocks and arrays for these.

    Beside a dataset, labels, weights and queries are names of its columns. All other columns are features, except
    ``split``, which holds train, valid or test: rows of valid become validation data, and rows of test are left out.
    """
    found = dict(given)
    for suffix in ("_val", ""):
        if is_dataset(given.get(f"X{suffix}")):
            found |= _read(given, suffix, verbose)
    return found


def _read(given: Mapping[str, Any], suffix: str, verbose: int) -> dict[str, Any]:
    """Return the arguments with this suffix, and validation data where the dataset has some of its own."""
    table = open_table(given[f"X{suffix}"], f"X{suffix}", verbose=verbose)
    named = {argument: _check_column(table, f"{argument}{suffix}", given) for argument in _ARGUMENTS}
    columns = {argument: name for argument, name in named.items() if name is not None}
    parts = not suffix and SPLIT in table.columns and SPLIT not in columns.values()
    values = _read_columns(table.files, columns | ({SPLIT: SPLIT} if parts else {}))
    others = {*columns.values(), SPLIT}
    table = evolve(table, columns=tuple(name for name in table.columns if name not in others))
    if not table.columns:
        raise DataError(f"X{suffix}: has no column left to be a feature")
    split = values.pop(SPLIT, None)
    if split is None:
        return _choose(table, values, suffix, np.ones(len(table), np.bool_))
    found = _choose(table, values, suffix, split == "train")
    if (split == "valid").any():
        if given.get("X_val") is not None:
            raise ParameterError(f"X_val: has no effect, the column {SPLIT!r} of X has rows of its own in 'valid'")
        found |= _choose(table, values, "_val", split == "valid")
    return found


def _choose(
    table: BlockTable, values: dict[str, NDArray[Any]], suffix: str, chosen: NDArray[np.bool_]
) -> dict[str, Any]:
    """Return the arguments of some rows, bool (n,), without those of weight zero."""
    if (weight := values.get("sample_weight")) is not None:
        chosen = chosen & (weight != 0)
    if chosen.all():
        return {f"X{suffix}": table} | {f"{name}{suffix}": each for name, each in values.items()}
    return {f"X{suffix}": table.take(chosen)} | {f"{name}{suffix}": each[chosen] for name, each in values.items()}


def _check_column(table: BlockTable, argument: str, given: Mapping[str, Any]) -> str | None:
    name = given.get(argument)
    if name is None:
        return None
    if not isinstance(name, str):
        raise DataError(f"{argument}: expected the name of a column of the dataset, got {shown(name)}")
    if name not in table.columns:
        raise DataError(f"{argument}: the dataset has no column {name!r}{suggestion(name, table.columns)}")
    return name


def _read_columns(files: ParquetFiles, columns: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Read whole columns, by argument: a target, weights and queries as they come, and the split as texts."""
    from costframe.core.tables.columns import as_numbers, as_queries, as_target, text_values
    from costframe.core.tables.file_errors import name_file
    from costframe.core.tables.splits import check_split

    read = {"y": as_target, "sample_weight": as_numbers, "qid": as_queries, SPLIT: text_values}
    parts: dict[str, list[NDArray[Any]]] = {argument: [] for argument in columns}
    names = list(dict.fromkeys(columns.values()))
    for group in files.groups:
        for batch in group.batches(names, _ROWS) if names else ():
            with name_file(group.path):
                for argument, name in columns.items():
                    column = batch.column(names.index(name))
                    parts[argument].append(read[argument](column, name))
    found: dict[str, NDArray[Any]] = {
        argument: np.concatenate(each) if each else np.empty(0) for argument, each in parts.items()
    }
    if SPLIT in found:
        check_split(found[SPLIT])
    return found
