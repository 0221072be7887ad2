"""DATA, the argument of commands: a data set by its name, a table file, or several Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from costframe.core.errors import DataError, ParameterError, suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from costframe.datasets import Dataset

__all__ = ["is_file", "is_larger_than_memory", "load_named", "open_data", "read_file", "refuse_for_named"]

DEFAULT_DATA = "breast-cancer"


def is_file(data: str) -> bool:
    """Return whether DATA is a file rather than the name of a data set."""
    from costframe.datasets.endings import ending_of

    return Path(data).exists() or ending_of(data) is not None or len(Path(data).parts) > 1


def is_larger_than_memory(data: str) -> bool:
    """Return whether DATA is in Parquet files that do not fit in memory."""
    from costframe.datasets.endings import ending_of

    if not Path(data).is_dir() and ending_of(data) not in (None, ".parquet"):
        return False
    if not is_file(data):
        return False
    from costframe.datasets.large_tables import is_large

    return is_large(data)


def load_named(name: str, seed: int | None = None) -> Dataset:
    """Return a named data set; say of another name that there is no such file either."""
    from costframe.datasets import load, names
    from costframe.datasets.endings import ENDINGS

    if name not in names():
        raise DataError(
            f"{name}: no such file, and no data set has this name{suggestion(name, names())}; "
            f"files end in {ENDINGS}; data sets are {', '.join(names())}"
        )
    return load(name, seed)


def open_data(
    data: str | None,
    costs: str | None,
    target: str | None,
    task: str | None,
    ignore: tuple[str, ...],
    categorical: tuple[str, ...],
    missing: tuple[str, ...],
    seed: int | None,
) -> Dataset:
    """Return the data set for DATA and its options."""
    name = data if data is not None else DEFAULT_DATA
    if is_file(name):
        if target is None:
            raise ParameterError(f"{name}: say with --target which column to predict")
        how: dict[str, Any] = {"task": task, "ignore": ignore, "categorical": categorical, "missing": missing}
        dataset = read_file(name, costs, target=target, **how, seed=seed or 0)
        if is_larger_than_memory(name):
            return dataset
        if seed is not None and not any("by seed" in note for note in dataset.notes):
            raise ParameterError(f"--seed: has no effect, the column split of {name} has train, valid and test")
        return dataset
    dataset = load_named(name, seed)
    given = {"--target": target, "--task": task, "--ignore": ignore, "--categorical": categorical}
    refuse_for_named(name, given | {"--missing": missing})
    return dataset if costs is None else dataset.with_costs(costs)


def read_file(path: str, costs: str | None, **how: Any) -> Dataset:
    """Read a file as `read_table` does; of one larger than memory, as many rows as fit, drawn by the seed."""
    from costframe.datasets import read_table

    if is_larger_than_memory(path):
        from costframe.datasets.large_tables import read_large_table

        return read_large_table(path, costs=costs, **how).sampled(how["seed"])
    return read_table(path, costs=costs, **how)


def refuse_for_named(name: str, given: Mapping[str, object]) -> None:
    """Refuse options that are for files, because DATA is the name of a data set."""
    for option, value in given.items():
        if value:
            raise ParameterError(f"{option} is for files; the data set {name} says itself what to predict")
