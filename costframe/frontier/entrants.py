"""Which algorithms are for a table: those that have its task, and take as many classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costframe.core.errors import ParameterError, PluginError
from costframe.core.plugins.registry import TASKS, estimator, registry, two_classes_only
from costframe.core.plugins.registry import algorithms as usable_algorithms

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_algorithms", "left_out"]


def check_algorithms(task: str, wanted: Iterable[str] | None, n_classes: int = 0) -> list[str]:
    """Return the algorithms to fit, all that are for the task by default; refuse what is unknown or not for it.

    Parameters
    ----------
    task : {"classification", "regression", "ranking"}
    wanted : iterable of str or None
        Names.
    n_classes : int
        How many classes there are; 0 where that is not known yet, or there are none.
    """
    if isinstance(wanted, str):
        wanted = [wanted]
    if wanted is None:
        unfit = left_out(task, n_classes)
        names = [name for name in _with_task(task) if name not in unfit]
        if not names and unfit:
            raise PluginError(f"no installed algorithm takes {n_classes} classes")
        if not names:
            raise PluginError(f"no installed algorithm has the task {task!r}")
        return names
    names = list(dict.fromkeys(wanted))
    if not names:
        raise ParameterError("algorithms: expected at least one name, got none")
    for name in names:
        if getattr(registry().algorithm(name), TASKS[task]) is None:
            estimator(name, task)  # says which tasks it has
    unfit = left_out(task, n_classes)
    for name in names:
        if name in unfit:
            raise ParameterError(f"algorithm {name!r}: {unfit[name]}")
    return names


def left_out(task: str, n_classes: int) -> dict[str, ParameterError]:
    """Name the algorithms that have the task, but say that they are for two classes where there are more."""
    if task != "classification" or n_classes <= 2:
        return {}
    return {
        name: ParameterError(f"is for two classes, got {n_classes}")
        for name in _with_task(task)
        if two_classes_only(usable_algorithms()[name].classifier)
    }


def _with_task(task: str) -> list[str]:
    return [name for name, one in usable_algorithms().items() if getattr(one, TASKS[task]) is not None]
