"""Ends of commands: status 0, 2 with one line on the error stream, 130 for an interrupt, 141 without a reader."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, NoReturn

import click

from costframe.cli import INTERRUPTED
from costframe.core.errors import CostframeError, TableError, printable
from costframe.core.piped import reading_once

TRACEBACK = "COSTFRAME_TRACEBACK"
REFUSED, READER_GONE = 2, 141
USED_FIRST = 5  # commands


def print_error(text: str) -> None:
    """Print one line on the error stream, if there is one."""
    _echo(printable(" ".join(text.split())) + "\n")


def print_broken_plugins() -> None:
    """Print the plugins that cannot be loaded, with the reasons."""
    from costframe.core.plugins import registry

    for reason in registry().broken.values():
        print_error(f"broken: {reason}")


def show_traceback(error: BaseException) -> None:
    """Print an error's traceback if the variable COSTFRAME_TRACEBACK is set."""
    if os.environ.get(TRACEBACK):
        _echo("\n".join(map(printable, "".join(traceback.format_exception(error)).split("\n"))))


def print_failures(failures: Mapping[str, CostframeError]) -> None:
    """Print the algorithms that could not be fitted, those with one reason in one line."""
    from costframe.study.failures import failure_text

    alike: dict[str, list[str]] = {}
    for algorithm, error in failures.items():
        alike.setdefault(str(error).removeprefix(f"{algorithm}: "), []).append(algorithm)
    for reason, names in alike.items():
        several = f"each of {', '.join(sorted(names))}: {reason}"
        print_error(f"left out: {several if len(names) > 1 else failure_text(names[0], failures[names[0]])}")


def _echo(text: str) -> None:
    try:
        click.echo(text, err=True, nl=False)
    except OSError:
        _abandon(sys.stderr)


def _abandon(stream: IO[Any]) -> None:
    from costframe.training.console import abandon  # loads rich

    abandon(stream)


class CostframeGroup(click.Group):
    """A group of commands that reports each error of a user in one line; its help shows the first commands first."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order in which they were added."""
        del ctx
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands that people use first, a line each, and the names of all others."""
        names = self.list_commands(ctx)
        with formatter.section("Commands that people use first"):
            formatter.write_dl([(name, self.commands[name].get_short_help_str()) for name in names[:USED_FIRST]])
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
        with _exit_on_error():
            status = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
            sys.stdout.flush()
        sys.exit(status if isinstance(status, int) else 0)

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        """Read the arguments; end the process before click, which has other exit statuses."""
        with _exit_on_error():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; end the process before click does."""
        with _exit_on_error(), reading_once():
            return super().invoke(ctx)


@contextlib.contextmanager
def name_written_files(written: str) -> Iterator[None]:
    """Make the message of an interrupt name the files already written."""
    try:
        yield
    except KeyboardInterrupt:
        _end(f"interrupted after writing {written}", INTERRUPTED)


def end_interrupted(text: str) -> NoReturn:
    """End the process after an interrupt, with one line."""
    _end(text, INTERRUPTED)


@contextlib.contextmanager
def _exit_on_error() -> Iterator[None]:
    """End the process with one line on errors of the user or the machine."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError as error:
        with _exit_on_error():
            click.echo(error.format_message())
            sys.stdout.flush()
        sys.exit(0)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "costframe"
        _end(f"error: {error.format_message().rstrip('.')} (see {where} --help)", REFUSED)
    except click.ClickException as error:
        _end(f"error: {error.format_message()}", REFUSED)
    except CostframeError as error:
        show_traceback(error)
        text, *lines = str(error).split("\n") if isinstance(error, TableError) else [str(error)]
        print_error(f"error: {text}")
        for line in lines:
            _echo(f"  {line}\n")
        sys.exit(REFUSED)
    except BrokenPipeError:  # the reader of the output has gone
        _abandon(sys.stdout)
        sys.exit(READER_GONE)
    except OSError as error:
        _abandon(sys.stdout)
        _end(f"error: {_error_text(error)}", REFUSED)
    except MemoryError:
        _end("error: not enough memory for this table", REFUSED)
    except (click.Abort, KeyboardInterrupt):
        _end("interrupted, nothing was written", INTERRUPTED)


def _end(text: str, status: int) -> NoReturn:
    print_error(text)
    sys.exit(status)


def _error_text(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason
