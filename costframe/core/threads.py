"""Threads for work that releases the interpreter lock, as the engine's functions do.

The caller cuts work into the same parts for any number of threads, so results do not depend on that number.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from threading import Lock, Semaphore
from typing import TypeVar

import numpy as np

from costframe.core.errors import ParameterError, shown

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
