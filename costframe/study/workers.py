"""Fits of a study by workers of joblib: in other processes, in threads, or on other machines."""

from __future__ import annotations

import queue
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import evolve
from sklearn.utils.parallel import Parallel, delayed

from costframe.core.calls import Call, CallEnded
from costframe.study.events import (
    Event,
    FirstLookTaken,
    FitsStored,
    FitTask,
    TaskEnded,
    TaskFailed,
    WorkersFailed,
)
from costframe.study.failures import LATE, UnfinishedError
from costframe.study.joblib_calls import error_of_lost, next_event, report_of, run_calls, with_traceback
from costframe.study.reports import Reporter, end_with, listen
from costframe.study.store import Files, Store
from costframe.study.study import Study

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

    def look(check_time: Callable[..., None]) -> None:
        if fits := study.first_look(check_time):
            events.put(FirstLookTaken(fits))

    with listen(events) as reporter:
        calls = [
            delayed(_fit_task)(sent, task, call, reporter, study.store.pack(task.label) if has_packs else None)
            for task in tasks
        ]
        try:
            with run_calls(calls, parallel, call, events, study.ends, look):
                while left and (event := next_event(events, study.ends)) is not None:
                    match event:
                        case WorkersFailed():
                            for task in left:
                                hear(TaskFailed(task, error_of_lost(task, event.error, remote=remote)))
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
            _studies.pop(sent.key, None)  # of threads, which have it from this process


def _with_own_files(event: TaskEnded | TaskFailed, store: Store) -> Event:
    """Return an event whose fits name the files of their models in a store here."""
    if isinstance(event, TaskFailed):
        return event
    return evolve(event, fits=[store.at_home(fitted) for fitted in event.fits])


def _fit_task(
    study: Study, task: FitTask, call: Call, reporter: Reporter, files: Files | None
) -> TaskEnded | TaskFailed:
    """Fit a task wherever joblib runs it; with files of the store, in a copy of it."""
    end_with(reporter.process)
    if study.key not in _studies:
        _studies.clear()
        _studies[study.key] = study
    study, report = _studies[study.key], report_of(task, reporter)
    if files is None:
        try:
            with call.parts():
                outcome = study.fit_task(task, report, lambda: reporter.send(FitsStored()))
        except CallEnded:  # nobody waits for the outcome, and no pool of threads expects such an exception
            outcome = TaskFailed(task, UnfinishedError(LATE))
        return with_traceback(outcome)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder), study.store.decimal)
        store.unpack(files)
        outcome = with_traceback(evolve(study, store=store).fit_task(task, report))
        return evolve(outcome, files=store.pack())
