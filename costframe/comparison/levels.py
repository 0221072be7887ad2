"""Levels of cost: the model that a side chooses by its own estimates within each budget, and its figures on test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from costframe.comparison.records import ModelFigures, Record
from costframe.core.arrays import F8
from costframe.core.checks import as_items
from costframe.core.errors import ParameterError, shown
from costframe.study.settings import is_real_number

LEVELS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # shares of the cost of all features
_ROUNDING = 1e-12  # of budgets, which are products


def check_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Return shares of the cost of all features, distinct and ascending; refuse what is no positive number."""
    given = as_items(levels)
    if not given:
        raise ParameterError(f"levels: expected shares of the cost of all features, such as 0.1, got {shown(levels)}")
    for level in given:
        if not (is_real_number(level) and 0 < level < np.inf):
            raise ParameterError(f"levels: expected numbers > 0, such as 0.1 for a tenth, got {shown(level)}")
    return tuple(sorted({float(level) for level in given}))


def choose_within(models: Iterable[ModelFigures], budget: float) -> ModelFigures | None:
    """Return the model of the highest rank whose estimated cost is within a budget, the cheapest of equal ones."""
    within = (model for model in models if model.cost <= budget * (1 + _ROUNDING))
    return max(within, key=lambda model: (model.rank, -model.cost), default=None)


def choose_at(record: Record, levels: Iterable[float]) -> list[ModelFigures | None]:
    """Return the model of a record at each level, None where no model is so cheap."""
    return [choose_within(record.models, level * record.prices.full_cost) for level in levels]


def values_at(record: Record, levels: ArrayLike) -> F8:
    """Return what is compared at each level: test scores, or bills; NaN where no model is so cheap: float64 (levels,).

    Higher scores and lower bills are better.
    """
    chosen = choose_at(record, np.asarray(levels, np.float64).tolist())
    return np.array([np.nan if model is None else worth_of(record, model) for model in chosen])


def worth_of(record: Record, model: ModelFigures) -> float:
    """Return the test score of a model, or its bill where errors have prices."""
    return model.test_bill if record.has_bills else model.test_score


def level_name(level: Any) -> str:
    """Return a level as text, such as "5 %"."""
    return f"{100 * level:.4g} %"
