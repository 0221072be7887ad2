"""Paths of models from one fit, with the choice of the best one at a price."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from attrs import define, field, frozen

from costframe.core.checks import check_number
from costframe.core.errors import ParameterError
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel


class PathPoint(Protocol):
    """A model on a path.

    A point may also have `error`, the standard error of its score. If it is not None, `score` and `cost` are the
    algorithm's own estimates on held-out rows, and sweeps do not measure them on valid, because the models may have
    been trained on valid. It may also have `influence`, float64 (rows of train, then of valid,): the influence of each
    row on that score; see `costframe.training.scoring`. And it may have `cost_error`, the standard error of `cost`, and
    `spent`, the influence of rows on it, for the errors of bills.
    """

    @property
    def n_rounds(self) -> int:
        """Rounds; zero for a constant."""

    @property
    def tradeoff(self) -> float:
        """Tradeoff of the last round of training."""

    @property
    def cost(self) -> float:
        """Exact mean cost per row on valid, or the algorithm's estimate."""

    @property
    def score(self) -> float:
        """Score on valid, or the algorithm's estimate; higher is better."""


class MeasuredPoint(PathPoint, Protocol):
    """A model on a path with its loss on validation rows."""

    @property
    def loss(self) -> float:
        """Mean loss."""


T = TypeVar("T")
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
        by_loss = sorted(self.points, key=lambda point: point.loss)
        return tuple(keep_non_dominated(by_loss, lambda point: (point.cost, point.score)))

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


@frozen(eq=False)
class DeferredPath(MeasuredPath[Point]):
    """Models that are put together when they are asked for.

    Attributes
    ----------
    points : tuple
        The first knows no prices.
    makers : tuple of callable
        Of the model of each point, which has a method `with_costs`.
    costs : CostModel
    """

    points: tuple[Point, ...]
    makers: tuple[Callable[[], Any], ...]
    costs: CostModel

    def predictor(self, point: Point) -> Any:
        """Return the model of a point."""
        return self.makers[self.points.index(point)]().with_costs(self.costs)

    def plain(self) -> Point:
        """Return the model that knows no prices."""
        return self.points[0]


@define(eq=False)
class PathCollector(Generic[Point]):
    """Gathers models on the way; those that others dominate both by score and by loss are let go, but for the first.

    Attributes
    ----------
    found : list of (point, callable)
    """

    found: list[tuple[Point, Callable[[], StageTree]]] = field(factory=list)

    def add(self, point: Point, make: Callable[[], StageTree]) -> None:
        """Add a model: how it measures, and what makes it."""
        self.found.append((point, make))

    def drop_dominated(self) -> None:
        """Let go of models."""
        kept = [
            self.found[0],
            *keep_non_dominated(self.found, lambda each: (each[0].cost, each[0].score)),
            *keep_non_dominated(self.found, lambda each: (each[0].cost, -each[0].loss)),
        ]
        self.found = [each for each in self.found if any(each is other for other in kept)]

    def path(self, costs: CostModel) -> DeferredPath[Point]:
        """Return the models that are left."""
        self.drop_dominated()
        points, makers = zip(*self.found, strict=True)
        return DeferredPath(points, makers, costs)


def keep_non_dominated(points: Iterable[T], measure: Callable[[T], tuple[float, float]]) -> list[T]:
    """Return the points such that no other has a higher value at no more cost, by ascending cost; of equals, the first.

    `measure` returns cost and value.
    """
    kept: list[T] = []
    for point in sorted(points, key=lambda each: (measure(each)[0], -measure(each)[1])):
        if not kept or measure(point)[1] > measure(kept[-1])[1]:
            kept.append(point)
    return kept
