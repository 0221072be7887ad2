"""Paths of models from one fit, with the choice of the best one at a price."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from costframe.core.checks import check_number
from costframe.core.errors import ParameterError

if TYPE_CHECKING:
    from costframe.core.predictors.predictor import Predictor

__all__ = ["MeasuredPath", "MeasuredPoint", "best_first"]


class MeasuredPoint(Protocol):
    """A model on a path, with its loss, cost and score on validation rows."""

    @property
    def n_rounds(self) -> int:
        """Rounds of boosting; zero for a constant."""

    @property
    def loss(self) -> float:
        """Mean loss."""

    @property
    def cost(self) -> float:
        """Exact mean cost per row."""

    @property
    def score(self) -> float:
        """Score; higher is better."""


Point = TypeVar("Point", bound=MeasuredPoint)


class MeasuredPath(ABC, Generic[Point]):
    """A path of models; any of them becomes a predictor without refitting.

    Attributes
    ----------
    points : tuple
        In the order of training.
    """

    points: tuple[Point, ...]

    @abstractmethod
    def predictor(self, point: Point) -> Predictor:
        """Return the model of a point."""

    @abstractmethod
    def plain(self) -> Point:
        """Return the best point of training without prices."""

    def frontier(self) -> tuple[Point, ...]:
        """Return the non-dominated points by score and cost, by ascending cost.

        Of points with equal score and cost, it keeps the one with the least loss.
        """
        kept: list[Point] = []
        for point in sorted(self.points, key=lambda point: (point.cost, -point.score, point.loss)):
            if not kept or point.score > kept[-1].score:
                kept.append(point)
        return tuple(kept)

    def at(self, tradeoff: float) -> Point:
        """Return the point with the least validation loss + tradeoff * cost."""
        check_number("tradeoff", tradeoff)
        return min(self.points, key=lambda point: (point.loss + tradeoff * point.cost, point.n_rounds))

    def within(self, budget: float) -> Point:
        """Return the point with the best score whose cost per row on validation rows is at most `budget`."""
        affordable = [point for point in self.points if point.cost <= budget]
        if not affordable:
            least = min(point.cost for point in self.points)
            raise ParameterError(f"budget: no model costs {budget!r} or less, the cheapest costs {least:g}")
        return max(affordable, key=best_first)


def best_first(point: MeasuredPoint) -> tuple[float, float, float]:
    """Return the sort key of a point: score, then cost, then loss."""
    return (point.score, -point.cost, -point.loss)
