"""The table that a command is given as DATA: a file, or a named data set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from costframe.cli.reading import ReadingOptions
from costframe.core.errors import DataError, ParameterError, suggestion
from costframe.core.piped import STANDARD_STREAM, is_piped
from costframe.datasets import Dataset, load, names
from costframe.datasets.column_prices import read_empty_cells
from costframe.datasets.endings import ENDINGS, ending_of
from costframe.datasets.large_tables import is_large
from costframe.datasets.tables import read_large_table, read_table

DEFAULT_DATA = "breast-cancer"


def is_file(data: str) -> bool:
    """Return whether DATA is a file, or standard input, rather than the name of a data set."""
    return data == STANDARD_STREAM or Path(data).exists() or ending_of(data) is not None or len(Path(data).parts) > 1


def is_larger_than_memory(data: str) -> bool:
    """Return whether DATA is in Parquet files that do not fit in memory."""
    if not Path(data).is_dir() and ending_of(data) not in (None, ".parquet"):
        return False
    if not is_file(data) or is_piped(Path(data)):
        return False
    return is_large(data)


def load_named(name: str, seed: int | None = None) -> Dataset:
    """Return a named data set; say of another name that there is no such file either."""
    if name not in names():
        raise DataError(
            f"{name}: no such file, and no data set has this name{suggestion(name, names())}; "
            f"files end in {ENDINGS}; data sets are {', '.join(names())}"
        )
    return load(name, seed)


def open_data(data: str | None, reading: ReadingOptions) -> Dataset:
    """Return the data set to train on for DATA."""
    name = data if data is not None else DEFAULT_DATA
    if is_file(name):
        if reading.target is None:
            raise ParameterError(f"{name}: say with --target which column to predict")
        dataset = read_file(name, reading.costs, reading.of_table)
        if is_larger_than_memory(name):
            return dataset
        if reading.seed is not None and not any("by seed" in note for note in dataset.notes):
            raise ParameterError(f"--seed: has no effect, the column split of {name} has train, valid and test")
        return dataset
    dataset = load_named(name, reading.seed)
    refuse_for_named(name, reading.for_files)
    dataset = dataset if reading.costs is None else dataset.with_costs(reading.costs)
    if reading.records is None:
        return dataset
    return evolve(dataset, costs=read_empty_cells(dataset.costs, reading.records))


def read_file(path: str, costs: str | None, how: Mapping[str, Any]) -> Dataset:
    """Read a file as `read_table` does with the arguments `how`; of one larger than memory, as many rows as fit."""
    if is_larger_than_memory(path):
        return read_large_table(path, costs=costs, **how).sampled(how["seed"])
    return read_table(path, costs=costs, **how)


def refuse_for_named(name: str, given: Mapping[str, object]) -> None:
    """Refuse options that are for files, because DATA is the name of a data set."""
    for option, value in given.items():
        if value:
            raise ParameterError(f"{option} is for files; the data set {name} says itself what to predict")
