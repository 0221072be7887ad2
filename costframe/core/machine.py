"""Threads and memory of this machine, and arrays in temporary files where it is too small for them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

import numpy as np

from costframe.core.arrays import F8, U8
from costframe.core.calls import Call, CallEnded, check_call
from costframe.core.errors import DataError, ParameterError, shown

CHUNK = 4096  # rows that one thread takes at a time
_MOST = 1024  # threads; more help on no machine

A = TypeVar("A")
B = TypeVar("B")

_pools: dict[int, tuple[ThreadPoolExecutor, list[Future[None]]]] = {}  # by size; with calls, some of which have ended
_lock = Lock()
_limit: ContextVar[int | None] = ContextVar("_limit", default=None)  # for work that names no number
os.register_at_fork(after_in_child=_pools.clear)  # a child inherits no threads

_LIMITS = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"  # of a container
_UNKNOWN = 8 << 30  # where the system does not say


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


def run_parallel(
    function: Callable[[A], B], parts: Iterable[A], n_threads: int, stop: Callable[[], object] = lambda: None
) -> list[B]:
    """Apply `function` to every part and return the results in order; the caller's thread works too.

    After an exception in one part, or an interrupt, no other part begins, nor one of calls within the parts; it is
    raised when the running ones have ended. `stop` is called before, for parts that wait for others.
    """
    work = list(parts)
    if n_threads <= 1 or len(work) <= 1:
        return [function(part) for part in _until_ended(work)]
    running = _Running(function, work, stop)
    helpers: list[Future[None]] = []
    try:
        _submit(running.drain, n_threads - 1, min(n_threads, len(work)) - 1, helpers)
        running.drain()
        _wait(helpers)
    except BaseException:  # an interrupt between two parts
        running.end()
        raise
    finally:
        _wait(helpers)
    return running.finish()


class _Running(Generic[A, B]):
    """Parts that threads take one after the other, until all are taken or one has failed."""

    def __init__(self, function: Callable[[A], B], work: list[A], stop: Callable[[], object]) -> None:
        self._function, self._work, self._stop, self._call = function, work, stop, Call()
        self._waiting = iter(range(len(work)))  # next() on it is atomic, so threads share it without a lock
        self._results: list[B | None] = [None] * len(work)
        self._errors: dict[int, BaseException] = {}

    def drain(self) -> None:
        """Work on parts that nobody has taken."""
        with self._call.parts():
            for index in self._waiting:
                if self._call.is_ended:
                    self.end()
                    break
                try:
                    self._results[index] = self._function(self._work[index])
                except BaseException as error:  # noqa: BLE001 - `finish` raises it
                    self._errors[index] = error
                    self.end()

    def end(self) -> None:
        """Let no other part begin."""
        self._call.end()
        self._stop()

    def finish(self) -> list[B]:
        """Return the results in order, or raise an interrupt, or else the error of the first part that failed."""
        causes = {index: error for index, error in self._errors.items() if not isinstance(error, CallEnded)}
        if causes:
            raise causes[min(causes, key=lambda index: (isinstance(causes[index], Exception), index))]
        if self._call.is_ended:
            raise CallEnded
        return self._results  # type: ignore[return-value]


def _until_ended(work: Iterable[A]) -> Iterator[A]:
    """Yield parts until the call that this thread works for has ended."""
    for part in work:
        check_call()
        yield part


def _wait(helpers: Iterable[Future[None]]) -> None:
    """Wait for those that have a thread; one without has no work left, and waiting for it could be a deadlock."""
    for helper in helpers:
        if not helper.cancel():
            helper.exception()


def over_chunks(function: Callable[[slice], B], n_rows: int, n_jobs: int | None, most: int = CHUNK) -> list[B]:
    """Apply `function` to consecutive slices of at most `most` rows, cut alike for any number of threads."""
    chunks = [slice(start, min(start + most, n_rows)) for start in range(0, n_rows, most)]
    return run_parallel(function, chunks, thread_count(n_jobs))


def _submit(function: Callable[[], None], size: int, count: int, helpers: list[Future[None]]) -> None:
    """Call `function` on at most `count` idle threads of a pool; a queued call would keep its references alive."""
    with _lock:
        if size not in _pools:
            _pools[size] = ThreadPoolExecutor(size, thread_name_prefix="costframe"), []
        pool, busy = _pools[size]
        busy[:] = [future for future in busy if not future.done()]
        while len(helpers) < count and len(busy) < size:
            helpers.append(pool.submit(function))
            busy.append(helpers[-1])


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


def empty_bytes(*shapes: tuple[int, int]) -> list[U8]:
    """Return arrays of bytes of these shapes, in temporary files if together they are more than half of the memory.

    The files are in the system's folder for temporary files, and vanish with the arrays. A DataError says that there is
    no room for them.
    """
    size = sum(rows * columns for rows, columns in shapes)
    if fits_in_memory(size, 0.5):
        return [np.empty(shape, np.uint8) for shape in shapes]
    return [_in_file(shape) for shape in shapes]


def rows_in_file(blocks: Iterable[F8], columns: int) -> F8:
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


def _in_file(shape: tuple[int, int]) -> U8:
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
