"""Errors of reading files, as one line that names the file."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from costframe.core.errors import CostModelError, DataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["name_file", "name_reading_errors"]


@contextlib.contextmanager
def name_reading_errors(file: str | Path) -> Iterator[None]:
    """Turn errors of reading into one line that names the file."""
    import pyarrow as pa

    try:
        yield
    except DataError as error:
        raise error if str(error).startswith(f"{file}: ") else DataError(f"{file}: {error}") from error
    except OSError as error:
        lost = isinstance(error, FileNotFoundError)
        reason = error.strerror or (f"{' '.join(str(error).split()):.200}" if lost else "not a whole file")
        raise DataError(f"{file}: cannot be read: {reason}") from error
    except (pa.ArrowException, ValueError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{file}: cannot be read: {reason:.200}") from error


@contextlib.contextmanager
def name_file(file: str | Path) -> Iterator[None]:
    """Add the file's name to errors."""
    try:
        yield
    except (CostModelError, DataError) as error:
        raise type(error)(f"{file}: {error}") from error
