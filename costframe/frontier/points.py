"""Scores and exact costs of fitted models, the non-dominated ones, and their CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import attrs
from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from costframe.frontier.frontier import Frontier

__all__ = ["Point", "keep_non_dominated", "points_csv"]


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


def keep_non_dominated(points: Iterable[Point]) -> tuple[Point, ...]:
    """Return the points such that no other has a higher score at no more cost; by ascending cost."""
    chosen: list[Point] = []
    for point in sorted(points, key=lambda point: (point.cost, -point.score)):
        if not chosen or point.score > chosen[-1].score:
            chosen.append(point)
    return tuple(chosen)


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
