"""Phrases that sentences about points share: their names, and differences with as many digits as are known."""

from __future__ import annotations

import math

from costframe.choices.choices import Choices
from costframe.choices.intervals import Difference
from costframe.core.errors import printable
from costframe.study.points import Point


def name_of(frontier: Choices, point: Point) -> str:
    """Return a point's name, or its algorithm and cost if it has none."""
    at = f"{printable(point.algorithm)} at {point.cost:.4g} {printable(frontier.unit)}"
    return printable(point.name) if point.name else at


def how_far_apart(difference: Difference, other: str) -> str:
    """Return by how much a score is above or below another one, with its interval."""
    value, low, high = (_side(value, difference.error) for value in (difference.value, difference.low, difference.high))
    return f"{value or 'equal to'} {other} (90% interval: {low or '0'} to {high or '0'})"


def _side(value: float, error: float) -> str:
    text = round_to_error(abs(value), error)
    return f"{text} {'below' if value < 0 else 'above'}" if float(text) else ""


def round_to_error(value: float, error: float) -> str:
    """Return a value with two digits of its error that is 1.x, or one of a larger one."""
    if not error > 0:
        return f"{value:.4f}"
    place = math.floor(math.log10(error))
    return f"{value:.{max(-place + (error < 2 * 10.0**place), 0)}f}"
