"""How a command ends: 0, or 2 with one line on the error stream, or 130 when interrupted, or 141 without a reader."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from costframe.cli.exits import INTERRUPTED
from costframe.cli.messages import say, show_traceback
from costframe.core.errors import CostframeError
from costframe.report.streams import let_go

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["CostframeGroup", "writing_done"]

REFUSED, READER_GONE = 2, 141


class CostframeGroup(click.Group):
    """A group of commands whose users' errors are one clear line each."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run a command and end the process, whatever `standalone_mode` says."""
        del standalone_mode
        with _ending():
            status = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
            sys.stdout.flush()
        sys.exit(status if isinstance(status, int) else 0)

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        """Read the arguments; end before click does, which knows other ends."""
        with _ending():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; end before click does."""
        with _ending():
            return super().invoke(ctx)


@contextlib.contextmanager
def writing_done(written: str) -> Iterator[None]:
    """Let an interrupt from here on tell what is written already."""
    try:
        yield
    except KeyboardInterrupt:
        _end(f"interrupted after writing {written}", INTERRUPTED)


@contextlib.contextmanager
def _ending() -> Iterator[None]:
    """End the process on whatever a user or a machine does, with one line."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError as error:
        with _ending():
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
        _end(f"error: {error}", REFUSED)
    except BrokenPipeError:  # whoever read our output has seen enough
        let_go(sys.stdout)
        sys.exit(READER_GONE)
    except OSError as error:
        let_go(sys.stdout)
        _end(f"error: {_shown(error)}", REFUSED)
    except MemoryError:
        _end("error: not enough memory for this table", REFUSED)
    except (click.Abort, KeyboardInterrupt):
        _end("interrupted, nothing was written", INTERRUPTED)


def _end(text: str, status: int) -> NoReturn:
    say(text)
    sys.exit(status)


def _shown(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason
