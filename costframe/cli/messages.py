"""Messages on the error stream: faults of plugins, and tracebacks for their authors."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

import click

from costframe.report.streams import abandon

if TYPE_CHECKING:
    from costframe.core.errors import CostframeError

__all__ = ["Failures", "print_broken_plugins", "print_error", "show_traceback"]

TRACEBACK = "COSTFRAME_TRACEBACK"


def print_error(text: str) -> None:
    """Print one line on the error stream, if there is one."""
    _echo(" ".join(text.split()) + "\n")


def print_broken_plugins() -> None:
    """Print the plugins that cannot be loaded, with the reasons."""
    from costframe.core.plugins.registry import registry

    for reason in registry().broken.values():
        print_error(f"broken: {reason}")


def show_traceback(error: BaseException) -> None:
    """Print an error's traceback if the variable COSTFRAME_TRACEBACK is set."""
    if os.environ.get(TRACEBACK):
        _echo("".join(traceback.format_exception(error)))


class Failures:
    """A collection of the errors of algorithms that could not be fitted, to print after the progress bar."""

    def __init__(self) -> None:
        self.errors: dict[str, CostframeError] = {}

    def __call__(self, algorithm: str, error: CostframeError) -> None:
        """Add the error of an algorithm."""
        self.errors[algorithm] = error
        show_traceback(error)

    def print(self) -> None:
        """Print a line for each error on the error stream."""
        from costframe.frontier.errors import failure_text

        for algorithm, error in self.errors.items():
            print_error(f"left out: {failure_text(algorithm, error)}")


def _echo(text: str) -> None:
    try:
        click.echo(text, err=True, nl=False)
    except OSError:
        abandon(sys.stderr)
