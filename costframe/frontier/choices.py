"""Choices among the points of a frontier: within budgets on cost and time, and as good as the best."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from attrs import frozen

from costframe.core.amounts import milliseconds
from costframe.core.errors import ParameterError, printable, shown
from costframe.frontier.checks import is_real_number
from costframe.frontier.points import CONSTANT, at_tradeoff, best_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.core.prices.costs import CostModel
    from costframe.frontier.frontier import Frontier
    from costframe.frontier.points import Point

__all__ = [
    "IN_TIME",
    "Budget",
    "UselessBudgetWarning",
    "affordable",
    "cheapest_near_best",
    "describe_recommendation",
    "describe_useless_budget",
    "places_in_time",
    "points_above_constant",
]

IN_TIME = 0.95  # share of the rows whose latency is within a time budget
NEGLIGIBLE = 0.005  # loss of score, as a share of the best score


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


def places_in_time(frontier: Frontier, time: float) -> list[int]:
    """Return the places of the points within a time budget; refuse one that no point keeps."""
    budget = Budget(time=time)
    if not frontier.has_times:
        raise ParameterError("time_budget: the points have no latency, because the prices have no times")
    if kept := [place for place, point in enumerate(frontier.points) if budget.allows(point)]:
        return kept
    least = min(frontier.points, key=budget.used)
    raise ParameterError(
        f"time_budget: no model has 95 % of the rows within {milliseconds(time)}; the quickest found has them within "
        f"{milliseconds(least.latency_p95)} ({at_tradeoff(least)})"
    )


def affordable(frontier: Frontier, cost: float | None, time: float | None) -> list[Point]:
    """Return the points within budgets on the mean cost and on time; refuse budgets that no point keeps."""
    budget, points = Budget(cost), frontier.within_time(time).points
    if kept := [point for point in points if budget.allows(point)]:
        return kept
    least = min(points, key=lambda point: point.cost)
    also = "" if time is None else f" with 95 % of the rows within {milliseconds(time)}"
    raise ParameterError(
        f"budget: no model costs at most {cost:g} {printable(frontier.unit)} per row{also}; the cheapest found costs "
        f"{least.cost:g} ({at_tradeoff(least)})"
    )


def points_above_constant(frontier: Frontier) -> list[Point]:
    """Return the points that beat the frontier's constant by more than one standard error; all without a constant."""
    points = frontier.points
    constant = max((point for point in frontier.points if not point.n_features), key=best_first, default=None)
    if constant is None:
        return list(points)
    return [p for p in points if p.score - constant.score > frontier.difference_error(p, constant)]


def cheapest_near_best(frontier: Frontier, points: Sequence[Point]) -> Point:
    """Return the cheapest point as good as the best one; a constant only if no point beats it.

    Scores count by the lower ends of their intervals, so that a less certain one counts less. A point is as good if it
    is within one standard error of the paired difference, or if the difference is surely below `NEGLIGIBLE`.
    """
    constants = [point for point in points if not point.n_features]
    if constants:
        if frontier.above_constant.isdisjoint(points):
            return max(constants, key=best_first)
        points = [point for point in points if point.n_features]
    best = max(points, key=frontier.rank)
    cheapest_first = sorted([best, *points], key=lambda point: (point.cost, -point.score))
    return next(point for point in cheapest_first if point == best or _is_near(frontier, point, best))


def _is_near(frontier: Frontier, point: Point, best: Point) -> bool:
    """Return whether a point is within one standard error of the best, or surely within a negligible loss."""
    within = _within_error(frontier, point, best)
    return within or frontier.difference(point, best).low >= -NEGLIGIBLE * abs(best.score)


def _within_error(frontier: Frontier, point: Point, best: Point) -> bool:
    """Return whether a point is within one standard error of the best, by the lower ends of intervals."""
    return frontier.rank(best)[0] - frontier.rank(point)[0] <= frontier.difference_error(best, point)


def describe_recommendation(frontier: Frontier, chosen: Point) -> str:
    """Return words that say which one of all points `cheapest_near_best` chose, perhaps within a budget."""
    if chosen.algorithm == CONSTANT:
        return "a constant, for no fit has ended"
    if not chosen.n_features:
        return "a constant, which nothing clearly beats"
    points = [point for point in frontier.points if point.n_features]
    best = max(points, key=frontier.rank)
    if chosen == best:
        return "the best of all models"
    if _within_error(frontier, chosen, best):
        return "the cheapest within one standard error of the best"
    if _is_near(frontier, chosen, best):
        return f"the cheapest that is surely within {NEGLIGIBLE:.1%} of the best"
    best_within = max((point for point in points if point.cost <= chosen.cost), key=frontier.rank)
    return "the best at its cost" if chosen == best_within else "nearly the best at its cost"


class UselessBudgetWarning(UserWarning):
    """Warning: no model within a budget beats a constant by more than the error."""


def describe_useless_budget(frontier: Frontier, chosen: Point, budget: Budget) -> str | None:
    """Return a text that names the cheapest model above the constant if the constant was chosen, else None."""
    if chosen.n_features:
        return None
    if chosen.algorithm == CONSTANT:
        return "no fit has ended: this model is a constant, which reads nothing"
    bounds = budget.describe(frontier.unit)
    within = f"nothing within {bounds}" if bounds else "nothing"
    useful = frontier.useful()
    if useful is None:
        return f"{within} beats the constant by more than the error, and nothing found at any cost does"
    waits = "" if useful.latency_p95 is None else f", 95 % of the rows within {milliseconds(useful.latency_p95)}"
    return (
        f"{within} beats the constant by more than the error; the cheapest that does: {useful.algorithm}, "
        f"{useful.cost:.4g} {printable(frontier.unit)} per row{waits}, {frontier.score_name} {useful.score:.4g} "
        f"\u00b1 {useful.score_error:.2g}"
    )
