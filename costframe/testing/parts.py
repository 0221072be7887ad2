"""Training on rows dealt to several workers, in threads of this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from costframe.core.errors import WorkersError
from costframe.core.workers import MAX, Reduction, Workers

T = TypeVar("T")

_SECONDS = 60.0  # until a worker gives another one up


@final
class _ThreadWorkers(Workers):
    """Workers that are threads, and meet at a barrier."""

    def __init__(self, rank: int, barrier: Barrier, given: list[Any]) -> None:
        self.rank, self.count = rank, len(given)
        self._barrier, self._given = barrier, given

    def _combine(self, values: NDArray[Any], operation: Reduction) -> NDArray[Any]:
        self._given[self.rank] = values.copy()
        try:
            self._barrier.wait()
            arrays = list(self._given)
            self._barrier.wait()
        except BrokenBarrierError:
            raise WorkersError(f"workers: number {self.rank} waited for one that has ended") from None
        if len({(array.shape, array.dtype) for array in arrays}) > 1:
            raise WorkersError(f"workers: combine different arrays, {[array.shape for array in arrays]}")
        return np.asarray((np.max if operation == MAX else np.sum)(arrays, axis=0))


def run_together(count: int, function: Callable[[Workers], T]) -> list[T]:
    """Call a function on `count` workers at once, and return their results by rank.

    An error of one ends all; the first that is not for the end of another one is raised.
    """
    barrier, given = Barrier(count, timeout=_SECONDS), [None] * count

    def work(rank: int) -> T:
        try:
            return function(_ThreadWorkers(rank, barrier, given))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(count) as pool:
        jobs = [pool.submit(work, rank) for rank in range(count)]
        errors = [error for job in jobs if (error := job.exception()) is not None]
    if errors:
        raise next((error for error in errors if not isinstance(error, WorkersError)), errors[0])
    return [job.result() for job in jobs]
