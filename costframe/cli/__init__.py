"""The command line: `costframe compare`, `fit`, `cost`, `algorithms` and `datasets`.

This module imports next to nothing, so that even a very early interrupt finds `main` prepared for it.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from costframe.cli.exits import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command, those of the process by default, and end the process.

    It ends with 0; with 2 and one line on the error stream if the command was refused; with 130 if it was interrupted;
    with 141 if nobody reads its output any more.
    """
    _fill_closed_streams()
    try:
        before = signal.getsignal(signal.SIGINT)
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, _stop)  # an exception in the midst of an import may be lost or disguised
        from costframe.cli.commands import costframe

        signal.signal(signal.SIGINT, before)
        costframe.main(arguments)
    except KeyboardInterrupt:
        _stop()


def _stop(*_signal: object) -> NoReturn:
    """End at once; no command has begun."""
    os.write(2, b"interrupted, nothing was written\n")
    os._exit(INTERRUPTED)


def _fill_closed_streams() -> None:
    """Give closed standard streams a place to go, lest a file that is opened later be taken for one of them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - light, and stays open
