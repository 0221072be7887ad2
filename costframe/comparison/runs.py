"""Runs of jobs: here or in processes, with progress, until all ended or time is up; each record is told at once."""

from __future__ import annotations

import contextlib
import queue
import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen
from sklearn.utils.parallel import delayed

from costframe.comparison.jobs import Job
from costframe.comparison.records import Record
from costframe.comparison.sides import AlgorithmSide
from costframe.core.calls import Call, CallEnded
from costframe.core.errors import CostframeError, format_count
from costframe.core.machine import thread_count
from costframe.study.events import FitAdvanced, FitTask, TaskFailed, WorkersFailed
from costframe.study.failures import LATE, TimeIsUp, UnfinishedError
from costframe.study.joblib_calls import error_of_lost, next_event, report_of, run_calls, with_traceback
from costframe.study.processes import CELLS, by_cluster, by_processes
from costframe.study.progress import Progress, TotalProgress, silent
from costframe.study.reports import Reporter, end_with, listen
from costframe.training.cluster.fitting import open_client

if TYPE_CHECKING:
    from sklearn.utils.parallel import Parallel


_TIME_LEFT = re.compile(r"^about \d+ (s|min) left; ")


@frozen(eq=False)
class RecordMade:
    """A job has ended, with a record."""

    task: FitTask
    record: Record


def count_processes(jobs: Sequence[Job], n_jobs: int | None, time_limit: float | None) -> int:
    """Return the number of processes beside this one; 0 fits here.

    By default it is one for each core where all sides are of installed plugins, and tables are small: threads of one
    fit keep all cores busy on large ones.
    """
    if n_jobs is not None:
        return 0 if n_jobs == 1 else min(thread_count(n_jobs), len(jobs))
    known = all(isinstance(job.side, AlgorithmSide) and job.side.plugin is not None for job in jobs)
    if not known or max((job.split.data.X.size for job in jobs), default=0) > CELLS:
        return 0
    count = min(thread_count(), len(jobs))
    return count if count > 1 or time_limit is not None else 0


def run_jobs(
    jobs: Sequence[Job],
    made: Callable[[Record], None],
    *,
    n_jobs: int | None,
    cluster: Any,
    time_limit: float | None,
    progress: Progress | None,
) -> bool:
    """Run jobs, and give each record to `made` as it ends; return whether all ended in time.

    Raises
    ------
    CostframeError
        If a process or a worker was lost.
    """
    ends = float("inf") if time_limit is None else time.monotonic() + time_limit
    total = TotalProgress(progress or silent, len(jobs), f"{format_count(len(jobs), 'fit')} to compare")
    with contextlib.ExitStack() as stack:
        client = None if cluster is None else stack.enter_context(open_client(cluster))
        count = count_processes(jobs, n_jobs, time_limit)
        threads = max(thread_count() // max(count, 1), 1)
        parallel = by_cluster(client) if client is not None else by_processes(count, threads) if count else None
        if parallel is None:
            return _run_here(jobs, made, total, ends)
        return _run_by_workers(jobs, made, total, ends, parallel, remote=client is not None)


def _run_here(jobs: Sequence[Job], made: Callable[[Record], None], total: TotalProgress, ends: float) -> bool:
    """Run jobs one after another; a fit ends when it next reports progress after the end."""
    for job in jobs:
        if time.monotonic() > ends:
            return False
        report = total.of(job.task)

        def in_time(done: int, count: int, text: str, report: Progress = report, job: Job = job) -> None:
            report(done, count, _told(job.task, text))
            if time.monotonic() > ends:
                raise TimeIsUp

        try:
            record = job.run(in_time)
        except UnfinishedError:
            return False
        total.end(job.task)
        made(record)
    return True


def _told(task: FitTask, text: str) -> str:
    """Return what a fit reports, behind the name of its job, without the time left of it alone."""
    text = _TIME_LEFT.sub("", text)
    return f"{task.label}: {text}" if text and not text.startswith(task.label) else task.label


def _run_by_workers(
    jobs: Sequence[Job],
    made: Callable[[Record], None],
    total: TotalProgress,
    ends: float,
    parallel: Parallel,
    *,
    remote: bool,
) -> bool:
    """Run jobs by joblib, while this thread hears how they get on."""
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    left, call = {job.task for job in jobs}, Call()
    with listen(events) as reporter:
        calls = [delayed(_run_job)(job, call, reporter) for job in jobs]
        with run_calls(calls, parallel, call, events, ends):
            while left and (event := next_event(events, ends)) is not None:
                match event:
                    case FitAdvanced():
                        total.of(event.task)(event.done, event.total, _told(event.task, event.text))
                    case RecordMade():
                        left.remove(event.task)
                        total.end(event.task)
                        made(event.record)
                    case TaskFailed():
                        if not isinstance(event.error, UnfinishedError):
                            raise event.error
                        left.remove(event.task)
                    case WorkersFailed():
                        raise error_of_lost(min(left, key=lambda task: task.label), event.error, remote=remote)
    return not left


def _run_job(job: Job, call: Call, reporter: Reporter) -> RecordMade | TaskFailed:
    """Run a job wherever joblib runs it."""
    end_with(reporter.process)
    try:
        with call.parts():
            return RecordMade(job.task, job.run(report_of(job.task, reporter)))
    except CallEnded:  # nobody waits for the record, and no pool of threads expects such an exception
        return TaskFailed(job.task, UnfinishedError(LATE))
    except CostframeError as error:
        return with_traceback(TaskFailed(job.task, error))
