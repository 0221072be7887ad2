"""The tasks of one training: one on each worker of the cluster that holds rows, watched from the client."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from concurrent.futures import CancelledError
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from costframe.core.errors import WorkersError
from costframe.core.storage.saving import checksum
from costframe.training.cluster.collective import Tracker, train_together
from costframe.training.cluster.partitions import Part, Partitions, join_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from costframe.core.workers import Workers

__all__ = ["LostWorkerError", "run_workers"]

_LOOK = 1.0  # seconds between looks at the workers
_GRACE = 2.0  # seconds from the first error to the last


class LostWorkerError(WorkersError):
    """A worker that the cluster has lost during a training."""


def run_workers(
    client: Any, estimator: Any, train: Partitions, valid: Partitions | None, seconds: float
) -> dict[str, Any]:
    """Train on the workers that hold partitions; return the attributes of the fitted estimator.

    Trainings of one cluster wait for each other: tasks of two, each on some workers, would wait for ever.

    Parameters
    ----------
    client : distributed.Client
    estimator : CostAwareEstimator
        Not fitted.
    train, valid : Partitions
    seconds : float
        Until a worker that does not answer is given up.

    Raises
    ------
    CostframeError
        The error of a worker; of several the first that is not for the end of another worker.
    """
    from distributed import Lock

    with Lock("costframe-training", scheduler_rpc=client.scheduler, loop=client.loop):
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
            client.cancel(list(tasks.values()), force=True)


def _by_worker(client: Any, parts: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the partitions that each worker holds."""
    holders, held = client.who_has(parts), defaultdict(list)
    for part in parts:
        if not holders.get(part.key):
            raise LostWorkerError("workers: one was lost before the training")
        held[min(holders[part.key])].append(part)
    return {address: held[address] for address in sorted(held)}


def _results(client: Any, tasks: Mapping[str, Any], seconds: float = math.inf) -> dict[str, Any]:
    """Return the results of tasks by the addresses of their workers, or raise the error that explains their end."""
    from distributed import wait

    ends, lost, error = time.monotonic() + seconds, set[str](), None
    while waiting := [task for address, task in tasks.items() if not (task.done() or address in lost)]:
        with suppress(TimeoutError, CancelledError):
            wait(waiting, timeout=_LOOK, return_when="FIRST_COMPLETED")
        lost = {address for address, task in tasks.items() if not task.done()} - set(client.nthreads())
        error = _first_error(tasks)
        if lost or error is not None:  # others end at once, if they can
            ends = min(ends, time.monotonic() + _GRACE)
        if time.monotonic() > ends or not isinstance(error, WorkersError | None):
            break
    if lost and isinstance(error, WorkersError | None):
        names = ", ".join(sorted(lost))
        raise LostWorkerError(f"workers: the training lost {names}; killed, perhaps for its memory?") from error
    if error is not None:
        raise error
    if waiting:
        raise WorkersError(f"workers: not all began to train within {seconds:g} s; are they busy?")
    try:
        return dict(zip(tasks, client.gather(list(tasks.values())), strict=True))
    except CancelledError as cancelled:
        raise WorkersError(f"workers: the training was cancelled: {cancelled}") from cancelled


def _first_error(tasks: Mapping[str, Any]) -> BaseException | None:
    """Return the error of a task, of several the first that is not for the end of another worker."""
    from distributed.scheduler import KilledWorker

    found = [task.exception() for task in tasks.values() if task.done()]
    errors = [
        LostWorkerError(f"workers: one was lost in the training: {error}") if isinstance(error, KilledWorker) else error
        for error in found
        if error is not None
    ]
    return min(errors, key=lambda error: isinstance(error, WorkersError), default=None)


_trackers: dict[str, Tracker] = {}  # by worker of this process: that of the last training whose first worker it is


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
