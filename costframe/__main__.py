"""The entry point of the command line, also `python -m costframe`.

This module imports very little, so that `main` handles even an early interrupt.
"""

from __future__ import annotations

import os
import signal
import sys

from costframe.cli import INTERRUPTED

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command with `arguments`, by default those of the process, and end the process.

    The exit status is 0, or 2 for an error of the user, with one line on the error stream, 130 for an interrupt, and
    141 if the reader of the output has gone.
    """
    try:
        before = signal.getsignal(signal.SIGINT)
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, _stop)  # an exception during an import may be lost or changed
        _fill_closed_streams()
        try:
            from costframe.cli.commands import costframe
        except ModuleNotFoundError as error:
            if error.name not in {"click", "rich", "pyarrow"}:
                raise
            os.write(2, f"Error: the command line needs {error.name}: pip install 'costframe[cli]'\n".encode())
            sys.exit(2)

        signal.signal(signal.SIGINT, before)
        costframe.main(arguments)
    except KeyboardInterrupt:
        _stop()


def _stop(*_signal: object) -> NoReturn:
    """End the process; no command has begun."""
    os.write(2, b"interrupted, nothing was written\n")
    os._exit(INTERRUPTED)


def _fill_closed_streams() -> None:
    """Replace closed standard streams, so that a file opened later does not become one of them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - light; it stays open


if __name__ == "__main__":
    main()
