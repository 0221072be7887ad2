"""The choice by bills: the cheapest point whose bill, of cost and errors, is as low as the least one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from attrs import frozen

from costframe.choices.criterion import Criterion
from costframe.choices.intervals import Difference, interval_of_counts
from costframe.choices.paired_points import PairedPoints
from costframe.core.errors import ParameterError
from costframe.study.estimates import NINE_OF_TEN
from costframe.study.points import Point
from costframe.study.references import is_reference


@frozen(eq=False)
class BillCriterion(Criterion):
    """Choice by bills; scores are minus the cost of errors."""

    paired: PairedPoints

    def worth(self, point: Point) -> float:
        """Return minus the bill."""
        return -(point.cost + self.errors(point))

    def gain(self, point: Point, other: Point) -> Difference:
        """Return by how much the bill of one is below that of the other."""
        return self.paired.bill_difference(point, other)

    def score_interval(self, point: Point) -> tuple[float, float]:
        """Return an interval of a law that knows counts; see `interval_of_counts`."""
        moved = self.paired.influence(point)
        dearest = 0.0 if moved is None else self._dearest[len(moved)]
        low, high = interval_of_counts(-point.score, point.score_error, dearest)
        return -high, -low

    def errors(self, point: Point) -> float:
        """Return the estimated mean cost of errors per row."""
        return -point.score

    def bill_interval(self, point: Point) -> tuple[float, float]:
        """Return the interval of the errors' cost, joined with that of the cost.

        Each end is as far from the bill as those are together, with their correlation (Zou and Donner, 2008).
        """
        errors, bill = self.errors(point), point.cost + self.errors(point)
        best, worst = (-end for end in self.score_interval(point)[::-1])
        paid = NINE_OF_TEN * point.cost_error
        both = self.paired.bill_error(point) ** 2 - point.cost_error**2 - point.score_error**2
        spread = 2 * point.cost_error * point.score_error
        shared = float(np.clip(both / spread, -1.0, 1.0)) if spread > 0 else 0.0

        def reach(away: float) -> float:
            return math.sqrt(max(away**2 + paid**2 + 2 * shared * away * paid, 0.0))

        return bill - reach(errors - best), bill + reach(worst - errors)

    @cached_property
    def _dearest(self) -> dict[int, float]:
        """What one more of the dearest wrong answers that any point made adds to the mean over a number of rows."""
        dearest: dict[int, float] = {}
        for moved in self.paired.influences:
            if moved is not None:
                dearest[len(moved)] = max(dearest.get(len(moved), 0.0), float(np.abs(moved).max(initial=0.0)))
        return dearest

    def recommend(self, points: Sequence[Point]) -> Point:
        """Return the cheapest point whose bill is within one standard error, of their difference, of the least.

        Bills count by the upper ends of their intervals, so that a less certain one counts more. Of several at that
        cost, a reference comes first: it wins where nothing surely beats it.
        """
        least = min(points, key=lambda point: (self._high_bill(point), point.cost))
        most = self._high_bill(least)
        near = [point for point in points if self._high_bill(point) - most <= self.gain(least, point).error]
        return min(near, key=lambda point: (point.cost, not is_reference(point), self._high_bill(point)))

    def _high_bill(self, point: Point) -> float:
        return self.bill_interval(point)[1]

    def cheapest(self, within: float | None) -> Point:
        """Return the recommended point; a share of the best score has no effect on bills."""
        if within is not None:
            raise ParameterError("within: has no effect where points have bills; see recommended")
        return self.recommend(self.paired.points)
