"""Paths of models from one fit, with the choice of the best one at a price."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from attrs import define, field, frozen

from costframe.core.checks import check_number
from costframe.core.errors import ParameterError
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.training.path_point import PathPoint

T = TypeVar("T")


class MeasuredPath(ABC):
    """A path of models; any of them becomes a predictor without refitting.

    Attributes
    ----------
    points : tuple
        In the order of training.
    """

    points: tuple[PathPoint, ...]

    @abstractmethod
    def predictor(self, point: PathPoint) -> Predictor:
        """Return the model of a point."""

    @abstractmethod
    def plain(self) -> PathPoint:
        """Return the best point of training without prices."""

    def frontier(self) -> tuple[PathPoint, ...]:
        """Return the non-dominated points by score and cost, by ascending cost.

        Of points with equal score and cost, it keeps the one with the least loss.
        """
        by_loss = sorted(self.points, key=lambda point: point.loss)
        return tuple(keep_non_dominated(by_loss, lambda point: (point.cost, point.score)))

    def at(self, tradeoff: float) -> PathPoint:
        """Return the point with the least validation loss + tradeoff * cost."""
        check_number("tradeoff", tradeoff)
        return min(self.points, key=lambda point: (point.loss + tradeoff * point.cost, point.n_rounds))

    def within(self, budget: float) -> PathPoint:
        """Return the point with the best score whose cost per row on validation rows is at most `budget`."""
        affordable = [point for point in self.points if point.cost <= budget]
        if not affordable:
            least = min(point.cost for point in self.points)
            raise ParameterError(f"budget: no model costs {budget!r} or less, the cheapest costs {least:g}")
        return max(affordable, key=lambda point: point.rank)


@define(eq=False)
class PathAround(MeasuredPath):
    """A path with the points of an inner one, whose models it changes; it has all else of the inner one, too."""

    inner: Any  # path

    @property
    def points(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The points of the path."""
        points: tuple[Any, ...] = self.inner.points
        return points

    def plain(self) -> Any:
        """Return the best point of training without prices."""
        return self.inner.plain()

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "inner"), name)


@frozen(eq=False)
class DeferredPath(MeasuredPath):
    """Models that are put together when they are asked for.

    Attributes
    ----------
    points : tuple
        The first knows no prices.
    makers : tuple of callable
        Of the model of each point, which has a method `with_costs`.
    costs : CostModel
    """

    points: tuple[PathPoint, ...]
    makers: tuple[Callable[[], Any], ...]
    costs: CostModel

    def predictor(self, point: PathPoint) -> Any:
        """Return the model of a point."""
        return self.makers[self.points.index(point)]().with_costs(self.costs)

    def plain(self) -> PathPoint:
        """Return the model that knows no prices."""
        return self.points[0]


@define(eq=False)
class PathCollector:
    """Gathers models on the way; those that others dominate both by score and by loss are let go, but for the first.

    Attributes
    ----------
    found : list of (point, callable)
    """

    found: list[tuple[PathPoint, Callable[[], StageTree]]] = field(factory=list)

    def add(self, point: PathPoint, make: Callable[[], StageTree]) -> None:
        """Add a model: how it measures, and what makes it."""
        self.found.append((point, make))

    def drop_dominated(self) -> None:
        """Let go of models."""
        best = [
            self.found[0],
            *keep_non_dominated(self.found, lambda entry: (entry[0].cost, entry[0].score)),
            *keep_non_dominated(self.found, lambda entry: (entry[0].cost, -entry[0].loss)),
        ]
        self.found = [entry for entry in self.found if any(entry is other for other in best)]

    def path(self, costs: CostModel) -> DeferredPath:
        """Return the models that are left."""
        self.drop_dominated()
        points, makers = zip(*self.found, strict=True)
        return DeferredPath(points, makers, costs)


def keep_non_dominated(points: Iterable[T], measure: Callable[[T], tuple[float, float]]) -> list[T]:
    """Return the points such that no other has a higher value at no more cost, by ascending cost; of equals, the first.

    `measure` returns cost and value.
    """
    best: list[T] = []
    for point in sorted(points, key=lambda entry: (measure(entry)[0], -measure(entry)[1])):
        if not best or measure(point)[1] > measure(best[-1])[1]:
            best.append(point)
    return best
