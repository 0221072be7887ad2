"""Points that tables show once, and points that sentences compare with."""

from __future__ import annotations

from typing import Any

from costframe.choices.choices import Choices
from costframe.study.points import Point


def distinct(frontier: Choices) -> tuple[Point, ...]:
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


def plain_point(frontier: Choices, algorithm: str) -> Point | None:
    """Return the point of an algorithm that was trained without prices; on a path, only its first one.

    First looks, with few rows, are none: what they lack is not the prices alone.
    """
    points = (point for point in frontier.points if point.algorithm == algorithm and not point.is_first_look)
    return next((point for point in points if point.tradeoff == 0), None)
