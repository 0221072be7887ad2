"""Progress of fits: of one task, of tasks one after another, and of all in one."""

from __future__ import annotations

import time
from typing import Protocol

from attrs import define, field

from costframe.core.display import time_left
from costframe.study.events import FitTask

_PERCENT = 100  # progress of one task


class Progress(Protocol):
    """A function to call before and after each fit, and during a path, which counts as `points` fits."""

    def __call__(self, done: int, total: int, text: str, /) -> None:
        """Receive the number of finished fits, the expected number of all fits, and a text about the current fit."""


def silent(_done: int, _total: int, _text: str) -> None:
    """Ignore progress."""


def continue_progress(progress: Progress, before: int, *, least: int = 0) -> Progress:
    """Return a progress that counts on from `before` earlier fits, with at least `least` fits to follow."""

    def report(done: int, total: int, text: str) -> None:
        progress(before + done, before + max(least, total), text)

    return report


@define(eq=False)
class TotalProgress:
    """The progress of all tasks in one, in percent of a task; it neither falls nor changes its total."""

    progress: Progress
    n_tasks: int
    plan: str  # the first text
    done: dict[FitTask, int] = field(factory=dict, init=False)
    began: float = field(factory=time.monotonic, init=False)

    def of(self, task: FitTask) -> Progress:
        """Return the progress of one task."""

        def report(done: int, total: int, text: str) -> None:
            share = _PERCENT if total == 0 else _PERCENT * done // total
            self.done[task] = max(self.done.get(task, 0), min(share, _PERCENT))
            so_far, every = sum(self.done.values()), _PERCENT * self.n_tasks
            left, is_first = (
                time_left(time.monotonic() - self.began, so_far / every),
                len(self.done) == 1 and not so_far,
            )
            self.progress(so_far, every, self.plan if is_first else f"{left}{text}")

        return report

    def end(self, task: FitTask) -> None:
        """Count a task as done, also if it failed, or ended in silence."""
        if self.done.get(task) != _PERCENT:
            self.of(task)(1, 1, f"{task.label} at its end")
