"""A study under way: it fits tasks here, or lets joblib fit them, until all ended or time is up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import define, field

from costframe.core.errors import CostframeError
from costframe.study.events import (
    Event,
    FirstLookTaken,
    FitAdvanced,
    FitsStored,
    FitTask,
    TaskEnded,
    TaskFailed,
)
from costframe.study.failures import LATE, TimeIsUp, UnfinishedError, joint_error
from costframe.study.fitted import Fitted
from costframe.study.progress import Progress, TotalProgress, silent
from costframe.study.study import Study
from costframe.study.workers import fit_by_workers

if TYPE_CHECKING:
    from sklearn.utils.parallel import Parallel


def fit_study(
    study: Study,
    parallel: Parallel | None = None,
    *,
    progress: Progress | None = None,
    failed: Callable[[str, CostframeError], None] | None = None,
    show: Callable[[StudyRun], None] | None = None,
    remote: bool = False,
) -> list[Fitted]:
    """Return all fits in the order of candidates; if time is up before that of an algorithm ends, its first look.

    A reference that cannot be fitted is left out; the study fails if that is so of all others.

    Parameters
    ----------
    parallel : Parallel of joblib, optional
        Runs the tasks; by default they run here, one after another.
    progress, failed : callable, optional
        As for `Frontier.sweep`.
    show : callable, optional
        Called with the run when there are further fits, or a first look.
    remote : bool
        Whether tasks run where the store's directory is none: their files come back when they end.
    """
    tasks = study.tasks()
    run = StudyRun(study, TotalProgress(progress or silent, len(tasks), study.describe()), failed, show)
    if parallel is None:
        _fit_here(study, tasks, run.hear)
    else:
        fit_by_workers(study, tasks, run.hear, parallel, remote=remote)
    return run.result()


@define(eq=False)
class StudyRun:
    """The fits of a study that have ended so far, and the caller's functions to call then."""

    study: Study
    progress: TotalProgress
    failed: Callable[[str, CostframeError], None] | None
    show: Callable[[StudyRun], None] | None
    _ended: dict[str, list[Fitted]] = field(factory=dict, init=False)  # of tasks, by the label of their candidate
    _errors: dict[str, CostframeError] = field(factory=dict, init=False)
    _looks: list[Fitted] = field(factory=list, init=False)

    def hear(self, event: Event) -> None:
        """Take note of an event, and tell the caller."""
        match event:
            case FitAdvanced():
                self.progress.of(event.task)(event.done, event.total, event.text)
            case FirstLookTaken():
                self._looks.extend(event.fits)
                self._show()
            case FitsStored():
                self._show()
            case TaskEnded():
                self._ended[event.task.label] = [*self._ended.get(event.task.label, ()), *event.fits]
                self.progress.end(event.task)
            case TaskFailed():
                self.progress.end(event.task)
                self._note_error(event.task, event.error)

    def fits(self) -> list[Fitted]:
        """Return all fits so far, in the order of candidates; until there is one, a first look and references."""
        study = self.study
        fits = self._ordered(study.store.all(self._ended) if study.has_files else study.store.all() | self._ended)
        return fits if study.has_own(fits) else [*self._looks, *fits]

    def result(self) -> list[Fitted]:
        """Return the fits at the end; raise the errors of all candidates but references, if time is no reason."""
        # without files, a candidate that has ended has the fits that it returned, and others have none
        fits = self._ordered(self.study.store.all(self._ended) if self.study.has_files else self._ended)
        if self.study.has_own(fits) or not self._errors:
            return fits
        if not any(isinstance(error, UnfinishedError) for error in self._errors.values()):
            labels = [candidate.label for candidate in self.study.candidates if not candidate.is_reference]
            raise joint_error({label: self._errors[label] for label in labels if label in self._errors})
        return self.fits()

    def _show(self) -> None:
        if self.show is not None and self.study.has_own(self.fits()):  # references alone are no result
            self.show(self)

    def _note_error(self, task: FitTask, error: CostframeError) -> None:
        """Keep the error of a task, and tell or raise it; why a first look failed is left to its task to say."""
        is_late = isinstance(error, UnfinishedError)
        if task.first_look and not is_late:
            return
        self._errors[task.label] = error
        if self.failed is not None:
            self.failed(task.label, error)
        elif not (is_late or task.label in self.study.references):
            raise error

    def _ordered(self, fits: Mapping[str, list[Fitted]]) -> list[Fitted]:
        return [fitted for candidate in self.study.candidates for fitted in fits.get(candidate.label, ())]


def _fit_here(study: Study, tasks: Sequence[FitTask], hear: Callable[[Event], None]) -> None:
    """Fit tasks one after another, after a first look, until time is up."""

    def in_time(progress: Progress) -> Progress:
        def report(done: int, total: int, text: str) -> None:
            progress(done, total, text)
            if study.is_late:
                raise TimeIsUp

        return report

    def advance(task: FitTask) -> Progress:
        return in_time(lambda done, total, text: hear(FitAdvanced(task, done, total, text)))

    if fits := study.first_look(in_time(silent)):
        hear(FirstLookTaken(fits))
    for task in tasks:
        try:
            if study.is_late:
                raise TimeIsUp  # noqa: TRY301
            outcome = study.fit_task(task, advance(task), lambda: hear(FitsStored()))
        except TimeIsUp:
            outcome = TaskFailed(task, UnfinishedError(LATE))
        hear(outcome)
