"""A study: fits side by side until all ended or time is up."""

from __future__ import annotations

import functools
import queue
import signal
import tempfile
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen
from sklearn import config_context, get_config
from sklearn.base import is_classifier
from sklearn.utils.parallel import Parallel, delayed

from costframe.core.calls import Call, CallEnded
from costframe.core.errors import CostframeError, WorkersError, format_count
from costframe.study.adopting_estimator import AdoptingEstimator
from costframe.study.candidates import OURS, Candidate, owner_of
from costframe.study.division import Division
from costframe.study.events import Task
from costframe.study.failures import LATE, FitError, UnfinishedError, joint_error
from costframe.study.fitted import Fitted
from costframe.study.grid import fit_grid
from costframe.study.plan import POINTS_OF_FITS, fit_all
from costframe.study.points import FIRST_LOOK
from costframe.study.progress import Progress, TotalProgress, silent
from costframe.study.promising_sets import PromisingSets
from costframe.study.reports import Reporter, end_with, listen
from costframe.study.store import Files, Store
from costframe.study.trial import STOPPING, Trial
from costframe.training.library_scores import LibraryScore

_FIRST_ROWS, _MANY_ROWS = 10_000, 30_000  # rows that a first look trains on, and of a table whose looks are tasks
_FIRST_FITS = 5  # of the first look at a smaller table
_ENDING = 2.0  # seconds that the end waits for fits in threads, which end with the tree that they grow


class _TimeIsUp(BaseException):
    """The end of a fit in this thread."""


@frozen(eq=False)
class Study:
    """What to fit on which rows, where to keep it, and until when."""

    candidates: Sequence[Candidate]  # with distinct labels
    rows: Division  # all candidates train, stop and are scored on the same rows
    score: str | LibraryScore
    # tradeoffs, points, budget: the plan of fits of each candidate with a tradeoff, as for `fit_all`
    tradeoffs: Sequence[float] | None = None
    points: int | None = None
    budget: float | None = None
    store: Store = field(factory=Store)  # keeps finished fits, and has those of an earlier study that this one resumes
    # seconds from now on. A fit that another process has under way is ended at once; a fit of this process, or
    # of a thread, when it next reports progress; one on a dask cluster goes on there, and nobody waits for it
    time_limit: float | None = None
    key: str = field(factory=lambda: uuid.uuid4().hex, init=False)
    promising: PromisingSets = field(factory=PromisingSets, init=False)
    few_promising: PromisingSets = field(factory=PromisingSets, init=False)  # of first looks
    ends: float = field(init=False)  # of `time.monotonic`

    @ends.default
    def _from_now(self) -> float:
        return float("inf") if self.time_limit is None else time.monotonic() + self.time_limit

    def plan(self) -> str:
        """Return what is to be fitted, and what makes it less, as a text."""
        folds = len(self.rows.folds)
        single = len(self.tradeoffs) if self.tradeoffs is not None else self.points or POINTS_OF_FITS
        single *= 1 + folds * self.rows.folds_repeat
        counts = (
            self._count_paths(each)
            if each.has_path and self.tradeoffs is None
            else single
            if each.has_tradeoff
            else 1 + folds
            for each in self.candidates
        )
        rows, n_references = len(self.rows.train.y) + len(self.rows.valid.y), len(self._references)
        models = format_count(len(self.candidates) - n_references, "algorithm")
        models += f" and {format_count(n_references, 'reference')}" if n_references else ""
        fits = format_count(sum(counts), "fit")
        return f"{models} on {rows:,} rows, about {fits}; a time limit, fewer points, and cv=0 make it shorter"

    def _count_paths(self, candidate: Candidate) -> int:
        """Return the number of fits of a candidate with a path: one, and one for each fold that repeats it."""
        trial = self.trial(Task(candidate.label))
        try:
            with trial.guard():
                return 1 + trial.count_folds(trial.make(0.0))
        except CostframeError:  # its own fit raises it again
            return 1

    def tasks(self) -> list[Task]:
        """Return the tasks in the order in which they begin: first looks, then candidates whose models come soonest."""
        ordered = sorted(self.candidates, key=lambda each: each.begins)
        many = len(self.rows.train.y) > _MANY_ROWS
        looks = [each for each in ordered if each.has_path] if self._keeps_files and many else []
        first = [Task(each.label, first_look=True) for each in looks if self.tradeoffs is None]
        return first + [Task(each.label) for each in ordered]

    @property
    def _references(self) -> frozenset[str]:
        return frozenset(each.label for each in self.candidates if each.is_reference)

    def _has_own(self, fits: Sequence[Fitted]) -> bool:
        """Return whether some of the fits are of others than references."""
        return any(fitted.point.algorithm not in self._references for fitted in fits)

    @property
    def _keeps_files(self) -> bool:
        return self.store.directory is not None

    def first_look(self, progress: Progress) -> list[Fitted]:
        """Return a few quick fits of an algorithm with a path, in no store, for the time until the first fit ends.

        There are none if a store has fits already, nor for a large table, whose first looks are tasks, nor of plugins
        of others, as only another process can be ended while a fit reports nothing.
        """
        quick = [each.label for each in self.candidates if each.begins == (True, False) and owner_of(each) == OURS]
        small = len(self.rows.train.y) <= _MANY_ROWS
        if not (quick and small and self._keeps_files and self.tradeoffs is None) or self.store.all():
            return []
        try:
            progress(0, 1, "")  # time may be up
            trial = evolve(self.trial(Task(quick[0], first_look=True)), store=Store())
            found = fit_grid(trial, _FIRST_FITS, progress)
        except (CostframeError, _TimeIsUp):  # few rows may lack a class; other errors are those of the task, too
            return []
        return [evolve(each, point=evolve(each.point, name=f"{trial.label}-{n}")) for n, each in enumerate(found, 1)]

    def trial(self, task: Task, kept: Callable[[], None] = lambda: None) -> Trial:
        """Return the trial of a task; all trials share rows, folds and promising sets, but those of first looks."""
        candidate = next(each for each in self.candidates if each.label == task.label)
        rows = self.rows
        trial = Trial(
            candidate.label,
            candidate.make,
            rows.train,
            rows.valid,
            rows.test,
            self.score,
            candidate.guard,
            folds=() if candidate.is_fitted else rows.folds,
            fits_repeat=rows.folds_repeat or not candidate.has_tradeoff,
            promising=self.promising,
            store=self.store,
            kept=kept,
            has_tradeoff=candidate.has_tradeoff,
        )
        if not task.first_look:
            return trial
        few, classes = rows.train, is_classifier(trial.make(0.0))
        if len(few.y) > _FIRST_ROWS:
            few = few.take(few.hold_out(1 - _FIRST_ROWS / len(few.y), 0, classes=classes)[0])
        train, stopping = (few.take(places) for places in few.hold_out(STOPPING, 0, classes=classes))
        label, promising = f"{task.label}-{FIRST_LOOK}", self.few_promising
        return evolve(trial, train=train, stopping=stopping, folds=(), promising=promising, label=label)

    def fit_task(self, task: Task, progress: Progress, kept: Callable[[], None] = lambda: None) -> Found:
        """Return the fitted models of a task, or the error that ended it."""
        try:
            trial = self.trial(task, kept)
            if trial.has_tradeoff:
                return fit_all(trial, self.tradeoffs, self.points, self.budget, progress)
            found = fit_all(trial, [0.0], None, None, progress)
        except CostframeError as error:
            return error
        return [
            evolve(each, model=each.model.fitted) if isinstance(each.model, AdoptingEstimator) else each
            for each in found
        ]

    def fit(
        self,
        parallel: Parallel | None = None,
        *,
        progress: Progress | None = None,
        failed: Callable[[str, CostframeError], None] | None = None,
        show: Callable[[Callable[[], list[Fitted]]], None] = lambda _so_far: None,
        far: bool = False,
    ) -> list[Fitted]:
        """Return all fits in the order of candidates; if time is up before that of an algorithm ends, its first look.

        A reference that cannot be fitted is left out; the study fails if that is so of all others.

        Parameters
        ----------
        parallel : Parallel of joblib, optional
            Runs the tasks; by default they run here, one after another.
        progress, failed : callable, optional
            As for `Frontier.sweep`.
        show : callable
            Called when further fits have ended, with a function that returns those so far; before, with a first look.
        far : bool
            Whether tasks run where the store's directory is none: their files come back when they end.
        """
        found: dict[str, list[Fitted]] = {}
        errors: dict[str, CostframeError] = {}
        labels = [each.label for each in self.candidates]
        looks: list[Fitted] = []

        def so_far(*, ended: bool = False) -> list[Fitted]:
            """Return all fits; without a directory, of candidates that have `ended` those that they chose to keep."""
            kept = self.store.all(found) if self._keeps_files else ({} if ended else self.store.all()) | found
            fits = [fitted for label in labels for fitted in kept.get(label, ())]
            return fits if ended or self._has_own(fits) else [*looks, *fits]

        def kept(look: Sequence[Fitted] = ()) -> None:
            looks.extend(look)
            if self._has_own(so_far()):  # references alone are no result
                show(so_far)

        tasks = self.tasks()
        total = TotalProgress(progress or silent, len(tasks), self.plan())
        outcomes = self._fit_here(tasks, total, kept) if parallel is None else (
            self._fit_elsewhere(tasks, total, kept, parallel, far=far)
        )  # fmt: skip
        with closing(outcomes):
            for task, outcome in outcomes:
                if isinstance(outcome, list):
                    found[task.label] = [*found.get(task.label, ()), *outcome]
                elif (late := isinstance(outcome, UnfinishedError)) or not task.first_look:
                    errors[task.label] = outcome
                    if failed is not None:
                        failed(task.label, outcome)
                    elif not (late or task.label in self._references):
                        raise outcome
        everything = so_far(ended=True)
        if self._has_own(everything) or not errors:
            return everything
        self._check_late(errors)
        return so_far()

    def _check_late(self, errors: Mapping[str, CostframeError]) -> None:
        """Raise the errors of all candidates but references, if time is no reason."""
        labels = [each.label for each in self.candidates if each.label in errors]  # tasks end in any order
        if not any(isinstance(errors[label], UnfinishedError) for label in labels):
            raise joint_error({label: errors[label] for label in labels if label not in self._references})

    def _fit_here(
        self, tasks: Sequence[Task], total: TotalProgress, kept: Callable[..., None]
    ) -> Generator[tuple[Task, Found], None, None]:
        def in_time(report: Progress) -> Progress:
            def report_in_time(*event: Any) -> None:
                report(*event)
                if time.monotonic() > self.ends:
                    raise _TimeIsUp

            return report_in_time

        if look := self.first_look(in_time(silent)):
            kept(look)
        for task in tasks:
            try:
                if time.monotonic() > self.ends:
                    raise _TimeIsUp  # noqa: TRY301
                outcome = self.fit_task(task, in_time(total.of(task)), kept)
            except _TimeIsUp:
                outcome = UnfinishedError(LATE)
            yield task, outcome
            total.end(task)

    def _fit_elsewhere(
        self, tasks: Sequence[Task], total: TotalProgress, kept: Callable[..., None], parallel: Parallel, *, far: bool
    ) -> Generator[tuple[Task, Found], None, None]:
        """Fit tasks by joblib, which another thread waits for, while this one hears reports and looks at the clock."""
        reports: queue.SimpleQueue[Any] = queue.SimpleQueue()
        left, packs = list(tasks), far and self._keeps_files
        there = self  # with a directory that another process, which may have begun elsewhere, finds
        if self.store.directory is not None:
            there = evolve(self, store=evolve(self.store, directory=self.store.directory.absolute()))
        call = Call()  # of tasks in threads
        with listen(reports) as reporter:
            calls = [
                delayed(_fit_task)(there, task, call, reporter, self.store.pack(task.label) if packs else None)
                for task in tasks
            ]
            waiting = parallel, call, calls, reports, get_config()
            waiter = threading.Thread(target=self._wait, args=waiting, daemon=True)
            waiter.start()
            try:
                while left and (seconds := self.ends - time.monotonic()) > 0:
                    try:
                        task, *event = reports.get(timeout=min(seconds, threading.TIMEOUT_MAX))
                    except queue.Empty:
                        break
                    if task is None:
                        yield from ((each, _lost(each, *event, far=far)) for each in left)
                        return
                    if len(event) < 2:
                        kept(*event)
                    elif len(event) == 3:
                        total.of(task)(*event)
                    else:
                        left.remove(task)
                        outcome, files = event
                        if files is not None:
                            self.store.unpack(files)
                            kept()
                        if isinstance(outcome, list):
                            outcome = [self.store.at_home(fitted) for fitted in outcome]
                        total.end(task)
                        yield task, outcome
                yield from ((each, UnfinishedError(LATE)) for each in left)
            finally:
                call.end()
                parallel.timeout = 0  # by which joblib ends what is left, and the processes that have it under way
                waiter.join()
                call.wait(_ENDING)
                _here.pop(there.key, None)  # of threads, which have it from this process

    def _wait(
        self,
        parallel: Parallel,
        call: Call,
        calls: Sequence[Any],
        reports: queue.SimpleQueue[Any],
        settings: dict[str, Any],
    ) -> None:
        """Run calls by joblib, and report what they return, or the error that ended them all.

        While its processes begin, have a first look. Interrupts are for the caller's main thread: neither this one
        hears them, nor the processes that it begins.
        """

        def in_time(*_event: Any) -> None:
            if parallel.timeout == 0 or time.monotonic() > self.ends:
                raise _TimeIsUp

        if hasattr(signal, "pthread_sigmask"):
            resource_tracker.ensure_running()  # else joblib begins it below, which unblocks the signal
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with config_context(**settings), call.parts():
                outcomes = parallel(iter(calls))
                if look := self.first_look(in_time):
                    reports.put(("", look))
                for task, outcome, files in outcomes:
                    reports.put((task, outcome, files))
        except BaseException as error:  # noqa: BLE001 - the other thread raises it, or has ended this
            reports.put((None, error))


def _fit_task(
    study: Study, task: Task, call: Call, reporter: Reporter, files: Files | None
) -> tuple[Task, Found, Files | None]:
    """Fit a task wherever joblib runs it; with files of the store, in a copy of it."""
    end_with(reporter.process)
    if study.key not in _here:
        _here.clear()
        _here[study.key] = study
    study, last = _here[study.key], [()]

    def report(*event: Any) -> None:
        if event != last[0]:
            last[0] = event
            reporter.send((task, *event))

    if files is None:
        try:
            with call.parts():
                outcome = study.fit_task(task, report, functools.partial(reporter.send, (task,)))
        except CallEnded:  # nobody waits for the outcome, and no pool of threads expects such an exception
            outcome = UnfinishedError(LATE)
        return task, _with_traceback(outcome), None
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder), study.store.decimal)
        store.unpack(files)
        outcome = _with_traceback(evolve(study, store=store).fit_task(task, report))
        return task, outcome, store.pack()


def _with_traceback(outcome: Found) -> Found:
    """Note the traceback of an error, which another process does not get otherwise."""
    if isinstance(outcome, CostframeError):
        outcome.add_note("".join(traceback.format_exception(outcome)))
    return outcome


def _lost(task: Task, error: BaseException, *, far: bool) -> CostframeError:
    """Return the error of a task whose process or worker was lost; raise other errors."""
    if isinstance(error, BrokenExecutor):
        return FitError(f"algorithm {task.label!r}: its process was ended, perhaps for its memory")
    if far and isinstance(error, Exception) and not isinstance(error, MemoryError):
        return WorkersError(f"algorithm {task.label!r}: its worker was lost, and others too: {error}")
    raise error


Found = list[Fitted] | CostframeError
_here: dict[str, Study] = {}  # the study of the tasks of this process, whose promising sets and files it reads once
