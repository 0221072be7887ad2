"""Standard streams whose reader has gone."""

from __future__ import annotations

import contextlib
import os
from typing import IO, Any

__all__ = ["abandon"]


def abandon(stream: IO[Any]) -> None:
    """Redirect a broken stream to nowhere, so that the interpreter does not fail on it at its end."""
    with contextlib.suppress(OSError, ValueError):  # streams of tests have no file number
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)
