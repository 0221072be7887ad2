"""Between which two plans of a path there is another one: where they are farthest apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log, sqrt

import numpy as np
from attrs import evolve, frozen

from costframe.plugin import PathPoint

_CHEAPEST = 0.02  # share of the full cost, below which all costs are the same in proportion

Apart = Callable[[PathPoint, PathPoint], float]


@frozen
class Refinement:
    """How many further plans there are at most, and where."""

    most: int
    widest: float  # how far apart plans are without another one between them
    apart: Apart
    nearest: float = 1.001  # least quotient of the tradeoffs of two plans between which there is another

    def place(self, points: Sequence[PathPoint]) -> tuple[int, float] | None:
        """Return the place among points, by ascending tradeoff, and the tradeoff of the next one; None if none is.

        A point without a loss, which no plan out of fold is like, counts as halfway between its neighbors.
        """
        losses = np.array([point.loss for point in points])
        lost = np.isnan(losses)
        if not lost.all():
            losses[lost] = np.interp(np.flatnonzero(lost), np.flatnonzero(~lost), losses[~lost])
        filled = [evolve(point, loss=loss) for point, loss in zip(points, losses.tolist(), strict=True)]
        gaps = [
            (self.apart(a, b), -place)
            for place, (a, b) in enumerate(pairwise(filled))
            if b.tradeoff > self.nearest * a.tradeoff
        ]
        gap, place = max(gaps, default=(0.0, 0))
        if not gap > self.widest:
            return None
        return 1 - place, float(np.sqrt(points[-place].tradeoff * points[1 - place].tradeoff))


def in_proportion(full: float) -> Apart:
    """Return what tells how far costs are apart in logarithms."""
    least = max(_CHEAPEST * full, float(np.finfo(np.float64).tiny))  # a share of a subnormal price may be zero
    return lambda a, b: abs(log(max(a.cost, least) / max(b.cost, least)))


def in_shares(full: float) -> Apart:
    """Return what tells how far costs are apart, as shares of the full one."""
    return lambda a, b: abs(a.cost - b.cost) / full


def in_area(full: float, constant: float) -> Apart:
    """Return the root of the product of what costs and losses are apart, as shares of the full and of the constant's.

    A plan between two that both cost and lose about the same can gain little.
    """
    return lambda a, b: sqrt(abs(a.cost - b.cost) / full * abs(a.loss - b.loss) / constant)
