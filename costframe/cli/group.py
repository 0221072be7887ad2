"""The group of all commands, each of which loads when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

import click
from attrs import frozen

from costframe.cli.exits import exit_on_error
from costframe.core.piped import reading_once

USED_FIRST = 5  # commands


@frozen
class Entry:
    """A command of a group, without its module being loaded."""

    module: str  # it has the command under the command's own name
    summary: str  # its line in the help of the group


class CostframeGroup(click.Group):
    """A group of commands that reports each error of a user in one line; its help shows the first commands first.

    The module of a command loads when the command, or its help, is asked for.
    """

    def __init__(self, name: str, *, entries: Mapping[str, Entry], **more: Any) -> None:
        super().__init__(name, **more)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, those that people use first in front."""
        del ctx
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command, or return None if there is none of this name."""
        del ctx
        if (entry := self.entries.get(cmd_name)) is None:
            return None
        command: click.Command = getattr(import_module(entry.module), cmd_name)
        command.short_help = entry.summary
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands that people use first, a line each, and the names of all others."""
        names = self.list_commands(ctx)
        with formatter.section("Commands that people use first"):
            formatter.write_dl([(name, self.entries[name].summary) for name in names[:USED_FIRST]])
        if others := names[USED_FIRST:]:
            with formatter.section("Other commands"):
                formatter.write_text(f"{', '.join(others)} (costframe COMMAND --help says more)")

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run a command and end the process, for any `standalone_mode`."""
        del standalone_mode
        with exit_on_error():
            status = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
            sys.stdout.flush()
        sys.exit(status if isinstance(status, int) else 0)

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        """Read the arguments; end the process before click, which has other exit statuses."""
        with exit_on_error():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; end the process before click does."""
        with exit_on_error(), reading_once():
            return super().invoke(ctx)
