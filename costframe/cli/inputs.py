"""Arguments of commands, and the data sets, algorithms and scores they name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from costframe.core.errors import DataError, ParameterError
from costframe.core.prices.costs_io import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from costframe.datasets import Dataset

__all__ = ["check_fit", "check_one_of", "is_file", "open_data", "split_names"]

DEFAULT_DATA = "breast-cancer"


def is_file(data: str) -> bool:
    """Return whether DATA is a file rather than the name of a data set."""
    return Path(data).exists() or Path(data).suffix.lower() in {".csv", ".parquet"} or len(Path(data).parts) > 1


def open_data(
    data: str | None,
    costs: str | None,
    target: str | None,
    task: str | None,
    ignore: tuple[str, ...],
    categorical: tuple[str, ...],
    seed: int,
) -> Dataset:
    """Return the data set for DATA and its options."""
    from costframe.datasets import load, names, read_table

    name = data if data is not None else DEFAULT_DATA
    if is_file(name):
        if target is None:
            raise ParameterError(f"{name}: say with --target which column to predict")
        return read_table(name, target, costs, task=task, ignore=ignore, categorical=categorical, seed=seed)
    if name not in names():
        raise DataError(
            f"{name}: no such file, and no data set has this name{suggestion(name, names())}; "
            f"files end in .csv or .parquet, data sets are {', '.join(names())}"
        )
    given = {"--target": target, "--task": task, "--ignore": ignore, "--categorical": categorical}
    for option, value in given.items():
        if value:
            raise ParameterError(f"{option} is for files; the data set {name} says itself what to predict")
    if seed:
        raise ParameterError(f"--seed is for files; the data set {name} is split already")
    dataset = load(name)
    return dataset if costs is None else dataset.with_costs(costs)


def split_names(text: str | None) -> list[str] | None:
    """Return the names of a list such as `miser,stumps`."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ParameterError(f"--algorithms: expected names, separated by commas, got {text!r}")
    return names


def check_fit(algorithms: Iterable[str] | None, task: str | None, score: str | None) -> None:
    """Refuse unknown algorithms and scores, and algorithms without the task, before reading a table."""
    from costframe.core.plugins.registry import registry
    from costframe.frontier.checks import check_algorithms
    from costframe.training.scoring import score_named

    for name in algorithms or ():
        registry().algorithm(name)
    if task is not None:
        check_algorithms(task, algorithms)
    if score is not None:
        score_named(score)


def check_one_of(tradeoff: float | None, budget: float | None) -> None:
    """Refuse both --tradeoff and --budget, or neither."""
    if (tradeoff is None) == (budget is None):
        raise ParameterError("give either --tradeoff (loss per unit of cost) or --budget (mean cost per row at most)")
