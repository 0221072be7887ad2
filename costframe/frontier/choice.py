"""Which of several points to take, and what to say where a budget buys nothing better than a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.frontier.frontier import Frontier
    from costframe.frontier.points import Point

__all__ = ["UselessBudgetWarning", "beating_constant", "best_first", "cheapest_as_good", "nothing_useful"]


def best_first(point: Point) -> tuple[float, float]:
    """Return what points are ordered by: score, then cost."""
    return (point.score, -point.cost)


def beating_constant(frontier: Frontier, points: Sequence[Point]) -> list[Point]:
    """Return the points that beat the frontier's constant by more than one standard error; all if it has none."""
    constant = max((point for point in frontier.points if not point.n_features), key=best_first, default=None)
    if constant is None:
        return list(points)
    return [p for p in points if p.score - constant.score > frontier.difference_error(p, constant)]


def cheapest_as_good(frontier: Frontier, points: Sequence[Point]) -> Point:
    """Return the cheapest point within one standard error of the best; a constant only if no point beats it.

    The best is the one that is surest to be good: its score less its error is the highest. A point that is less sure
    than it, as those of an algorithm that does differently on each fold, is taken to be worse by the difference of
    their errors.
    """
    constants = [point for point in points if not point.n_features]
    if constants:
        if not beating_constant(frontier, points):
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
    """Nothing within a budget beats a constant by more than the error."""


def nothing_useful(frontier: Frontier, chosen: Point, budget: float | None) -> str | None:
    """Name the cheapest model that beats the constant, where the constant was chosen; else return None."""
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
