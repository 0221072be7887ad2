"""Layout of the boxes of a stage tree: the root at the left, stages above a threshold further up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.stages.stages import Route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.core.stages.stages import Stage

__all__ = ["place_stages"]

_Outline = list[tuple[float, float]]  # lowest and highest point of a stage's subtree, for each column from the stage on


def place_stages(
    stages: Sequence[Stage], heights: Sequence[float], gap: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Place the box of each stage in a column, without touching boxes or crossing ways.

    A route is midway between its two next stages, or level with the one that is a route, so that a chain is straight.

    Parameters
    ----------
    stages : sequence of Answer or Route
        The first is the root; children come after their parents.
    heights : sequence of float
        Height of each stage's box.
    gap : float
        Least distance between two boxes of one column.

    Returns
    -------
    column : int64 (stages,)
        Number of routes on the path to each stage.
    center : float64 (stages,)
        Height of each box's center; the lowest point of all boxes is at zero.
    """
    column, up = np.zeros(len(stages), np.int64), np.zeros(len(stages))  # up: relative to the parent's center
    outlines: list[_Outline] = [[(-height / 2, height / 2)] for height in heights]
    for number in reversed(range(len(stages))):
        stage = stages[number]
        if isinstance(stage, Route):
            shifts = _shifts(stage, stages, _apart(outlines[stage.below], outlines[stage.above], gap))
            up[stage.below], up[stage.above] = shifts
            moved = [_move(outlines[child], by) for child, by in zip((stage.below, stage.above), shifts, strict=True)]
            outlines[number] += _join(*moved)
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


def _move(outline: _Outline, by: float) -> _Outline:
    return [(low + by, high + by) for low, high in outline]


def _join(lower: _Outline, upper: _Outline) -> _Outline:
    both = [(low[0], high[1]) for low, high in zip(lower, upper, strict=False)]
    return both + lower[len(both) :] + upper[len(both) :]
