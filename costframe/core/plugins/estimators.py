"""Estimators of algorithms by name."""

from __future__ import annotations

import inspect
from itertools import product
from typing import Any

from costframe.core.errors import PluginError, shown
from costframe.core.plugins.entries import TASKS, suggest
from costframe.core.plugins.registry import registry
from costframe.hooks import Algorithm

_ANYWHERE = frozenset({"random_state", "n_jobs", "verbose"})  # parameters that an estimator may lack


def algorithms() -> dict[str, Algorithm]:
    """Return the usable algorithms by name; this imports all their estimators."""
    plugins = registry()
    for name, task in product(list(plugins.algorithms), TASKS):
        plugins.loads(name, task)
    return dict(sorted(plugins.algorithms.items()))


def estimator(name: str, task: str = "classification", **parameters: Any) -> Any:
    """Make an unfitted estimator of an algorithm.

    Parameters
    ----------
    name : str
        As in `algorithms()`.
    task : {"classification", "regression", "ranking"}
    **parameters
        The estimator's own, such as `costs` and `tradeoff`; `random_state`, `n_jobs` and `verbose` for any estimator.

    Raises
    ------
    PluginError
        If the algorithm does not exist, or lacks the task or the parameter.
    """
    has = registry().algorithm(name).given
    if not isinstance(task, str) or task not in TASKS:
        raise PluginError(f"task: expected one of {', '.join(TASKS)}, got {shown(task)}")
    kind = registry().kind(name, task)
    if kind is None:
        tasks = ", ".join(task for task, role in TASKS.items() if role in has)
        raise PluginError(f"algorithm {name!r} has no {task}; it has {tasks}")
    known = list(inspect.signature(kind).parameters)
    parameters = {name: value for name, value in parameters.items() if name in known or name not in _ANYWHERE}
    for parameter in parameters:
        if parameter not in known:
            hint = suggest(parameter, known)
            raise PluginError(f"algorithm {name!r} has no parameter {parameter!r}{hint}; it has {', '.join(known)}")
    return kind(**parameters)


def two_classes_only(kind: Any) -> bool:
    """Return whether an estimator class has scikit-learn's tag of a classifier for two classes only."""
    try:
        return not kind().__sklearn_tags__().classifier_tags.multi_class
    except Exception:  # noqa: BLE001 - a foreign class may lack tags, or fail
        return False
