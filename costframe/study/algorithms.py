"""Algorithms of a study: those that the caller names, or the usual ones for a task."""

from __future__ import annotations

from collections.abc import Iterable

from costframe.core.checks import check_name_list
from costframe.core.errors import ParameterError, PluginError
from costframe.core.plugins.entries import TASKS
from costframe.core.plugins.estimators import estimator, two_classes_only
from costframe.core.plugins.registry import registry
from costframe.training.data import Traits

EVERY = "all"  # in place of names of algorithms


def choose_algorithms(
    task: str, wanted: Iterable[str] | None, n_classes: int = 0
) -> tuple[list[str], dict[str, ParameterError]]:
    """Return the algorithms to fit, and errors of those left out, as they are for two classes only and there are more.

    By default they are the usual ones of the task; "all" are all but baselines, which may be named beside it. It
    refuses unknown names, and names of other tasks' or other numbers of classes. `n_classes` is 0 if it is unknown, or
    the task has no classes.
    """
    given = () if wanted is None else (wanted,) if isinstance(wanted, str) else check_name_list("algorithms", wanted)
    names = list(dict.fromkeys(given))
    if wanted is not None and not names:
        raise ParameterError("algorithms: expected at least one name, got none")
    named = [name for name in names if name != EVERY]
    for name in named:
        if registry().kind(name, task) is None:
            estimator(name, task)  # its error names the algorithm's tasks
    for name, error in _unfit(named, task, n_classes).items():
        raise ParameterError(f"algorithm {name!r}: {error}")
    if names and named == names:
        return names, {}
    chosen, unfit = _unnamed(task, n_classes, every=bool(names))
    return list(dict.fromkeys([*chosen, *named])), unfit


def _unnamed(task: str, n_classes: int, *, every: bool) -> tuple[list[str], dict[str, ParameterError]]:
    algorithms = sorted(registry().algorithms.items())
    known = {
        name: algorithm for name, algorithm in algorithms if TASKS[task] in algorithm.given and not algorithm.baseline
    }
    if not known:
        raise PluginError(f"no installed algorithm has the task {task!r}")
    names = [name for name, algorithm in known.items() if every or algorithm.usual] or list(known)
    names = [name for name in names if registry().loads(name, task)]
    unfit = _unfit(names, task, n_classes)
    if len(unfit) == len(names):
        raise PluginError(f"no installed algorithm takes {n_classes} classes")
    return [name for name in names if name not in unfit], unfit


def _unfit(names: Iterable[str], task: str, n_classes: int) -> dict[str, ParameterError]:
    """Return errors of algorithms for two classes only, by name, if there are more."""
    if task != "classification" or n_classes <= 2:
        return {}
    error = ParameterError(f"is for two classes, got {n_classes}")
    return {name: error for name in names if two_classes_only(registry().kind(name, task))}


def check_saved(name: str, task: str, n_classes: int) -> None:
    """Refuse an algorithm whose models for a task cannot be saved to a file; `n_classes` is 0 without classes."""
    most = Traits.of(registry().kind(name, task)).most_classes_saved
    if most is not None and (n_classes > most or not n_classes):
        models = f"models of {n_classes} classes" if n_classes else f"models for {task}"
        raise ParameterError(f"algorithm {name!r}: its {models} cannot be saved to a file, only compared")
