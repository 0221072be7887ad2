"""Processes and workers for the fits of a study, by joblib."""

from __future__ import annotations

import os
from typing import Any

import joblib
from sklearn.utils.parallel import Parallel

from costframe.core.machine import thread_count
from costframe.study.candidates import OURS, owner_of
from costframe.study.reports import end_with
from costframe.study.study import Study

CELLS = 2_000_000  # with more cells, threads of one fit keep all cores busy, and copies of the table cost memory
_IDLE = 10  # seconds after which a process without a task ends


def process_count(study: Study) -> int:
    """Return the number of processes that fit algorithms quickest; 0 is this one alone, for large tables.

    Only the fits of another process can be ended at any moment, so studies with a time limit have at least one. Plugins
    of others may have models that cannot go to another process, so they need fits that are kept as files; those that
    are not installed are known to this process only.
    """
    owners = {owner_of(candidate) for candidate in study.candidates}
    if None in owners or not (study.has_files or owners == {OURS}):
        return 0
    cells = len(study.rows.train.y) * len(study.rows.train.X[0])
    count = 1 if cells > CELLS else min(thread_count(), len(study.candidates))
    return count if count > 1 or study.time_limit is not None else 0


def by_processes(count: int, threads: int | None = None) -> Parallel | None:
    """Return joblib with a number of processes, each with at most some threads, by default one for each core.

    Of a single process, task by task, while another one idles.
    """
    threads = thread_count() if threads is None else threads
    ending = {"initializer": end_with, "initargs": (os.getpid(), True)}
    with joblib.parallel_config("loky", inner_max_num_threads=threads, idle_worker_timeout=_IDLE, **ending):
        return by_joblib(max(count, 2), pre_dispatch=1 if count == 1 else "2*n_jobs")


def by_cluster(client: Any) -> Parallel | None:
    """Return joblib over the workers of a dask client; None if they have one thread together."""
    with joblib.parallel_config("dask", client=client):
        return by_joblib(-1)


def by_joblib(n_jobs: int | None, *, pre_dispatch: Any = "2*n_jobs") -> Parallel | None:
    """Return joblib with the backend of `joblib.parallel_config`; None if that runs one task after another."""
    if n_jobs is not None:
        thread_count(n_jobs)  # refuses wrong numbers
    if joblib.effective_n_jobs(n_jobs) == 1:
        return None
    # Arrays that joblib maps into memory are read-only.
    return Parallel(
        n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=pre_dispatch, max_nbytes=None
    )
