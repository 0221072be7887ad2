"""Refusals of settings that a sweep and a search share, before anything is fitted."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

from costframe.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_amounts", "check_fits", "check_searched", "check_share"]


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
