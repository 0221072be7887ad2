"""Scores and exact costs of fitted models, the non-dominated ones, choices among them, and their CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import attrs
from attrs import frozen

from costframe.core.errors import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.frontier.frontier import Frontier

__all__ = [
    "Point",
    "UselessBudgetWarning",
    "best_first",
    "cheapest_near_best",
    "describe_useless_budget",
    "points_above_constant",
    "points_csv",
]


@frozen
class Point:
    """One fitted model on the plane of cost and score.

    Attributes
    ----------
    algorithm : str
    tradeoff : float
        Loss accepted per unit of cost per row; 0 for the model trained without prices. On a path, where the tradeoff
        falls while the model grows, the tradeoff of the last round; the first point of an algorithm is trained without
        prices. Points within sets of features, at the end, have 0 too.
    score : float
        Estimate on held-out rows; higher is better. See `Frontier.sweep` for the method.
    score_error : float
        Its standard error.
    cost : float
        Exact mean cost per row of valid, in the cost model's unit, or the algorithm's own estimate, without
        once-per-batch prices.
    test_score, test_error, test_cost : float or None
        Score on test, its standard error, and the exact mean cost there; None without test rows.
    fixed : float
        Once-per-batch prices paid on test (on valid without test rows).
    n_features : int
        Features that the model reads.
    n_learners : int
        Weak learners that it evaluates, over all stages.
    rounds : float
        Mean number of trips to the sources for a row, over a few of the test (else valid) rows.
    seconds : float
        Time to fit; on a path, an equal share of the time of all its points.
    rows_lacked : float
        Share of the model's training rows that the models behind `score` did not have; 0 if `score` is of the model
        itself.
    """

    algorithm: str
    tradeoff: float
    score: float
    score_error: float
    cost: float
    test_score: float | None
    test_error: float | None
    test_cost: float | None
    fixed: float
    n_features: int
    n_learners: int
    rounds: float
    seconds: float
    rows_lacked: float = 0.0


def points_csv(frontier: Frontier) -> str:
    """Return one line per point, with floats that read back to the same bits.

    The columns are the attributes of `Point`, then `non_dominated` (1 or 0), `score_name`, `unit`, `full_cost`.
    """
    text = io.StringIO()
    columns = [attribute.name for attribute in attrs.fields(Point)]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, "non_dominated", "score_name", "unit", "full_cost"])
    worth_having = frontier.non_dominated()
    for point in frontier.points:
        values = [getattr(point, name) for name in columns]
        writer.writerow([*values, int(point in worth_having), frontier.score_name, frontier.unit, frontier.full_cost])
    return text.getvalue()


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
    within = "nothing" if budget is None else f"nothing within {budget:g} {printable(frontier.unit)}"
    useful = frontier.useful()
    if useful is None:
        return f"{within} beats the constant by more than the error, and nothing found at any cost does"
    return (
        f"{within} beats the constant by more than the error; the cheapest that does: {useful.algorithm}, "
        f"{useful.cost:.4g} {printable(frontier.unit)} per row, {frontier.score_name} {useful.score:.4g} "
        f"\u00b1 {useful.score_error:.2g}"
    )
