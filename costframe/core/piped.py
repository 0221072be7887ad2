"""What comes through a pipe or standard input, which is read once: a copy that can be read anywhere and again."""

from __future__ import annotations

import atexit
import contextlib
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

from costframe.core.errors import DataError

STANDARD_STREAM = "-"
"""The name of standard input, and of standard output."""
STANDARD_INPUT = Path("standard input")
"""The name of standard input in errors."""

_STREAMS = ("/dev/", "/proc/")
_COPIES: ContextVar[dict[Path, Path] | None] = ContextVar("_COPIES", default=None)


def is_piped(path: Path) -> bool:
    """Return whether a path is standard input, a pipe or another stream, as a shell's <(command) is."""
    if str(path) == STANDARD_STREAM or path.as_posix().startswith(_STREAMS):
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextlib.contextmanager
def reading_once() -> Iterator[None]:
    """Read each stream once until the end, however often it is asked for, and remove the copies then."""
    copies: dict[Path, Path] = {}
    token = _COPIES.set(copies)
    try:
        yield
    finally:
        _COPIES.reset(token)
        for copy in copies.values():
            copy.unlink(missing_ok=True)


def copy_stream(path: Path, suffix: str) -> Path:
    """Return a file with the content of a stream, in `reading_once` the same each time; it ends with the process."""
    copies = _COPIES.get()
    if copies is not None and path in copies:
        return copies[path]
    with tempfile.NamedTemporaryFile(prefix="costframe-", suffix=suffix, delete=False) as file:
        copy = Path(file.name)
        if copies is None:
            atexit.register(copy.unlink, missing_ok=True)
        else:
            copies[path] = copy
        if str(path) == STANDARD_STREAM:
            shutil.copyfileobj(_standard_input(), file)
        else:
            with path.open("rb") as stream:
                shutil.copyfileobj(stream, file)
    return copy


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise DataError("expected rows, got a closed stream")
    stream: Any = sys.stdin
    return stream.buffer  # type: ignore[no-any-return]
