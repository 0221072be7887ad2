"""Which of several points to take: the cheapest that is as good within the error, and better than a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.frontier.points import Frontier, Point

__all__ = ["beating_constant", "best_first", "cheapest_as_good"]


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
