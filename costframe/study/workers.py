"""Fits of a study by workers of joblib: in other processes, in threads, or on other machines."""

from __future__ import annotations

import queue
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from attrs import evolve
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed

from costframe.core.calls import Call, CallEnded
from costframe.core.errors import CostframeError, WorkersError
from costframe.study.events import (
    Event,
    FirstLookTaken,
    FitAdvanced,
    FitsStored,
    FitTask,
    TaskEnded,
    TaskFailed,
    WorkersFailed,
)
from costframe.study.failures import LATE, FitError, TimeIsUp, UnfinishedError
from costframe.study.reports import Reporter, end_with, listen
from costframe.study.store import Files, Store
from costframe.study.study import Study

_ENDING = 2.0  # seconds that the end waits for fits in threads, which end with the tree that they grow
_studies: dict[str, Study] = {}  # the study of the tasks of this process, whose promising sets and files it reads once


def fit_by_workers(
    study: Study, tasks: Sequence[FitTask], hear: Callable[[Event], None], parallel: Parallel, *, remote: bool
) -> None:
    """Fit tasks by joblib, which another thread waits for, while this one hears events and looks at the clock.

    If workers are `remote`, they have no directory of the store: its files go to and fro with the tasks.
    """
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    left, has_packs = list(tasks), remote and study.has_files
    sent = study  # with a directory that another process, which may have begun elsewhere, finds
    if study.store.directory is not None:
        sent = evolve(study, store=evolve(study.store, directory=study.store.directory.absolute()))
    call = Call()  # of tasks in threads
    with listen(events) as reporter:
        calls = [
            delayed(_fit_task)(sent, task, call, reporter, study.store.pack(task.label) if has_packs else None)
            for task in tasks
        ]
        waiting = study, parallel, call, calls, events, get_config()
        waiter = threading.Thread(target=_wait_for_workers, args=waiting, daemon=True)
        waiter.start()
        try:
            while left and (event := _next_event(events, study)) is not None:
                match event:
                    case WorkersFailed():
                        for task in left:
                            hear(TaskFailed(task, _error_of_lost(task, event.error, remote=remote)))
                        return
                    case TaskEnded() | TaskFailed():
                        left.remove(event.task)
                        if event.files is not None:
                            study.store.unpack(event.files)
                            hear(FitsStored())
                        hear(_with_own_files(event, study.store))
                    case _:
                        hear(event)
            for task in left:
                hear(TaskFailed(task, UnfinishedError(LATE)))
        finally:
            call.end()
            parallel.timeout = 0  # by which joblib ends what is left, and the processes that have it under way
            waiter.join()
            call.wait(_ENDING)
            _studies.pop(sent.key, None)  # of threads, which have it from this process


def _next_event(events: queue.SimpleQueue[Event], study: Study) -> Event | None:
    """Return the next event; None if time is up first."""
    if (seconds := study.ends - time.monotonic()) <= 0:
        return None
    try:
        return events.get(timeout=min(seconds, threading.TIMEOUT_MAX))
    except queue.Empty:
        return None


def _with_own_files(event: TaskEnded | TaskFailed, store: Store) -> Event:
    """Return an event whose fits name the files of their models in a store here."""
    if isinstance(event, TaskFailed):
        return event
    return evolve(event, fits=[store.at_home(fitted) for fitted in event.fits])


def _wait_for_workers(
    study: Study,
    parallel: Parallel,
    call: Call,
    calls: Sequence[Any],
    events: queue.SimpleQueue[Event],
    settings: dict[str, Any],
) -> None:
    """Run calls by joblib, and report the events that they return, or the error that ended them all.

    While its processes begin, have a first look. Interrupts are for the caller's main thread: neither this one
    hears them, nor the processes that it begins.
    """

    def check_time(*_event: Any) -> None:
        if parallel.timeout == 0 or study.is_late:
            raise TimeIsUp

    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # else joblib begins it below, which unblocks the signal
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with config_context(**settings), call.parts():
            outcomes = parallel(iter(calls))
            if fits := study.first_look(check_time):
                events.put(FirstLookTaken(fits))
            for outcome in outcomes:
                events.put(outcome)
    except BaseException as error:  # noqa: BLE001 - the other thread raises it, or has ended this
        events.put(WorkersFailed(error))


def _fit_task(
    study: Study, task: FitTask, call: Call, reporter: Reporter, files: Files | None
) -> TaskEnded | TaskFailed:
    """Fit a task wherever joblib runs it; with files of the store, in a copy of it."""
    end_with(reporter.process)
    if study.key not in _studies:
        _studies.clear()
        _studies[study.key] = study
    study, reported = _studies[study.key], [FitAdvanced(task, -1, 0, "")]

    def report(done: int, total: int, text: str) -> None:
        event = FitAdvanced(task, done, total, text)
        if event != reported[0]:
            reported[0] = event
            reporter.send(event)

    if files is None:
        try:
            with call.parts():
                outcome = study.fit_task(task, report, lambda: reporter.send(FitsStored()))
        except CallEnded:  # nobody waits for the outcome, and no pool of threads expects such an exception
            outcome = TaskFailed(task, UnfinishedError(LATE))
        return _with_traceback(outcome)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder), study.store.decimal)
        store.unpack(files)
        outcome = _with_traceback(evolve(study, store=store).fit_task(task, report))
        return evolve(outcome, files=store.pack())


def _with_traceback(outcome: TaskEnded | TaskFailed) -> TaskEnded | TaskFailed:
    """Note the traceback of an error, which another process does not get otherwise."""
    if isinstance(outcome, TaskFailed):
        outcome.error.add_note("".join(traceback.format_exception(outcome.error)))
    return outcome


def _error_of_lost(task: FitTask, error: BaseException, *, remote: bool) -> CostframeError:
    """Return the error of a task whose process or worker was lost; raise other errors."""
    if isinstance(error, BrokenExecutor):
        return FitError(f"algorithm {task.label!r}: its process was ended, perhaps for its memory")
    if remote and isinstance(error, Exception) and not isinstance(error, MemoryError):
        return WorkersError(f"algorithm {task.label!r}: its worker was lost, and others too: {error}")
    raise error
