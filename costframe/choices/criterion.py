"""What points are chosen by: the score, or where errors have prices, the bill."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from costframe.choices.intervals import Difference
from costframe.choices.paired_points import PairedPoints
from costframe.study.points import Point

NEGLIGIBLE = 0.005  # loss of score, as a share of the best score


class Criterion(ABC):
    """A rule of choice among points, with the estimates that it compares."""

    paired: PairedPoints

    @abstractmethod
    def worth(self, point: Point) -> float:
        """Return what the rule compares; higher is better."""

    @abstractmethod
    def gain(self, point: Point, other: Point) -> Difference:
        """Return the difference in worth of two points."""

    @abstractmethod
    def score_interval(self, point: Point) -> tuple[float, float]:
        """Return an interval that has the score on many fresh rows nine times of ten."""

    @abstractmethod
    def errors(self, point: Point) -> float:
        """Return the estimated mean cost of errors per row; refuse if they have no prices."""

    @abstractmethod
    def bill_interval(self, point: Point) -> tuple[float, float]:
        """Return an interval that has the bill on many fresh rows nine times of ten; refuse as `errors` does."""

    @abstractmethod
    def recommend(self, points: Sequence[Point]) -> Point:
        """Return the cheapest of some points that is as good as the best of them."""

    @abstractmethod
    def cheapest(self, within: float | None) -> Point:
        """Return the cheapest point whose score is within a share of the best score, if scores are compared."""

    def rank(self, point: Point) -> tuple[float, float]:
        """Return the sort key of a point: the lower end of its score's interval, then its cost, the lowest last."""
        return self.score_interval(point)[0], -point.cost

    def is_within_error(self, point: Point, best: Point) -> bool:
        """Return whether a point is within one standard error of the best, by the lower ends of intervals."""
        return self.rank(best)[0] - self.rank(point)[0] <= self.paired.difference_error(best, point)

    def is_near(self, point: Point, best: Point) -> bool:
        """Return whether a point is within one standard error of the best, or surely within a negligible loss."""
        surely = self.is_within_error(point, best)
        return surely or self.paired.difference(point, best).low >= -NEGLIGIBLE * abs(best.score)
