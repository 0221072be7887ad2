"""Workers that combine by xgboost's collective operations, over sockets that xgboost opens and closes."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future, wait
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar, final

from costframe.core.errors import WorkersError
from costframe.core.workers import MAX, Operation, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Tracker", "train_together"]

A = TypeVar("A")
T = TypeVar("T")

_LOOK = 0.2  # seconds between looks whether the training is still wanted


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


def train_together(
    train: Callable[[Workers], T],
    rank: int,
    count: int,
    address: Mapping[str, Any],
    seconds: float,
    is_wanted: Callable[[], bool],
) -> T:
    """Train among other workers, and return the result of `train`.

    The training has a thread of its own, to which xgboost's communicator belongs. If this worker fails, or the training
    is not wanted any more, it leaves the others, so that they end too.

    Parameters
    ----------
    train : callable
        Gets the workers.
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
        If another worker does not come or answer in time, or ends; or if the training is not wanted.
    """
    workers, training = _CollectiveWorkers(rank, count, seconds), Future[T]()

    def run() -> None:
        try:
            workers.join(address)
            training.set_result(train(workers))
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            training.set_exception(error)
        finally:
            workers.leave()

    # It may wait for others, or compute, when this call already ends, so nobody waits for it.
    Thread(target=run, name="costframe-training", daemon=True).start()
    while not wait([training], timeout=_LOOK).done:
        if not is_wanted():
            raise workers.end(WorkersError("workers: the training was cancelled"))
        if workers.waits() > seconds:
            raise workers.end(_silent(seconds))
    return training.result()


@final
class _CollectiveWorkers(Workers):
    """Workers with xgboost's communicator of the thread that joins."""

    def __init__(self, rank: int, count: int, seconds: float) -> None:
        self.rank, self.count = rank, count
        self._seconds, self._begin = seconds, math.inf

    def join(self, address: Mapping[str, Any]) -> None:
        """Meet the others."""
        if self.count == 1:
            return
        from xgboost import collective, set_config

        # Workers are ranked by the text of their task.
        more = {"dmlc_task_id": f"{self.rank:09d}", "dmlc_timeout": _whole(self._seconds), "dmlc_retry": 3}
        set_config(verbosity=0)  # of this thread alone
        self._wait(lambda: collective.init(**{**address, **more}))

    def leave(self) -> None:
        """Close the connections."""
        if self.count == 1:
            return
        from xgboost import collective

        with suppress(Exception):  # the others may have left before
            collective.finalize()

    def end(self, error: WorkersError) -> WorkersError:
        """Let the training end with an error, at its next look at the other workers; return the error."""
        self._error = error
        return error

    def waits(self) -> float:
        """Return for how many seconds this worker has waited for others."""
        return time.monotonic() - self._begin

    def _combine(self, values: NDArray[Any], operation: Operation) -> NDArray[Any]:
        from xgboost import collective

        how = collective.Op.MAX if operation == MAX else collective.Op.SUM
        found: NDArray[np.int64] = self._wait(lambda: collective.allreduce(values, how))
        return found

    def _wait(self, function: Callable[[], A]) -> A:
        """Call a function that waits for other workers."""
        self._begin = time.monotonic()
        try:
            return function()
        except Exception as error:
            if self.waits() < 0.9 * self._seconds:
                raise WorkersError("workers: another worker of this training has ended, or was lost") from error
            raise _silent(self._seconds) from error
        finally:
            self._begin = math.inf


def _silent(seconds: float) -> WorkersError:
    return WorkersError(f"workers: another worker of this training did not answer within {seconds:g} s")


def _whole(seconds: float) -> int:
    return max(1, math.ceil(seconds))
