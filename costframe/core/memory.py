"""Memory of this machine, and arrays in temporary files where it is too small for them."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

__all__ = ["empty_bytes", "fits_in_memory", "memory_size", "rows_in_file", "share_in_memory"]

_LIMITS = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"  # of a container
_UNKNOWN = 8 << 30  # where the system does not say


def memory_size() -> int:
    """Return the bytes of memory that this process may use: those of the machine, or of its container."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        size = _UNKNOWN
    for path in _LIMITS:
        try:
            size = min(size, int(Path(path).read_text()))
        except (OSError, ValueError):
            continue
    return size


def fits_in_memory(size: int, share: float) -> bool:
    """Return whether this number of bytes is at most a share of the memory."""
    return size <= share * memory_size()


def share_in_memory(size: int, share: float) -> float:
    """Return which part of this number of bytes is at most a share of the memory, from 0 to 1."""
    return min(1.0, share * memory_size() / size) if size else 1.0


def empty_bytes(*shapes: tuple[int, int]) -> list[NDArray[np.uint8]]:
    """Return arrays of bytes of these shapes, in temporary files if together they are more than half of the memory.

    The files are in the system's folder for temporary files, and vanish with the arrays.

    Raises
    ------
    DataError
        If there is no room for them.
    """
    size = sum(rows * columns for rows, columns in shapes)
    if fits_in_memory(size, 0.5):
        return [np.empty(shape, np.uint8) for shape in shapes]
    return [_in_file(shape) for shape in shapes]


def rows_in_file(blocks: Iterable[NDArray[np.float64]], columns: int) -> NDArray[np.float64]:
    """Write rows to a temporary file, one block after the other, and return them mapped into memory: float64 (n, d).

    Raises
    ------
    DataError
        If there is no room for them.
    """
    rows = 0
    with tempfile.TemporaryFile() as file:
        for block in blocks:
            with _name_full_disk("rows", 8 * columns * (rows + len(block))):
                file.write(np.ascontiguousarray(block, np.float64).data)
                file.flush()
            rows += len(block)
        if not rows * columns:
            return np.empty((rows, columns))
        return np.asarray(np.memmap(file, np.float64, "r+", shape=(rows, columns)))


def _in_file(shape: tuple[int, int]) -> NDArray[np.uint8]:
    size = shape[0] * shape[1]
    with _name_full_disk("bins", size), tempfile.TemporaryFile() as file:
        if hasattr(os, "posix_fallocate"):  # else a full disk would end the process at some later write
            os.posix_fallocate(file.fileno(), 0, size)
        return np.asarray(np.memmap(file, np.uint8, "w+", shape=shape))


@contextmanager
def _name_full_disk(what: str, size: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"the table: its {what}, {size / 1e9:.1f} GB, fit neither in memory nor in {tempfile.gettempdir()}: "
            f"{error.strerror}; TMPDIR names another folder for temporary files"
        ) from error
