"""Refuse settings of sweeps and searches before anything is fitted: amounts, scores, algorithms."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

from costframe.core.errors import ParameterError, PluginError
from costframe.core.plugins.registry import TASKS, estimator, registry, two_classes_only
from costframe.core.plugins.registry import algorithms as usable_algorithms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["check_algorithms", "check_amounts", "check_fits", "check_searched", "check_share", "left_out"]


def check_amounts(tradeoffs: Sequence[float] | None, budget: float | None) -> None:
    """Refuse a budget or tradeoffs that are no numbers >= 0, and tradeoffs that are none."""
    if budget is not None and not (_is_number(budget) and budget >= 0):
        raise ParameterError(f"budget: expected a number >= 0, got {budget!r}")
    if tradeoffs is None:
        return
    if isinstance(tradeoffs, str) or not hasattr(tradeoffs, "__len__") or not hasattr(tradeoffs, "__iter__"):
        raise ParameterError(f"tradeoffs: expected a list of numbers >= 0, got {tradeoffs!r}")
    if not len(tradeoffs):
        raise ParameterError("tradeoffs: expected at least one, got none")
    for tradeoff in tradeoffs:
        if not (_is_number(tradeoff) and math.isfinite(tradeoff) and tradeoff >= 0):
            raise ParameterError(f"tradeoffs: expected finite numbers >= 0, got {tradeoff!r}")


def check_share(name: str, value: Any) -> None:
    """Refuse what is no share of rows that leaves some on both sides."""
    if not (_is_number(value) and 0 < value < 1):
        raise ParameterError(f"{name}: expected a number between 0 and 1, got {value!r}")


def check_fits(parameter: str, score: str, task: str, n_classes: int) -> None:
    """Refuse a score that a task, of so many classes, does not have."""
    fitting = {"classification": ("accuracy", "roc_auc"), "regression": ("r2",), "ranking": ("ndcg@5",)}[task]
    if n_classes == 2:
        fitting += ("average_precision",)
    if score not in fitting:
        classes = f" of {n_classes} classes" if n_classes else ""
        raise ParameterError(f"{parameter}: {task}{classes} has {', '.join(fitting)}, not {score!r}")


def check_searched(estimator: Any) -> None:
    """Refuse what is no estimator whose tradeoff can be searched."""
    expected = "estimator: expected one of costframe's, with a tradeoff"
    if isinstance(estimator, type):
        raise ParameterError(f"{expected}, got the class {estimator.__name__}; call it")
    if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise ParameterError(f"{expected}, got {estimator!r}")
    if "tradeoff" not in estimator.get_params(deep=False):
        raise ParameterError(f"{expected}, {type(estimator).__name__} has none")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


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
