"""One fit is a whole frontier: the tradeoff falls while the ensemble grows, and every prefix is a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import field, frozen

from costframe.core.errors import ParameterError
from costframe.trees.monitor import Running

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.categories import Categories
    from costframe.core.costs import CostModel
    from costframe.core.predictor import StageTree
    from costframe.core.price_arrays import PriceArrays
    from costframe.core.training import Rows
    from costframe.core.tree_table import TreeTable
    from costframe.trees.boosting import Ensemble
    from costframe.trees.losses import Loss

__all__ = ["AnnealedPath", "PathPoint", "PathWatcher", "falling_tradeoffs"]


@frozen
class PathPoint:
    """A prefix of an annealed fit.

    Attributes
    ----------
    n_rounds : int
        0 is the constant model.
    tradeoff : float
        lambda of its last round.
    loss, cost : float
        Mean validation loss, and exact mean validation cost per row.
    """

    n_rounds: int
    tradeoff: float
    loss: float
    cost: float


@frozen(eq=False)
class AnnealedPath:
    """All prefixes of an annealed fit; any of them becomes a predictor without refitting.

    Attributes
    ----------
    points : tuple of PathPoint
        One for each round, after that of the constant model.
    """

    points: tuple[PathPoint, ...]
    ensemble: Ensemble
    costs: CostModel
    feature_names: tuple[str, ...]
    categories: Categories = field(factory=dict)

    def predictor(self, n_rounds: int) -> StageTree:
        """Return the model of the first `n_rounds` rounds."""
        if not 0 <= n_rounds < len(self.points):
            raise ParameterError(f"n_rounds: expected a number from 0 to {len(self.points) - 1}, got {n_rounds!r}")
        model = self.ensemble.finish(self.feature_names, n_rounds)
        return model.with_categories(self.categories).with_costs(self.costs)

    def frontier(self) -> tuple[PathPoint, ...]:
        """Return the points that no other beats in loss at no more cost, by ascending cost."""
        kept: list[PathPoint] = []
        for point in sorted(self.points, key=lambda point: (point.cost, point.loss, point.n_rounds)):
            if not kept or point.loss < kept[-1].loss:
                kept.append(point)
        return tuple(kept)

    def at(self, tradeoff: float) -> PathPoint:
        """Return the point with the least validation loss + tradeoff * cost."""
        return min(self.points, key=lambda point: (point.loss + tradeoff * point.cost, point.n_rounds))

    def within(self, budget: float) -> PathPoint:
        """Return the point with the least validation loss among those that cost at most `budget` per row."""
        affordable = [point for point in self.points if point.cost <= budget]
        if not affordable:
            least = min(point.cost for point in self.points)
            raise ParameterError(f"budget: no prefix costs {budget!r} or less, the cheapest costs {least:g}")
        return min(affordable, key=lambda point: (point.loss, point.cost, point.n_rounds))


class PathWatcher:
    """Writes down loss and cost after every round, and never stops the fit."""

    def __init__(self, rows: Rows, loss: Loss, prices: PriceArrays, tradeoffs: NDArray[np.float64]) -> None:
        self._running, self._tradeoffs = Running(rows, loss, prices), tradeoffs
        self.points: list[PathPoint] = []
        self.best_round = 0

    def begin(self, baseline: NDArray[np.float64]) -> None:
        """Write down the constant model."""
        self._running.begin(baseline)
        self._note(float(self._tradeoffs[0]))

    def add(self, trees: list[tuple[int, TreeTable]], step: float) -> bool:
        """Write down a round."""
        self._running.add(trees, step)
        self._note(float(self._tradeoffs[len(self.points) - 1]))
        return False

    def _note(self, tradeoff: float) -> None:
        self.points.append(PathPoint(len(self.points), tradeoff, self._running.loss, self._running.cost))
        self.best_round = len(self.points) - 1


def falling_tradeoffs(
    loss_of_constant: float, prices: PriceArrays, n_rounds: int, limits: tuple[float, float] | None
) -> NDArray[np.float64]:
    """float64 (n_rounds,): falls geometrically, by default from where little is bought to where prices hardly count.

    Parameters
    ----------
    loss_of_constant : float
        Mean loss of the best constant, more than which nothing can gain.
    prices : PriceArrays
    n_rounds : int
    limits : (float, float), optional
        The first and the last.
    """
    if limits is not None:
        high, low = limits
        if not (np.isfinite([high, low]).all() and high >= low > 0):
            raise ParameterError(f"tradeoffs: expected two numbers, the first not below the second > 0, got {limits!r}")
        return np.geomspace(high, low, n_rounds)
    each = prices.cost + prices.needs @ prices.resource_cost
    full = float(prices.cost.sum() + prices.resource_cost[prices.needs.any(axis=0)].sum())
    if not full > 0 or not loss_of_constant > 0:
        return np.zeros(n_rounds)
    cheapest = float(each[each > 0].min())
    return np.geomspace(loss_of_constant / cheapest, 1e-4 * loss_of_constant / full, n_rounds)
