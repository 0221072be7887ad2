"""Arguments that commands share, and what they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from costframe.core.costs_io import suggestion
from costframe.core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from costframe.datasets import Dataset

__all__ = ["check_one_of", "check_output", "costs_option", "is_file", "open_data", "reading_options"]

DEFAULT_DATA = "breast-cancer"

costs_option = click.option(
    "--costs", metavar="FILE", help="Prices of features and resources, TOML or JSON. [default: one for every feature]"
)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how DATA is read."""
    for option in reversed([
        costs_option,
        click.option("--target", metavar="COL", help="The column to predict, where DATA is a file."),
        click.option(
            "--task",
            type=click.Choice(["classification", "regression", "ranking"]),
            help="By default told by the target: text, truth values and few whole numbers are classes; a column qid "
            "makes a ranking; all else is regression.",
        ),
        click.option("--ignore", metavar="COL", multiple=True, help="A column to leave out; may be repeated."),
        click.option(
            "--seed", type=click.IntRange(0), default=0, show_default=True,
            help="Splits the rows, unless a column split says train, valid or test.",
        ),
    ]):  # fmt: skip
        command = option(command)
    return command


def is_file(data: str) -> bool:
    """Tell whether DATA is meant as a file, rather than as the name of a data set."""
    return Path(data).exists() or Path(data).suffix.lower() in {".csv", ".parquet"} or len(Path(data).parts) > 1


def open_data(
    data: str | None, costs: str | None, target: str | None, task: str | None, ignore: tuple[str, ...], seed: int
) -> Dataset:
    """Return the data set that DATA and its options stand for."""
    from costframe.datasets import load, names, read_table

    name = data if data is not None else DEFAULT_DATA
    if is_file(name):
        if target is None:
            raise ParameterError(f"{name}: say with --target which column to predict")
        return read_table(name, target, costs, task=task, ignore=ignore, seed=seed)
    if name not in names():
        raise DataError(
            f"{name}: no such file, and no data set has this name{suggestion(name, names())}; "
            f"files end in .csv or .parquet, data sets are {', '.join(names())}"
        )
    given = {"--target": target, "--task": task, "--ignore": ignore}
    for option, value in given.items():
        if value:
            raise ParameterError(f"{option} is for files; the data set {name} says itself what to predict")
    if seed:
        raise ParameterError(f"--seed is for files; the data set {name} is split already")
    dataset = load(name)
    return dataset if costs is None else dataset.with_costs(costs)


def check_output(path: Path, *, directory: bool) -> None:
    """Refuse, before any work, an output that cannot be written; nothing is created."""
    import tempfile

    if directory and path.exists() and not path.is_dir():
        raise ParameterError(f"--output {path}: is a file, expected a directory")
    if not directory and path.is_dir():
        raise ParameterError(f"--output {path}: is a directory, expected a file name")
    above = path if directory else path.parent
    if not directory and not above.exists():
        raise ParameterError(f"--output {path}: there is no directory {above}")
    while not above.exists():
        above = above.parent
    try:
        with tempfile.TemporaryFile(dir=above):  # leaves nothing behind; asking for permissions is not telling
            pass
    except OSError as error:
        raise ParameterError(f"--output {path}: cannot be written, {above}: {error.strerror}") from error


def check_one_of(tradeoff: float | None, budget: float | None) -> None:
    """Refuse both or neither."""
    if (tradeoff is None) == (budget is None):
        raise ParameterError("give either --tradeoff (loss per unit of cost) or --budget (mean cost per row at most)")
