"""What a command says on the error stream beside its one line: plugins at fault, and tracebacks for their authors."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

import click

from costframe.report.streams import let_go

if TYPE_CHECKING:
    from costframe.core.errors import CostframeError

__all__ = ["Failures", "say", "say_broken", "show_traceback"]

TRACEBACK = "COSTFRAME_TRACEBACK"


def say(text: str) -> None:
    """Put one line on the error stream, if it is there."""
    _echo(" ".join(text.split()) + "\n")


def say_broken() -> None:
    """Name the plugins that cannot be loaded, with the reason."""
    from costframe.core.plugins.registry import registry

    for reason in registry().broken.values():
        say(f"broken: {reason}")


def show_traceback(error: BaseException) -> None:
    """Show where an error comes from, if the variable COSTFRAME_TRACEBACK is set."""
    if os.environ.get(TRACEBACK):
        _echo("".join(traceback.format_exception(error)))


class Failures:
    """Keeps the errors of algorithms that could not be fitted, until somebody can read them."""

    def __init__(self) -> None:
        self.errors: dict[str, CostframeError] = {}

    def __call__(self, algorithm: str, error: CostframeError) -> None:
        """Take the error of an algorithm."""
        self.errors[algorithm] = error
        show_traceback(error)

    def say(self) -> None:
        """Put a line for each on the error stream."""
        from costframe.frontier.errors import failure_text

        for algorithm, error in self.errors.items():
            say(f"left out: {failure_text(algorithm, error)}")


def _echo(text: str) -> None:
    try:
        click.echo(text, err=True, nl=False)
    except OSError:
        let_go(sys.stderr)
