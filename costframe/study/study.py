"""A study: candidates to fit on the same rows, task by task."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Sequence

from attrs import evolve, field, frozen

from costframe.core.errors import CostframeError, format_count
from costframe.study.adopting_estimator import AdoptingEstimator
from costframe.study.all_fits import POINTS_OF_FITS, fit_all
from costframe.study.candidates import OURS, StudyCandidate, owner_of
from costframe.study.division import Division
from costframe.study.events import FitTask, TaskEnded, TaskFailed
from costframe.study.failures import TimeIsUp
from costframe.study.first_look import MANY_ROWS, fit_quickly, with_few_rows
from costframe.study.fitted import Fitted
from costframe.study.progress import Progress
from costframe.study.promising_sets import PromisingSets
from costframe.study.settings import StudyPlan
from costframe.study.store import Store
from costframe.study.trial import Trial
from costframe.training.library_scores import LibraryScore

_ONE_FIT = StudyPlan(tradeoffs=(0.0,))  # of a candidate without a tradeoff


def _ignore() -> None:
    """Do nothing after a fit."""


@frozen(eq=False)
class Study:
    """What to fit on which rows, where to store it, and until when."""

    candidates: Sequence[StudyCandidate]  # with distinct labels
    rows: Division  # all candidates train, stop and are scored on the same rows
    score: str | LibraryScore
    plan: StudyPlan = field(factory=StudyPlan)  # of the fits of each candidate with a tradeoff
    store: Store = field(factory=Store)  # of finished fits; it has those of an earlier study that this one resumes
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

    @property
    def is_late(self) -> bool:
        """Whether the time limit has passed."""
        return time.monotonic() > self.ends

    @property
    def has_files(self) -> bool:
        """Whether its store is a folder."""
        return self.store.directory is not None

    @property
    def references(self) -> frozenset[str]:
        """The labels of the candidates that are references."""
        return frozenset(candidate.label for candidate in self.candidates if candidate.is_reference)

    def has_own(self, fits: Iterable[Fitted]) -> bool:
        """Return whether some of the fits are of others than references."""
        return any(fitted.point.algorithm not in self.references for fitted in fits)

    def describe(self) -> str:
        """Return what is to be fitted, and what makes it less, as a text."""
        rows, n_references = len(self.rows.train.y) + len(self.rows.valid.y), len(self.references)
        models = format_count(len(self.candidates) - n_references, "algorithm")
        models += f" and {format_count(n_references, 'reference')}" if n_references else ""
        fits = format_count(sum(map(self._count_fits, self.candidates)), "fit")
        return f"{models} on {rows:,} rows, about {fits}; a time limit, fewer points, and cv=0 make it shorter"

    def _count_fits(self, candidate: StudyCandidate) -> int:
        """Return about how many fits a candidate has, with those on folds."""
        n_folds, tradeoffs = len(self.rows.folds), self.plan.tradeoffs
        if candidate.has_path and tradeoffs is None:
            return self._count_paths(candidate)
        if not candidate.has_tradeoff:
            return 1 + n_folds
        single = len(tradeoffs) if tradeoffs is not None else self.plan.points or POINTS_OF_FITS
        return single * (1 + n_folds * self.rows.folds_repeat)

    def _count_paths(self, candidate: StudyCandidate) -> int:
        """Return the number of fits of a candidate with a path: one, and one for each fold that repeats it."""
        trial = self.trial(FitTask(candidate.label))
        try:
            with trial.guard():
                return 1 + trial.count_folds(trial.make(0.0))
        except CostframeError:  # its own fit raises it again
            return 1

    def tasks(self) -> list[FitTask]:
        """Return the tasks in the order in which they begin: first looks, then candidates whose models come soonest."""
        ordered = sorted(self.candidates, key=lambda candidate: candidate.start_order)
        looks_first = self.has_files and len(self.rows.train.y) > MANY_ROWS and self.plan.tradeoffs is None
        looks = [candidate for candidate in ordered if candidate.has_path] if looks_first else []
        return [FitTask(look.label, first_look=True) for look in looks] + [
            FitTask(candidate.label) for candidate in ordered
        ]

    def trial(self, task: FitTask, after_fit: Callable[[], None] = _ignore) -> Trial:
        """Return the trial of a task; all trials share rows, folds and promising sets, but those of first looks."""
        candidate = next(candidate for candidate in self.candidates if candidate.label == task.label)
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
            after_fit=after_fit,
            has_tradeoff=candidate.has_tradeoff,
        )
        return with_few_rows(trial, self.few_promising) if task.first_look else trial

    def first_look(self, progress: Progress) -> list[Fitted]:
        """Return a few quick fits of an algorithm with a path, in no store, for the time until the first fit ends.

        There are none if a store has fits already, nor for a large table, whose first looks are tasks, nor of plugins
        of others, as only another process can be ended while a fit reports nothing.
        """
        with_path = (candidate for candidate in self.candidates if candidate.start_order == (True, False))
        quick = [candidate.label for candidate in with_path if owner_of(candidate) == OURS]
        is_small = len(self.rows.train.y) <= MANY_ROWS
        if not (quick and is_small and self.has_files and self.plan.tradeoffs is None) or self.store.all():
            return []
        try:
            progress(0, 1, "")  # time may be up
            return fit_quickly(self.trial(FitTask(quick[0], first_look=True)), progress)
        except (CostframeError, TimeIsUp):  # few rows may lack a class; other errors are those of the task, too
            return []

    def fit_task(
        self, task: FitTask, progress: Progress, after_fit: Callable[[], None] = _ignore
    ) -> TaskEnded | TaskFailed:
        """Return the fitted models of a task, or the error that ended it."""
        try:
            trial = self.trial(task, after_fit)
            fits = fit_all(trial, self.plan if trial.has_tradeoff else _ONE_FIT, progress)
        except CostframeError as error:
            return TaskFailed(task, error)
        return TaskEnded(task, [_without_adopting(fitted) for fitted in fits])


def _without_adopting(fitted: Fitted) -> Fitted:
    """Return the adopted model of another library's estimator, without that."""
    model = fitted.model
    return evolve(fitted, model=model.fitted) if isinstance(model, AdoptingEstimator) else fitted
