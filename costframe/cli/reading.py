"""The options that say how a command reads DATA, and with which prices, as one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from attrs import frozen

from costframe.cli.arguments import text

_TASKS = click.Choice(["classification", "regression", "ranking"])
_PARTS = click.Choice(["train", "valid", "test"])
# Settings of each option, by the name of its field.
_OPTIONS: dict[str, dict[str, Any]] = {
    "costs": {"metavar": "FILE", "type": text, "help": "Prices of features and resources, TOML or JSON."},
    "target": {"metavar": "COL", "type": text, "help": "Column to predict, if DATA is a file."},
    "part": {"type": _PARTS, "help": "Use only the rows of this part."},
    "task": {
        "type": _TASKS,
        "help": "By default chosen by the target: text, truth values and few whole numbers are classes; a column qid "
        "makes a ranking; everything else is regression.",
    },
    "ignore": {
        "metavar": "COL", "type": text, "multiple": True, "help": "Column to leave out; may be repeated."
    },
    "categorical": {
        "metavar": "COL", "type": text, "multiple": True,
        "help": "Feature to split by categories, texts or numbers; may be repeated. Texts of few values, and "
        "categories of a Parquet file, are split so without it.",
    },
    "missing": {
        "metavar": "TEXT", "type": text, "multiple": True,
        "help": "Text of a table file that stands for a missing value, such as haemolysed; may be repeated.",
    },
    "allow_unknown": {
        "is_flag": True,
        "help": "Go on where, in a column, most rows have labels that the model does not know, or no row has a value.",
    },
    "group": {
        "metavar": "COL", "type": text,
        "help": "Column that says whose a row is, such as patient_id: no feature. Its rows stay in one part and one "
        "fold, and errors are those of fresh groups.",
    },
    "keep_ids": {
        "metavar": "COL", "type": text, "multiple": True,
        "help": "Column that is a feature although it looks like an id; may be repeated.",
    },
    "records": {
        "default": None,
        "help": "Empty cells of all columns with a price are tests that nobody made; or, with --no-records, what the "
        "tests answered. [default: as the prices say by absent]",
    },
    "seed": {
        "type": click.IntRange(0), "metavar": "N",
        "help": "Seed for splitting the rows into train, valid and test, if they do not come in these parts. "
        "[default: 0]",
    },
}  # fmt: skip
_OFF = {"records": "/--no-records"}
# Options of a table to train on.
FURTHER = "task", "ignore", "categorical", "missing", "group", "keep_ids", "records", "seed"


@frozen
class ReadingOptions:
    """How a command reads DATA, and with which prices; an option that the command lacks has its default."""

    costs: str | None = None  # file of prices
    target: str | None = None
    part: str | None = None  # {"train", "valid", "test"}: the rows to use; None uses all
    task: str | None = None  # {"classification", "regression", "ranking"}
    ignore: tuple[str, ...] = ()  # columns to leave out
    categorical: tuple[str, ...] = ()  # features to split by categories
    missing: tuple[str, ...] = ()  # further texts that stand for a missing value
    allow_unknown: bool = False  # whether most rows may have labels that a model does not know, or none a value
    group: str | None = None  # column that says whose a row is
    keep_ids: tuple[str, ...] = ()  # features that look like ids
    records: bool | None = None  # whether empty cells of priced columns are tests that nobody made
    seed: int | None = None  # of the split into parts

    @property
    def of_table(self) -> dict[str, Any]:
        """The arguments of `read_table` beside the file and the prices."""
        return {name: getattr(self, name) for name in ("target", *FURTHER)} | {"seed": self.seed or 0}

    @property
    def for_files(self) -> dict[str, Any]:
        """The options that only a file needs, by their names on the command line; not those that data sets have too."""
        return {flag_of(name): getattr(self, name) for name in ("target", *FURTHER) if name not in {"seed", "records"}}


def flag_of(name: str) -> str:
    """Return the option of a field as users write it."""
    return "--keep-id" if name == "keep_ids" else f"--{name.replace('_', '-')}"


def reading_options(*names: str, **changes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add options of reading to a command, by the names of their fields; `changes` are of their settings."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            flags = flag_of(name) + _OFF.get(name, "")
            command = click.option(flags, name, **_OPTIONS[name] | changes)(command)
        return command

    return add


def first_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for a table to train on that people use first: prices and target."""
    about = f"{_OPTIONS['costs']['help']} [default: price 1 for every feature]"
    return reading_options("costs", help=about)(reading_options("target")(command))


# Stands below the functions that it names.
further_options = reading_options(*FURTHER)
