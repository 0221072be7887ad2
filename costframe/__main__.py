"""The entry point of the command line, also `python -m costframe`.

This module imports very little, so that `main` handles even an early interrupt.
"""

from __future__ import annotations

import os
import sys

from costframe.cli.start import loading, stop

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
        with loading():
            _fill_closed_streams()
            from costframe.cli.commands import costframe

        costframe.main(arguments)
    except KeyboardInterrupt:
        stop()


def _fill_closed_streams() -> None:
    """Replace closed standard streams, so that a file opened later does not become one of them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - light; it stays open


if __name__ == "__main__":
    main()
