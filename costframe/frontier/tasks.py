"""The tasks of a sweep: the fits of each algorithm, and first looks with few rows; and their progress in one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from costframe.core.errors import CostframeError
from costframe.core.plugins.registry import TASKS, registry
from costframe.frontier.budgets import Budget
from costframe.frontier.finished import FinishedFits, MeasuredFits
from costframe.frontier.points import FIRST_LOOK
from costframe.frontier.promises import Promises
from costframe.frontier.tradeoffs import fit_all
from costframe.frontier.trial import trial_maker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from costframe.datasets import Dataset
    from costframe.frontier.finished import Fitted
    from costframe.frontier.trial import Progress, Trial
    from costframe.training.library_scores import LibraryScore

__all__ = ["LATE", "Sweep", "Task", "Total", "UnfinishedError", "fit_task", "make_trials"]

_FIRST_ROWS, _MANY_ROWS = 10_000, 30_000  # rows that a first look trains on, and training rows of a table that has one
_STOPPING = 0.25  # share of the rows of a first look that stops its training early
_PERCENT = 100  # progress of one task
LATE = "time was up before all its fits ended"


@frozen(eq=False)
class Sweep:
    """What is the same for all algorithms of a sweep; the arguments are those of `Frontier.sweep`."""

    data: Dataset
    score: str | LibraryScore
    tradeoffs: Sequence[float] | None = None
    points: int | None = None
    budget: Budget = field(factory=Budget)
    folds: int | None = None
    parameters: Mapping[str, Any] = field(factory=dict)
    directory: Path | None = None
    time_limit: float | None = None
    measured: list[Fitted] = field(factory=list, init=False)  # without a directory
    ends: float = field(init=False)  # of `time.monotonic`

    @ends.default
    def _from_now(self) -> float:
        return float("inf") if self.time_limit is None else time.monotonic() + self.time_limit

    def tasks(self, names: Sequence[str]) -> list[Task]:
        """Return fits in the order in which they begin: first looks, then algorithms whose models come soonest."""
        algorithms, role = registry().algorithms, TASKS[self.data.task]

        def order(name: str) -> tuple[bool, bool]:
            kind = getattr(algorithms[name], role)
            return not getattr(kind, "searches_sets", False), not hasattr(kind, "fit_path")

        last = [Task(name) for name in sorted(dict.fromkeys(names), key=order)]
        looks = self.directory is not None and self.tradeoffs is None and len(self.data.part("train")) > _MANY_ROWS
        return [evolve(task, first_look=True) for task in last if looks and not order(task.name)[1]] + last


@frozen
class Task:
    """The fits of one algorithm, or a first look at it with few training rows."""

    name: str
    first_look: bool = False


class UnfinishedError(CostframeError):
    """An algorithm whose fits did not end in time."""


@frozen(eq=False)
class Total:
    """The progress of all tasks in one, in percent of a task; it neither falls nor changes its total."""

    progress: Progress
    n_tasks: int
    _done: dict[Task, int] = field(factory=dict, init=False)

    def of(self, task: Task) -> Progress:
        """Return the progress of one task."""

        def report(done: int, total: int, text: str) -> None:
            share = _PERCENT if total == 0 else _PERCENT * done // total
            self._done[task] = max(self._done.get(task, 0), min(share, _PERCENT))
            self.progress(sum(self._done.values()), _PERCENT * self.n_tasks, text)

        return report

    def end(self, task: Task) -> None:
        """Count a task as done, also if it failed."""
        if self._done.get(task) != _PERCENT:
            self.of(task)(1, 1, f"{task.name} at its end")


def make_trials(sweep: Sweep, kept: Callable[[], None]) -> Callable[[Task], Trial]:
    """Return a function that makes the trial of a task; all trials share rows, folds and promising sets."""
    make = trial_maker(sweep.data, sweep.score, sweep.folds, sweep.parameters)
    finished: FinishedFits | MeasuredFits = MeasuredFits(sweep.measured, kept)
    if sweep.directory is not None:
        finished = FinishedFits(sweep.directory, kept)
    promises = Promises()

    def make_trial(task: Task) -> Trial:
        trial = evolve(make(task.name), finished=finished)
        if not task.first_look:
            return trial
        classes = sweep.data.task == "classification"
        few = trial.train.take(trial.train.hold_out(1 - _FIRST_ROWS / len(trial.train.y), 0, classes=classes)[0])
        train, stopping = (few.take(places) for places in few.hold_out(_STOPPING, 0, classes=classes))
        return evolve(
            trial, train=train, stopping=stopping, folds=(), promises=promises, label=f"{task.name}-{FIRST_LOOK}"
        )  # fmt: skip

    return make_trial


def fit_task(sweep: Sweep, trial: Trial, progress: Progress) -> list[Fitted]:
    """Return the fitted models of a task."""
    return fit_all(trial, sweep.tradeoffs, sweep.points, sweep.budget, progress)
