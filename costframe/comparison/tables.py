"""Tables of a comparison: data sets, their names, files, and folders with a table and its prices."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from costframe.core.errors import DataError, ParameterError, quote_names, shown, suggestion
from costframe.datasets import Dataset, load, names
from costframe.datasets.endings import ENDINGS, ending_of

PRICES = "costs.toml", "costs.json"  # in the folder of a table, next to its file


def open_tables(tables: Any, *, target: str | None = None, costs: object = None) -> list[Dataset]:
    """Return the data sets of a comparison in their order; refuse one that is given twice.

    Files and folders of one name have as much of their folders in their names as tells them apart.

    Parameters
    ----------
    tables : list, mapping of names to tables, or one table
        Data sets, their names, files, or folders; see `Comparison.run`.
    target : str, optional
        Column to predict, of files.
    costs : path, CostModel, or anything `CostModel.of` accepts, optional
        Prices of the tables that have none beside them.
    """
    if isinstance(tables, Mapping):
        opened = [evolve(open_table(table, target, costs), name=str(name)) for name, table in tables.items()]
    else:
        given = [tables] if isinstance(tables, str | os.PathLike | Dataset) else _listed(tables)
        opened = name_apart([open_table(table, target, costs) for table in given], map(_place_of, given))
    if not opened:
        raise ParameterError("tables: expected at least one, got none")
    check_distinct(opened)
    return opened


def name_apart(tables: Sequence[Dataset], places: Iterable[Path | None]) -> list[Dataset]:
    """Return tables in their order, those of one name named by the ends of their paths that tell them apart.

    `places` are the file or folder of each table, None of one that is in no file and so keeps its name.
    """
    named = list(tables)
    of_name: dict[str, dict[int, Path | None]] = {}
    for number, (data, place) in enumerate(zip(tables, places, strict=True)):
        of_name.setdefault(data.name, {})[number] = place
    for name, alike in of_name.items():
        paths = {number: place for number, place in alike.items() if place is not None}
        if len(alike) == 1 or not paths:
            continue
        taken = {name} if len(paths) < len(alike) else set()
        for number, end in zip(paths, _tell_ends(paths.values(), taken), strict=True):
            named[number] = evolve(named[number], name=end)
    return named


def _tell_ends(paths: Iterable[Path], taken: set[str]) -> list[str]:
    """Return ends of paths, as short as tells them from one another and from names that are taken, else whole ones."""
    ways = [Path(os.path.abspath(path)).parts for path in paths]  # noqa: PTH100 - links keep their names
    for length in range(1, 1 + max(map(len, ways))):
        ends = [Path(*parts[-length:]).as_posix() for parts in ways]
        if len({*ends} - taken) == len(ends):
            return ends
    return ends


def _place_of(table: Any) -> Path | None:
    """Return the file or folder of a table as a caller gives it; None of a data set, and of the name of one."""
    if isinstance(table, Dataset) or (isinstance(table, str) and table in names()):
        return None
    return Path(table)


def check_distinct(tables: list[Dataset]) -> None:
    """Refuse two tables of one name, and tables that cost nothing."""
    held = set[str]()
    for data in tables:
        if data.name in held:
            raise ParameterError(
                f"tables: {data.name!r} stands twice; name each table once, and two of one name apart, as in "
                "{'first': ..., 'second': ...}"
            )
        held.add(data.name)
        if data.full_cost <= 0:
            raise ParameterError(f"tables: all features of {data.name!r} are free, so all budgets are alike")


def _listed(tables: Any) -> list[Any]:
    try:
        return list(tables)
    except TypeError:
        raise ParameterError(f"tables: expected data sets, names, files or folders, got {shown(tables)}") from None


def open_table(table: Any, target: str | None, costs: object) -> Dataset:
    """Return a data set, given as it is, by its name, or by its file or folder."""
    if isinstance(table, Dataset):
        return table if costs is None else table.with_costs(costs)
    if not isinstance(table, str | os.PathLike):
        raise ParameterError(f"tables: expected data sets, names, files or folders, got {shown(table)}")
    text = os.fspath(table)
    if isinstance(table, str) and text in names():
        found = load(text)
        return found if costs is None else found.with_costs(costs)
    path = Path(text)
    if not path.exists() and ending_of(text) is None:
        raise DataError(
            f"{text}: no such file or folder, and no data set has this name{suggestion(text, names())}; files end in "
            f"{ENDINGS}; data sets are {quote_names(names())}"
        )
    if target is None:
        raise ParameterError(f"target: {text} is a file, so give the column to predict")
    file, beside = find_in_folder(path)
    from costframe.datasets.tables import read_table  # it loads pyarrow, which is slow

    found = read_table(file, target=target, costs=beside if costs is None else costs)
    return found if beside is None else evolve(found, name=path.name)


def find_in_folder(path: Path) -> tuple[Path, Path | None]:
    """Return the file of a table, and that of its prices: of a folder with both, those in it; else the path, and None.

    A folder without prices is one table, of Parquet files.
    """
    prices = [path / name for name in PRICES if (path / name).is_file()] if path.is_dir() else []
    if not prices:
        return path, None
    files = sorted(file for file in path.iterdir() if file.is_file() and ending_of(file.name) is not None)
    if len(files) != 1:
        found = f"got {quote_names(file.name for file in files)}" if files else "got none"
        raise DataError(f"{path}: expected one table beside {prices[0].name}, {found}")
    return files[0], prices[0]
