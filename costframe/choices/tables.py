"""Tables of a frontier: which points have rows, and which figures have columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from costframe.choices.choices import Choices
from costframe.choices.figures import figures_of
from costframe.choices.sentences import wording_of
from costframe.study.path_points import choose_places
from costframe.study.points import Point

_MOST_ROWS = 6  # of a table of the frontier


def distinct_points(frontier: Choices) -> tuple[Point, ...]:
    """Return the points without those of a model that another point has, and with one of the constants.

    Two points have the same model if their costs, numbers of features, and scores or influences are equal to the last
    bit.
    """
    places: dict[Any, int] = {}
    for place, point in enumerate(frontier.points):
        moved = frontier.influences[place] if frontier.influences else None
        known: Any = (point.score, point.score_error) if moved is None else moved.tobytes()
        alike = (
            (point.cost, point.test_cost, point.test_score, point.n_features, known) if point.n_features else point.cost
        )
        if alike not in places or point.score > frontier.points[places[alike]].score:
            places[alike] = place
    return tuple(frontier.points[place] for place in sorted(places.values()))


def columns_of(frontier: Choices, columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of a table, with cost, errors and bill for score and cost where points have bills."""
    instead = wording_of(frontier).columns
    return tuple(name for column in columns for name in instead.get(column, (column,)))


def to_cells(frontier: Choices, points: Iterable[Point], columns: Sequence[str]) -> list[list[str]]:
    """Return a row of texts for each point."""
    return [figures_of(frontier, point, *columns) for point in points]


def rows_of_frontier(frontier: Choices, chosen: Point) -> list[Point]:
    """Return at most six points by descending cost: the chosen, the best, and non-dominated ones with little loss.

    Each further point most reduces the loss in score against the whole frontier, summed over budgets.
    """
    front = frontier.non_dominated()
    shown = {frontier.best(), chosen, front[0]}
    places = [place for place, point in enumerate(front) if point in shown]
    cost, score = np.array([(point.cost, frontier.rank(point)[0]) for point in front]).T
    further = choose_places(cost, score, places, _MOST_ROWS - len(shown), frontier.full_cost)
    return sorted(shown | {front[place] for place in further}, key=lambda point: (-point.cost, -point.score))
