"""How a command ends: 0, or 2 with one line on the error stream, or 130 when interrupted."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from costframe.core.errors import CostframeError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CostframeGroup"]

REFUSED, INTERRUPTED, READER_GONE = 2, 130, 141


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
        try:
            status = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
            sys.stdout.flush()
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            sys.exit(0)
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else "costframe"
            _refuse(f"{error.format_message().rstrip('.')} (see {where} --help)")
        except click.ClickException as error:
            _refuse(error.format_message())
        except CostframeError as error:
            _refuse(str(error))
        except BrokenPipeError:  # whoever read our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(READER_GONE)
        except OSError as error:
            _refuse(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
        except MemoryError:
            _refuse("not enough memory for this table")
        except (click.Abort, KeyboardInterrupt):
            click.echo("interrupted, nothing was written", err=True)
            sys.exit(INTERRUPTED)
        sys.exit(status if isinstance(status, int) else 0)


def _refuse(text: str) -> NoReturn:
    click.echo("error: " + " ".join(text.split()), err=True)
    sys.exit(REFUSED)
