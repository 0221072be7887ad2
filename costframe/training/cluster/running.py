"""The tasks of one training: one on each worker of the cluster that holds rows, watched from the client."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager, suppress
from copy import copy
from threading import Thread
from typing import Any, TypeVar, final
from uuid import uuid4

from numpy.typing import NDArray

from costframe.core.arrays import I8
from costframe.core.errors import WorkersError
from costframe.core.storage.saving import checksum
from costframe.core.workers import MAX, Reduction, Workers
from costframe.training.cluster.asking import ask, wait_for_first
from costframe.training.cluster.partitions import Part, Partitions, join_parts

A = TypeVar("A")
T = TypeVar("T")

_LOOK_BACK = 0.2  # seconds between looks whether the training is still wanted
_LOOK = 1.0  # seconds between looks at the workers
_GRACE = 2.0  # seconds from the first error to the last
_trackers: dict[str, Tracker] = {}  # by worker of this process: that of the last training whose first worker it is


@final
class Tracker:
    """The meeting point of the workers of one training, which reach it at `host`; it ends with this object."""

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
    """Train as worker `rank` of `count`, and return the result of `train`, which gets the workers.

    The training has a thread of its own, to which xgboost's communicator belongs. `address` is that of the `Tracker`; a
    worker alone needs none. If this worker fails, or the training `is_wanted` no more, it leaves the others, so that
    they end too; after `seconds` it gives up a worker that does not answer. A WorkersError tells of both.
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
    while not wait([training], timeout=_LOOK_BACK).done:
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

    def _combine(self, values: NDArray[Any], operation: Reduction) -> NDArray[Any]:
        from xgboost import collective

        how = collective.Op.MAX if operation == MAX else collective.Op.SUM
        combined: I8 = self._wait(lambda: collective.allreduce(values, how))
        return combined

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


class LostWorkerError(WorkersError):
    """A worker that the cluster has lost during a training."""


def run_workers(
    client: Any, estimator: Any, train: Partitions, valid: Partitions | None, seconds: float
) -> dict[str, Any]:
    """Train on the workers that hold partitions; return the attributes of the fitted estimator.

    Trainings of one cluster wait for each other: tasks of two, each on some workers, would wait for ever. After
    `seconds`, a worker that does not answer is given up. Of several errors it raises the first that is not for the end
    of another worker.
    """
    with _alone(client):
        held = _by_worker(client, train.parts)
        addresses, moved = list(held), [] if valid is None else valid.parts
        empty = train.empty, None if valid is None else valid.empty
        pinned = {"allow_other_workers": False, "pure": False, "retries": 0}
        tasks, meeting = dict[str, Any](), dict[str, Any]()
        try:
            if len(addresses) > 1:
                tasks[addresses[0]] = client.submit(_meet, len(addresses), seconds, workers=addresses[:1], **pinned)
                meeting = _results(client, tasks, seconds)[addresses[0]]
            for rank, (address, parts) in enumerate(held.items()):
                tasks[address] = client.submit(
                    _train, estimator, rank, len(held), meeting, seconds, parts, moved[rank :: len(held)], empty,
                    key=f"costframe-train-{uuid4().hex}", workers=[address], **pinned,
                )  # fmt: skip
            fitted: dict[str, Any] = _results(client, tasks)[addresses[0]]
            return fitted
        finally:
            with suppress(ConnectionError):  # what a closed client has asked for is cancelled
                ask(client, lambda: client.cancel(list(tasks.values()), force=True))


@contextmanager
def _alone(client: Any) -> Iterator[None]:
    """Wait until no other training runs on the cluster, and let none begin before the end."""
    from distributed import Lock

    lock = Lock("costframe-training", scheduler_rpc=client.scheduler, loop=client.loop)
    ask(client, lock.acquire)
    try:
        yield
    finally:
        with suppress(ConnectionError):  # the scheduler ends what a closed client holds
            ask(client, lock.release)


def _by_worker(client: Any, parts: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the partitions that each worker holds."""
    holders, held = ask(client, lambda: client.who_has(parts)), defaultdict(list)
    for part in parts:
        if not holders.get(part.key):
            raise LostWorkerError("workers: one was lost before the training")
        held[min(holders[part.key])].append(part)
    return {address: held[address] for address in sorted(held)}


def _results(client: Any, tasks: Mapping[str, Any], seconds: float = math.inf) -> dict[str, Any]:
    """Return the results of tasks by the addresses of their workers, or raise the error that explains their end."""
    ends, gone, error = time.monotonic() + seconds, set[str](), None
    while waiting := [task for address, task in tasks.items() if not (task.done() or address in gone)]:
        wait_for_first(client, waiting, _LOOK)
        gone = {address for address, task in tasks.items() if not task.done()} - set(ask(client, client.nthreads))
        error = _first_error(client, tasks)
        if gone or error is not None:  # others end at once, if they can
            ends = min(ends, time.monotonic() + _GRACE)
        if time.monotonic() > ends or not isinstance(error, WorkersError | None):
            break
    if gone and isinstance(error, WorkersError | None):
        names = ", ".join(sorted(gone))
        raise LostWorkerError(f"workers: the training lost {names}; killed, perhaps for its memory?") from error
    if error is not None:
        raise error
    if waiting:
        raise WorkersError(f"workers: not all began to train within {seconds:g} s; are they busy?")
    try:
        return dict(zip(tasks, ask(client, lambda: client.gather(list(tasks.values()))), strict=True))
    except CancelledError as cancelled:
        raise WorkersError(f"workers: the training was cancelled: {cancelled}") from cancelled


def _first_error(client: Any, tasks: Mapping[str, Any]) -> BaseException | None:
    """Return the error of a task, of several the first that is not for the end of another worker."""
    from distributed.scheduler import KilledWorker

    exceptions = [ask(client, task.exception) for task in tasks.values() if task.done()]
    errors = [
        LostWorkerError(f"workers: one was lost in the training: {error}") if isinstance(error, KilledWorker) else error
        for error in exceptions
        if error is not None
    ]
    return min(errors, key=lambda error: isinstance(error, WorkersError), default=None)


def _meet(count: int, seconds: float) -> dict[str, Any]:
    """Start the tracker of a training on its first worker; return its address."""
    from distributed import get_worker
    from distributed.comm import get_address_host

    worker: str = get_worker().address
    _trackers[worker] = Tracker(count, get_address_host(worker), seconds)
    return _trackers[worker].address


def _train(
    estimator: Any,
    rank: int,
    count: int,
    meeting: Mapping[str, Any],
    seconds: float,
    train: Sequence[Part],
    valid: Sequence[Part],
    empty: tuple[Part, Part | None],
) -> dict[str, Any] | None:
    """Train on this worker's partitions; return the attributes of the fitted estimator, on the first worker alone."""
    from distributed import get_worker

    given = join_parts(train, empty[0]) | ({} if empty[1] is None else join_parts(valid, empty[1]))
    model = copy(estimator)  # that of a cluster in one process is the client's own
    if getattr(model, "n_jobs", 1) is None:
        model.n_jobs = get_worker().state.nthreads  # others may work on this machine

    def fit(workers: Workers) -> None:
        model.fit_part(workers, **{"y": None, **given})
        if len(set(workers.gather(checksum(model.predictor_)))) > 1:
            raise WorkersError("workers: have different models, which is an error of costframe or of the algorithm")

    train_together(fit, rank, count, meeting, seconds, _watch_task())
    return vars(model) if rank == 0 else None


def _watch_task() -> Callable[[], bool]:
    """Return a function that returns whether the client still wants the result of this task."""
    from distributed import get_worker

    worker = get_worker()
    key, tasks = worker.get_current_task(), worker.state.tasks

    def is_wanted() -> bool:
        task = tasks.get(key)
        return task is not None and task.state not in {"cancelled", "resumed"}

    return is_wanted
