"""All models of an annealed fit."""

from __future__ import annotations

from attrs import field, frozen

from costframe.core.errors import ParameterError, shown
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.tables.categories import Categories
from costframe.training.model_path import MeasuredPath
from costframe.training.path_point import PathPoint
from costframe.trees.ensemble import Ensemble


@frozen(eq=False)
class AnnealedPath(MeasuredPath):
    """All models of an annealed fit; any of them becomes a predictor without refitting.

    Attributes
    ----------
    points : tuple of PathPoint
        In the order of training; the constant model first. The key of a point is its branch.
    branches : tuple of Ensemble
        A branch begins with the rounds of the model that it left.
    unpriced : frozenset of int
        Branches of trees without prices.
    """

    points: tuple[PathPoint, ...]
    branches: tuple[Ensemble, ...]
    costs: CostModel
    feature_names: tuple[str, ...]
    categories: Categories = field(factory=dict)
    unpriced: frozenset[int] = frozenset()

    def predictor(self, point: PathPoint) -> StageTree:
        """Return the model of a point."""
        branch: int = point.key
        if not (0 <= branch < len(self.branches) and 0 <= point.n_rounds <= self._length(branch)):
            raise ParameterError(f"point: expected one of this path's, got {shown(point)}")
        model = self.branches[branch].finish(self.feature_names, point.n_rounds)
        return model.with_categories(self.categories).with_costs(self.costs)

    def plain(self) -> PathPoint:
        """Return the point with the best score among those without prices; of several, the cheapest."""
        unpriced = [point for point in self.points if point.key in self.unpriced]
        if not unpriced:
            raise ParameterError("plain: this path has no trees without prices")
        return max(unpriced, key=lambda point: point.rank)

    def _length(self, branch: int) -> int:
        return len(self.branches[branch].rounds)
