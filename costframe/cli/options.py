"""Kinds of values that options and arguments take, checked before any work."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["amount", "costs_option", "folds_option", "reading_options", "target_path", "text"]


def text(value: str) -> str:
    """Return a text that is not empty."""
    if not value.strip():
        raise click.BadParameter("expected a text, got an empty one")
    return value


def target_path(value: str) -> Path:
    """Return the path of what is to be written."""
    return Path(text(value))


def amount(value: str) -> float:
    """Return a finite number >= 0."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise click.BadParameter(f"expected a finite number >= 0, got {value!r}")
    return number


costs_option = click.option(
    "--costs",
    metavar="FILE",
    type=text,
    help="Prices of features and resources, TOML or JSON. [default: one for every feature]",
)


folds_option = click.option(
    "--folds", type=click.IntRange(0), metavar="N",
    help="Estimate scores on N folds of train and valid, each fit once more for each; 0: on valid alone. [default: 5 "
    "where valid has fewer than 1,000 rows, else 0]",
)  # fmt: skip


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how DATA is read."""
    for option in reversed([
        costs_option,
        click.option("--target", metavar="COL", type=text, help="The column to predict, where DATA is a file."),
        click.option(
            "--task",
            type=click.Choice(["classification", "regression", "ranking"]),
            help="By default told by the target: text, truth values and few whole numbers are classes; a column qid "
            "makes a ranking; all else is regression.",
        ),
        click.option(
            "--ignore", metavar="COL", type=text, multiple=True, help="A column to leave out; may be repeated."
        ),
        click.option(
            "--categorical", metavar="COL", type=text, multiple=True,
            help="A feature to split by categories, texts or numbers; may be repeated. Those that a Parquet file "
            "stores as categories need not be named.",
        ),
        click.option(
            "--seed", type=click.IntRange(0), default=0, show_default=True,
            help="Splits the rows, unless a column split says train, valid or test.",
        ),
    ]):  # fmt: skip
        command = option(command)
    return command
