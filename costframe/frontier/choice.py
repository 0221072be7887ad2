"""Choice among points, and a warning if no point within the budget is better than a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.frontier.frontier import Frontier
    from costframe.frontier.points import Point

__all__ = [
    "UselessBudgetWarning",
    "best_first",
    "cheapest_near_best",
    "describe_useless_budget",
    "points_above_constant",
]


def best_first(point: Point) -> tuple[float, float]:
    """Return the sort key of a point: score, then cost."""
    return (point.score, -point.cost)


def points_above_constant(frontier: Frontier, points: Sequence[Point]) -> list[Point]:
    """Return the points that beat the frontier's constant by more than one standard error; all without a constant."""
    constant = max((point for point in frontier.points if not point.n_features), key=best_first, default=None)
    if constant is None:
        return list(points)
    return [p for p in points if p.score - constant.score > frontier.difference_error(p, constant)]


def cheapest_near_best(frontier: Frontier, points: Sequence[Point]) -> Point:
    """Return the cheapest point within one standard error of the best; a constant only if no point beats it.

    The best point has the highest score minus error. A point with a larger error, as of an algorithm whose score varies
    between folds, counts as worse by the difference of the errors.
    """
    constants = [point for point in points if not point.n_features]
    if constants:
        if not points_above_constant(frontier, points):
            return max(constants, key=best_first)
        points = [point for point in points if point.n_features]
    best = max(points, key=lambda point: (point.score - point.score_error, -point.cost))
    good = [best]
    for point in points:
        worse = best.score - point.score + max(point.score_error - best.score_error, 0.0)
        if worse <= frontier.difference_error(best, point):
            good.append(point)
    return min(good, key=lambda point: (point.cost, -point.score))


class UselessBudgetWarning(UserWarning):
    """Warning: no model within a budget beats a constant by more than the error."""


def describe_useless_budget(frontier: Frontier, chosen: Point, budget: float | None) -> str | None:
    """Return a text that names the cheapest model above the constant if the constant was chosen, else None."""
    if chosen.n_features:
        return None
    within = "nothing" if budget is None else f"nothing within {budget:g} {frontier.unit}"
    useful = frontier.useful()
    if useful is None:
        return f"{within} beats the constant by more than the error, and nothing found at any cost does"
    return (
        f"{within} beats the constant by more than the error; the cheapest that does: {useful.algorithm}, "
        f"{useful.cost:.4g} {frontier.unit} per row, {frontier.score_name} {useful.score:.4g} "
        f"\u00b1 {useful.score_error:.2g}"
    )
