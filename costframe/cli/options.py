"""Options of several commands, and checks of their values before any work."""

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
    """Return the path of a file or directory to write."""
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
    help="Prices of features and resources, TOML or JSON. [default: price 1 for every feature]",
)


folds_option = click.option(
    "--folds", type=click.IntRange(0), metavar="N",
    help="Estimate scores on N folds of train and valid, with a further fit for each; 0 uses valid alone. [default: 5 "
    "if valid has fewer than 1,000 rows, else 0]",
)  # fmt: skip


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading DATA."""
    for option in reversed([
        costs_option,
        click.option("--target", metavar="COL", type=text, help="Column to predict, if DATA is a file."),
        click.option(
            "--task",
            type=click.Choice(["classification", "regression", "ranking"]),
            help="By default chosen by the target: text, truth values and few whole numbers are classes; a column qid "
            "makes a ranking; everything else is regression.",
        ),
        click.option(
            "--ignore", metavar="COL", type=text, multiple=True, help="Column to leave out; may be repeated."
        ),
        click.option(
            "--categorical", metavar="COL", type=text, multiple=True,
            help="Feature to split by categories, texts or numbers; may be repeated. Categories of a Parquet file are "
            "found without it.",
        ),
        click.option(
            "--seed", type=click.IntRange(0), default=0, show_default=True,
            help="Seed for splitting the rows, unless a column split holds train, valid or test.",
        ),
    ]):  # fmt: skip
        command = option(command)
    return command
