"""Tasks of a study, and events of its fits: they get on, end or fail, and are in the store."""

from __future__ import annotations

from attrs import frozen

from costframe.core.errors import CostframeError
from costframe.study.fitted import Fitted
from costframe.study.store import Files


@frozen
class FitTask:
    """The fits of one candidate, by its label, or a first look at it with few training rows."""

    label: str
    first_look: bool = False


@frozen
class FitAdvanced:
    """A task is at `done` of `total` fits, in which a path counts as its points; a text tells about the current fit."""

    task: FitTask
    done: int
    total: int
    text: str


@frozen
class FitsStored:
    """There are further fits in the store."""


@frozen
class FirstLookTaken:
    """There are quick fits, in no store, for the time until the first fit ends."""

    fits: list[Fitted]


@frozen
class TaskEnded:
    """All fits of a task have ended; `files` are those of its store, if that is on another machine."""

    task: FitTask
    fits: list[Fitted]
    files: Files | None = None


@frozen
class TaskFailed:
    """An error has ended a task; `files` has fits that ended before, as for `TaskEnded`."""

    task: FitTask
    error: CostframeError
    files: Files | None = None


@frozen
class WorkersFailed:
    """An error has ended all tasks that were left, as that of a lost worker, or one that is not of costframe."""

    error: BaseException


# Stands below the classes that it joins.
Event = FitAdvanced | FitsStored | FirstLookTaken | TaskEnded | TaskFailed | WorkersFailed
