"""A cluster of two processes, and an algorithm that fails on one of them in the middle of a tree."""

import os
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, field

from costframe.plugin import DataError
from costframe_cegb.estimators import CEGBClassifier

LATE = 150  # combinations of a training before the fault


@define(slots=False, eq=False, repr=False)
class FaultyClassifier(CEGBClassifier):
    """CEGB, whose second worker fails once, in a way of `FAULTS`; then the file `mark` is there.

    Without a mark the last worker fails at once, and each time. The fault "idle" makes all of them slow, without work.
    """

    fault: Any = field(default=None, kw_only=True)
    mark: Any = field(default=None, kw_only=True)

    def _train(self, data):
        workers = data.train.workers
        if self.fault == "idle":
            combine_at_once = workers._combine

            def combine_later(values, operation):
                time.sleep(0.02)
                return combine_at_once(values, operation)

            workers._combine = combine_later
        elif self.fault is not None and self.mark is None:
            if workers.rank == workers.count - 1:
                FAULTS[self.fault]()
            return super()._train(data)
        elif self.fault is not None and workers.rank == 1 and not Path(self.mark).exists():
            combine, left = workers._combine, [LATE]

            def combine_or_fail(values, operation):
                left[0] -= 1
                if not left[0]:
                    Path(self.mark).touch()
                    FAULTS[self.fault]()
                return combine(values, operation)

            workers._combine = combine_or_fail
        return super()._train(data)


def still_works(dask_worker):
    names = [thread.name for thread in threading.enumerate()]
    return dask_worker.state.executing_count or "costframe-training" in names


def refuse():
    raise DataError("X: a fault of this worker alone")


FAULTS = {
    "raise": refuse,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
}


@contextmanager
def cluster_of_two():
    """Give a cluster of two processes."""
    import dask
    from distributed import LocalCluster
    from distributed.utils import get_mp_context

    locks = "distributed.scheduler.locks."  # of clients that went away: not for half a minute
    settings = {f"{locks}lease-timeout": "8s", f"{locks}lease-validation-interval": "1s"}
    settings["distributed.scheduler.allowed-failures"] = 1  # a worker's end is soon that of the fit
    settings["distributed.worker.multiprocessing-method"] = "forkserver"
    more = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": None}
    with dask.config.set(settings):
        # What each new worker needs is loaded once.
        get_mp_context().set_forkserver_preload(["distributed", "xgboost", "costframe_cegb.estimators"])
        with LocalCluster(**more) as cluster:
            yield cluster
