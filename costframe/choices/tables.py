"""Tables of a frontier: which points have rows, and texts of their cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from costframe.choices.choices import Choices
from costframe.core.display import cost, saving, with_error
from costframe.study.path_points import choose_places
from costframe.study.points import Point

MOST_ROWS = 6  # of a table of the frontier
# What replaces columns where points have bills.
_BILLS = dict.fromkeys(("score", "score alone", "90% interval", "test score"), ()) | {
    "cost": ("cost", "errors", "bill"),
    "test cost": ("test cost", "test errors", "test bill"),
}


def columns_of(frontier: Choices, columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of a table, with cost, errors and bill for score and cost where points have bills."""
    return tuple(name for each in columns for name in (_BILLS.get(each, (each,)) if frontier.has_bills else (each,)))


def to_cells(frontier: Choices, points: Iterable[Point], columns: Sequence[str]) -> list[list[str]]:
    """Return a row of texts for each point."""
    return [[COLUMNS[name](frontier, point) for name in columns] for point in points]


def rows_of_frontier(frontier: Choices, chosen: Point) -> list[Point]:
    """Return at most six points by descending cost: the chosen, the best, and non-dominated ones with little loss.

    Each further point most reduces the loss in score against the whole frontier, summed over budgets.
    """
    front = frontier.non_dominated()
    shown = {frontier.best(), chosen, front[0]}
    kept = [place for place, point in enumerate(front) if point in shown]
    cost, score = np.array([(point.cost, frontier.rank(point)[0]) for point in front]).T
    further = choose_places(cost, score, kept, MOST_ROWS - len(shown), frontier.full_cost)
    return sorted(shown | {front[place] for place in further}, key=lambda point: (-point.cost, -point.score))


COLUMNS: dict[str, Callable[[Choices, Point], str]] = {
    "model": lambda _, point: point.name or point.algorithm,
    "algorithm": lambda _, point: point.algorithm,
    "tradeoff": lambda _, point: f"{point.tradeoff:.2e}" if point.tradeoff else "0",
    "score": lambda _, point: with_error(point.score, point.score_error),
    "score alone": lambda _, point: f"{point.score:.4f}",
    "90% interval": lambda frontier, point: "{:.4f} to {:.4f}".format(*frontier.score_interval(point)),
    "cost": lambda _, point: cost(point.cost),
    "errors": lambda frontier, point: cost(frontier.errors(point)),
    "bill": lambda frontier, point: f"{cost(frontier.bill(point))} \u00b1{frontier.bill_error(point):.2g}",
    "saves": lambda frontier, point: saving(point.cost, frontier.full_cost),
    "test score": lambda _, point: "-" if point.test_score is None else f"{point.test_score:.4f}",
    "test cost": lambda _, point: cost(point.test_cost),
    "test errors": lambda _, point: "-" if point.test_score is None else cost(-point.test_score),
    "test bill": lambda _, point: "-" if point.test_score is None else cost((point.test_cost or 0) - point.test_score),
    "features": lambda _, point: str(point.n_features),
    "learners": lambda _, point: f"{point.n_learners:,}",
    "rounds": lambda _, point: f"{point.rounds:.1f}",
}
