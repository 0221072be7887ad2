"""Threads and memory of this machine, and arrays in temporary files where it is too small for them."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock, Semaphore
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from costframe.core.errors import DataError, ParameterError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

CHUNK = 4096  # rows that one thread takes at a time
_MOST = 1024  # threads; more help on no machine

A = TypeVar("A")
B = TypeVar("B")

_pools: dict[int, tuple[ThreadPoolExecutor, Semaphore]] = {}  # by size; the semaphore counts idle threads
_lock = Lock()
_limit: ContextVar[int | None] = ContextVar("_limit", default=None)  # for work that names no number
os.register_at_fork(after_in_child=_pools.clear)  # a child inherits no threads


def thread_count(n_jobs: int | None = None) -> int:
    """Return the number of threads for `n_jobs`; None is that of `limit_threads`, else all cores, as for -1."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise ParameterError(f"n_jobs: expected a whole number other than 0, or None, got {shown(n_jobs)}")
    if n_jobs is not None and n_jobs > 0:
        return int(min(n_jobs, _MOST))
    if n_jobs is None and (limit := _limit.get()) is not None:
        return limit
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, available + 1 + n_jobs) if n_jobs is not None and n_jobs < 0 else available


class limit_threads:  # noqa: N801 - a context manager, which begins in a fourth of a generator's time
    """Let work of this thread that names no number of threads use those of `n_jobs`; None changes nothing."""

    def __init__(self, n_jobs: int | None) -> None:
        self._n_jobs = n_jobs

    def __enter__(self) -> None:
        self._token = _limit.set(_limit.get() if self._n_jobs is None else thread_count(self._n_jobs))

    def __exit__(self, *_: object) -> None:
        _limit.reset(self._token)


def run_parallel(function: Callable[[A], B], parts: Iterable[A], n_threads: int) -> list[B]:
    """Apply `function` to every part and return the results in order; the caller's thread works too.

    An exception in one part is raised when all running parts have ended.
    """
    work = list(parts)
    if n_threads <= 1 or len(work) <= 1:
        return [function(part) for part in work]
    results: list[B | None] = [None] * len(work)
    waiting = iter(range(len(work)))  # next() on it is atomic, so threads share it without a lock

    def drain() -> None:
        for index in waiting:
            results[index] = function(work[index])

    helpers = _submit(drain, n_threads - 1, min(n_threads, len(work)) - 1)
    try:
        drain()
    finally:
        # A helper without a thread has no work left, and waiting for it could be a deadlock.
        started = [helper for helper in helpers if not helper.cancel()]
        errors = [error for error in (helper.exception() for helper in started) if error is not None]
    if errors:
        raise errors[0]
    return results  # type: ignore[return-value]


def over_chunks(function: Callable[[slice], B], n_rows: int, n_jobs: int | None, most: int = CHUNK) -> list[B]:
    """Apply `function` to consecutive slices of at most `most` rows, cut alike for any number of threads."""
    chunks = [slice(start, min(start + most, n_rows)) for start in range(0, n_rows, most)]
    return run_parallel(function, chunks, thread_count(n_jobs))


def _submit(function: Callable[[], None], size: int, count: int) -> list[Future[None]]:
    """Call `function` on at most `count` idle threads of a pool; a queued call would keep its references alive."""
    with _lock:
        if size not in _pools:
            _pools[size] = ThreadPoolExecutor(size, thread_name_prefix="costframe"), Semaphore(size)
        pool, idle = _pools[size]
    helpers: list[Future[None]] = []
    while len(helpers) < count and idle.acquire(blocking=False):
        helpers.append(pool.submit(function))
        helpers[-1].add_done_callback(lambda _: idle.release())
    return helpers


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

    The files are in the system's folder for temporary files, and vanish with the arrays. A DataError says that there is
    no room for them.
    """
    size = sum(rows * columns for rows, columns in shapes)
    if fits_in_memory(size, 0.5):
        return [np.empty(shape, np.uint8) for shape in shapes]
    return [_in_file(shape) for shape in shapes]


def rows_in_file(blocks: Iterable[NDArray[np.float64]], columns: int) -> NDArray[np.float64]:
    """Write rows to a temporary file, one block after the other, and return them mapped into memory: float64 (n, d).

    A DataError says that there is no room for them.
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
