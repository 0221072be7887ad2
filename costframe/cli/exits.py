"""Ends of commands: status 0, 2 with one line on the error stream, 130 for an interrupt, 141 without a reader."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator
from typing import IO, Any, NoReturn

import click

from costframe.cli.start import INTERRUPTED, REFUSED
from costframe.core.errors import CostframeError, TableError, printable

TRACEBACK = "COSTFRAME_TRACEBACK"
READER_GONE = 141  # exit status


def print_error(text: str) -> None:
    """Print one line on the error stream, if there is one."""
    _echo(printable(" ".join(text.split())) + "\n")


def show_traceback(error: BaseException) -> None:
    """Print an error's traceback if the variable COSTFRAME_TRACEBACK is set."""
    if os.environ.get(TRACEBACK):
        _echo("\n".join(map(printable, "".join(traceback.format_exception(error)).split("\n"))))


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
def exit_on_error() -> Iterator[None]:
    """End the process with one line on errors of the user or the machine."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError as error:
        with exit_on_error():
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


def _echo(text: str) -> None:
    try:
        click.echo(text, err=True, nl=False)
    except OSError:
        _abandon(sys.stderr)


def _abandon(stream: IO[Any]) -> None:
    from costframe.training.console import abandon  # loads rich

    abandon(stream)
