"""Places of the stages of a tree in a picture: columns and heights, without touching boxes or crossing ways."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from costframe.core.arrays import F8, I8
from costframe.core.stages.stages import Route, Stage

_Outline = list[tuple[float, float]]  # lowest and highest point of a subtree, for each column from its root on


def place_stages(stages: Sequence[Stage], heights: Sequence[float], gap: float) -> tuple[I8, F8]:
    """Place the box of each stage in a column, without touching boxes or crossing ways.

    A route is midway between its two next stages, or level with the one that is a route, so that a chain is straight.
    Two boxes of one column are at least `gap` apart. It returns the column of each stage, which is the number of routes
    on the path to it, int64, and the height of its center, float64; the lowest point of all boxes is at zero.
    """
    column, up = np.zeros(len(stages), np.int64), np.zeros(len(stages))  # up: relative to the parent's center
    outlines: list[_Outline] = [[(-height / 2, height / 2)] for height in heights]
    for number in reversed(range(len(stages))):
        stage = stages[number]
        if isinstance(stage, Route):
            shifts = _shifts(stage, stages, _apart(outlines[stage.below], outlines[stage.above], gap))
            up[stage.below], up[stage.above] = shifts
            lower, upper = (
                [(low + by, high + by) for low, high in outlines[child]]
                for child, by in zip((stage.below, stage.above), shifts, strict=True)
            )
            both = [(low[0], high[1]) for low, high in zip(lower, upper, strict=False)]
            outlines[number] += both + lower[len(both) :] + upper[len(both) :]
            outlines[stage.below] = outlines[stage.above] = []
    center = np.zeros(len(stages))
    for number, stage in enumerate(stages):
        if isinstance(stage, Route):
            for child in (stage.below, stage.above):
                column[child], center[child] = column[number] + 1, center[number] + up[child]
    return column, center - (center - np.asarray(heights) / 2).min()


def _shifts(stage: Route, stages: Sequence[Stage], apart: float) -> tuple[float, float]:
    routes = isinstance(stages[stage.below], Route), isinstance(stages[stage.above], Route)
    if routes == (True, False):
        return 0.0, apart
    if routes == (False, True):
        return -apart, 0.0
    return -apart / 2, apart / 2


def _apart(lower: _Outline, upper: _Outline, gap: float) -> float:
    """Return the least distance of the root of `upper` above that of `lower`."""
    return max(low[1] - high[0] for low, high in zip(lower, upper, strict=False)) + gap
