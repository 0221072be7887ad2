"""Settings of a study, checked when they are made, before the first fit."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

from attrs import frozen

from costframe.core.checks import as_items, check_flag, check_number
from costframe.core.errors import ParameterError, shown
from costframe.datasets import Dataset, load


def check_budget(budget: Any) -> None:
    """Refuse a budget on the mean cost per row that is no number >= 0; None is no budget."""
    if budget is not None and not (is_real_number(budget) and 0 <= budget < math.inf):
        raise ParameterError(f"budget: expected a number >= 0 that is finite, got {shown(budget)}")


def check_tradeoffs(tradeoffs: Sequence[float] | None) -> None:
    """Refuse tradeoffs that are not numbers >= 0, and an empty list."""
    if tradeoffs is None:
        return
    given = as_items(tradeoffs)
    if given is None or not hasattr(tradeoffs, "__len__"):
        raise ParameterError(f"tradeoffs: expected a list of numbers >= 0, got {shown(tradeoffs)}")
    if not given:
        raise ParameterError("tradeoffs: expected at least one, got none")
    for tradeoff in given:
        if not (is_real_number(tradeoff) and math.isfinite(tradeoff) and tradeoff >= 0):
            raise ParameterError(f"tradeoffs: expected finite numbers >= 0, got {shown(tradeoff)}")


@frozen
class StudyPlan:
    """At which tradeoffs candidates are fitted, how many points of each are kept, and for which budget.

    By default these follow from losses and prices; docs/choosing.md explains how.
    """

    tradeoffs: Sequence[float] | None = None
    points: int | None = None
    budget: float | None = None

    def __attrs_post_init__(self) -> None:
        check_budget(self.budget)
        check_tradeoffs(self.tradeoffs)
        if self.points is not None:
            check_number("points", self.points, low=1, whole=True)
            if self.tradeoffs is not None:
                raise ParameterError("points: has no effect on given tradeoffs; leave one of them out")


@frozen(kw_only=True)
class StudySettings:
    """How `Frontier.fit` and `BudgetSearch` compare estimators; they describe each."""

    plan: StudyPlan
    scoring: Any
    cv: Any
    validation_fraction: float
    random_state: Any
    n_jobs: int | None
    time_limit: float | None

    def __attrs_post_init__(self) -> None:
        check_time_limit(self.time_limit)


def check_time_limit(seconds: Any, *, keeps_fits: bool = True) -> None:
    """Refuse a time limit that is no number of seconds, or has no directory that keeps the finished fits."""
    if seconds is None:
        return
    if not (is_real_number(seconds) and seconds > 0):
        raise ParameterError(f"time_limit: expected a number of seconds > 0, got {shown(seconds)}")
    if not keeps_fits:
        raise ParameterError("time_limit: needs a directory, which keeps the finished fits")


def check_run_options(directory: object, time_limit: Any, *, resume: Any) -> None:
    """Refuse a time limit that is no number of seconds, and what needs a directory without one."""
    if check_flag("resume", resume) and directory is None:
        raise ParameterError("resume: needs a directory, which keeps the finished fits")
    check_time_limit(time_limit, keeps_fits=directory is not None)


def check_share(name: str, value: Any) -> None:
    """Refuse a share of rows that is not a number between 0 and 1."""
    if not (is_real_number(value) and 0 < value < 1):
        raise ParameterError(f"{name}: expected a number between 0 and 1, got {shown(value)}")


def is_real_number(value: Any) -> bool:
    """Return whether a value is a real number that a double can hold, and no truth value."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    with contextlib.suppress(OverflowError):
        return not math.isnan(float(value))
    return False


def read_data(data: Any) -> Dataset:
    """Return a data set, given or by name; refuse anything else."""
    if isinstance(data, str):
        return load(data)
    if not isinstance(data, Dataset):
        raise ParameterError(f"data: expected a Dataset, or the name of one, got {shown(data)}")
    return data
