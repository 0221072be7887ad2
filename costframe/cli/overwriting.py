"""Files that are there already: a command asks before it overwrites them, or needs --force."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from costframe.core.errors import ParameterError, printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["check_overwrite", "force_option", "on_terminal"]

force_option = click.option("--force", is_flag=True, help="Overwrite what --output names, without asking.")


def on_terminal() -> bool:
    """Return whether somebody is there to answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def check_overwrite(paths: Iterable[Path], *, force: bool, instead: str = "choose another place") -> None:
    """Ask before overwriting files or filled directories; refuse it if nobody is there to answer, naming --force."""
    taken = [path for path in paths if path.is_file() or (path.is_dir() and any(path.iterdir()))]
    if force or not taken:
        return
    listed = ", ".join(printable(str(path)) for path in taken)
    if not on_terminal():
        raise ParameterError(f"--output: {listed} would be overwritten; {instead}, or add --force")
    if not click.confirm(f"overwrite {listed}?", err=True):
        raise ParameterError(f"--output: {listed} was not overwritten")
