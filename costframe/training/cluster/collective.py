"""Workers that combine by xgboost's collective operations, over sockets that xgboost opens and closes."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, final

from costframe.core.errors import WorkersError
from costframe.core.workers import ALONE, MAX, Operation, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Tracker", "join_workers"]

_PATIENCE = 0.2  # seconds between looks whether the training is still wanted


@final
class Tracker:
    """The meeting point of the workers of one training; it ends with this object.

    Parameters
    ----------
    count : int
        Number of workers.
    host : str
        Address of this machine, as the workers reach it.
    seconds : float
        Until workers that do not come are given up.
    """

    def __init__(self, count: int, host: str, seconds: float) -> None:
        from xgboost.tracker import RabitTracker

        self._tracker = RabitTracker(count, host, sortby="task", timeout=_whole(seconds))
        self._tracker.start()
        self.address: dict[str, Any] = self._tracker.worker_args()

    def __del__(self) -> None:
        with suppress(Exception):  # it reports workers that it has lost, as they do themselves
            self._tracker.free()


@contextmanager
def join_workers(
    rank: int, count: int, address: Mapping[str, Any], seconds: float, is_wanted: Callable[[], bool]
) -> Iterator[Workers]:
    """Meet the other workers of a training; leave them at the end, and if this one fails, so that they end too.

    Parameters
    ----------
    rank, count : int
        Number of this worker, from 0, and of all.
    address : mapping
        That of the `Tracker`; a worker alone needs none.
    seconds : float
        Until a worker that does not answer is given up.
    is_wanted : callable
        Whether anybody still waits for the model.

    Raises
    ------
    WorkersError
        If a worker does not come in time.
    """
    if count == 1:
        yield ALONE
        return
    workers = _CollectiveWorkers(rank, count, seconds, is_wanted)
    try:
        workers.join(address)
        yield workers
    finally:
        workers.leave()


@final
class _CollectiveWorkers(Workers):
    """Workers with one thread for xgboost, whose communicator belongs to the thread that opens it."""

    def __init__(self, rank: int, count: int, seconds: float, is_wanted: Callable[[], bool]) -> None:
        self.rank, self.count = rank, count
        self._seconds, self._is_wanted = seconds, is_wanted
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        # It may wait for others when this worker already ends, so nobody waits for it.
        Thread(target=_work_off, args=(self._calls,), name="costframe-workers", daemon=True).start()

    def join(self, address: Mapping[str, Any]) -> None:
        """Meet the others."""
        from xgboost import collective, set_config

        # Workers are ranked by the text of their task.
        more = {"dmlc_task_id": f"{self.rank:09d}", "dmlc_timeout": _whole(self._seconds), "dmlc_retry": 3}
        self._call(lambda: set_config(verbosity=0))  # of this thread alone
        self._call(lambda: collective.init(**{**address, **more}))

    def leave(self) -> None:
        """Close the connections when what is under way has ended; do not wait for it."""
        from xgboost import collective

        self._calls.put((Future(), collective.finalize))
        self._calls.put(None)

    def _combine(self, values: NDArray[Any], operation: Operation) -> NDArray[Any]:
        from xgboost import collective

        how = collective.Op.MAX if operation == MAX else collective.Op.SUM
        found: NDArray[np.int64] = self._call(lambda: collective.allreduce(values, how))
        return found

    def _call(self, function: Callable[[], Any]) -> Any:
        """Call a function on the thread of the communicator; give up when time is up or nobody wants the model."""
        future: Future[Any] = Future()
        self._calls.put((future, function))
        begin, left = time.monotonic(), self._seconds
        while self._is_wanted():
            try:
                return future.result(min(_PATIENCE, left))
            except TimeoutError:
                left = begin + self._seconds - time.monotonic()
            except Exception as error:
                raise self._error_of(time.monotonic() - begin) from error
            if left <= 0:
                raise self._error_of(self._seconds)
        raise WorkersError("workers: the training was cancelled")

    def _error_of(self, waited: float) -> WorkersError:
        if waited < 0.9 * self._seconds:
            return WorkersError("workers: another worker of this training has ended, or was lost")
        return WorkersError(f"workers: another worker of this training did not answer within {self._seconds:g} s")


def _work_off(calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]) -> None:
    while (call := calls.get()) is not None:
        future, function = call
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            future.set_exception(error)


def _whole(seconds: float) -> int:
    return max(1, math.ceil(seconds))
