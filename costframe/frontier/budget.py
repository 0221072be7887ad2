"""Budgets on cost and time: the bounds that points of a frontier keep."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from attrs import frozen

from costframe.core.amounts import milliseconds
from costframe.core.errors import ParameterError, printable, shown
from costframe.frontier.checks import is_real_number

if TYPE_CHECKING:
    from costframe.core.prices.costs import CostModel
    from costframe.frontier.points import Point

__all__ = ["IN_TIME", "Budget", "UselessBudgetWarning"]

IN_TIME = 0.95  # share of the rows whose latency is within a time budget


class UselessBudgetWarning(UserWarning):
    """Warning: no model within a budget beats a constant by more than the error."""


@frozen
class Budget:
    """Bounds on a point of a frontier; None is no bound.

    Parameters
    ----------
    cost : float, optional
        Of the mean cost per row.
    time : float, optional
        Of the latency of 95 % of the rows, in milliseconds.

    Raises
    ------
    ParameterError
        If a bound is not a number >= 0.
    """

    cost: float | None = None
    time: float | None = None

    def __attrs_post_init__(self) -> None:
        for name, bound in (("budget", self.cost), ("time_budget", self.time)):
            if bound is not None and not (is_real_number(bound) and bound >= 0):
                raise ParameterError(f"{name}: expected a number >= 0, got {shown(bound)}")

    def __bool__(self) -> bool:
        """Whether there is a bound."""
        return self.cost is not None or self.time is not None

    def check_prices(self, costs: CostModel) -> None:
        """Refuse a bound on time at prices without times."""
        if self.time is not None and not costs.has_times:
            raise ParameterError("time_budget: the prices have no times; give features or resources a `time`")

    def allows(self, point: Point) -> bool:
        """Return whether a point keeps the bounds."""
        return all(value <= bound for value, bound in self._pairs(point))

    def used(self, point: Point) -> float:
        """Return the share of the bounds that a point uses, the larger one of two; above 1 beyond them."""
        return max(
            value / bound if bound > 0 else math.inf if value > 0 else 1.0 for value, bound in self._pairs(point)
        )

    def _pairs(self, point: Point) -> list[tuple[float, float]]:
        """Return what a point has of each bounded quantity, with its bound."""
        pairs = ((point.cost, self.cost), (point.latency_p95, self.time))
        return [(math.inf if value is None else value, bound) for value, bound in pairs if bound is not None]

    def describe(self, unit: str) -> str:
        """Return the bounds as a text; an empty one without bounds."""
        cost = [] if self.cost is None else [f"{self.cost:g} {printable(unit)}"]
        return " and ".join([*cost, *([] if self.time is None else [milliseconds(self.time)])])
