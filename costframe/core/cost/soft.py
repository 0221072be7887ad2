"""The exact expectation of the cost when stages route at random: above with sigma(steepness * (score - threshold))."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from scipy.special import expit

from costframe.core.cost.report import Charges
from costframe.core.cost.stage_visits import StageVisits
from costframe.core.stages.stages import Route

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.stages.reading import ReadingMarks

__all__ = ["soft_charges"]


@frozen(eq=False)
class _Pass:
    """What is added to while all ways through the stages are followed, weighted by their probabilities."""

    tree: StageTree
    prices: PriceArrays
    learners_at: NDArray[np.float64]
    visits: StageVisits
    steepness: float | None
    acquired: NDArray[np.float64]  # (rows, U), then sums of money by row
    resources: NDArray[np.float64]
    learners: NDArray[np.float64]
    comparisons: NDArray[np.float64]
    reuse: NDArray[np.float64]
    reached: NDArray[np.float64]  # (rows, stages)

    def follow_all(self) -> None:
        """Charge every stage to all rows."""
        waiting = [(0, np.ones(len(self.acquired)), self.visits.nothing())]
        while waiting:  # not recursive: a chain may have thousands of stages
            waiting += self._follow(*waiting.pop())

    def _follow(
        self, stage: int, chance: NDArray[np.float64], bought: NDArray[np.bool_]
    ) -> list[tuple[int, NDArray[np.float64], NDArray[np.bool_]]]:
        """Charge one; `chance` is that of reaching it, `bought` what was acquired on the way. Returns what follows."""
        rows = np.flatnonzero(chance > 0)
        seen = self.visits.visit(stage, bought, rows)
        self.acquired[:] += chance[:, None] * seen.new
        self.resources[:] += chance[:, None] * seen.resources
        self.comparisons[:] += chance * seen.comparisons
        self.reuse[:] += self.prices.reuse * chance * seen.reused
        self.learners[:] += chance * self.learners_at[stage]
        self.reached[:, stage] = chance
        part = self.tree.stages[stage]
        if not isinstance(part, Route):
            return []
        up = np.zeros(len(chance))
        steepness = part.steepness if self.steepness is None else self.steepness
        with np.errstate(invalid="ignore"):  # infinity minus infinity: not above, as in hard routing
            slope = steepness * (seen.scores[rows] - part.threshold)
        up[rows] = np.where(np.isnan(slope), 0.0, expit(slope))
        return [(part.above, chance * up, seen.bought), (part.below, chance * (1.0 - up), seen.bought)]


def soft_charges(
    tree: StageTree,
    prices: PriceArrays,
    marks: ReadingMarks,
    steepness: float | None,
    X: NDArray[np.float64],
    weight: NDArray[np.float64],
    learners_at: NDArray[np.float64],
) -> Charges:
    """Charge some rows; `learners_at[s]` is the price of the learners that stage s is the first to evaluate."""
    n, used = len(X), tree.layout.used
    walk = _Pass(
        tree,
        prices,
        learners_at,
        StageVisits(tree, prices, marks, X),
        steepness,
        acquired=np.zeros((n, len(used))),
        resources=np.zeros((n, len(prices.resource_cost))),
        learners=np.zeros(n),
        comparisons=np.zeros(n),
        reuse=np.zeros(n),
        reached=np.zeros((n, len(tree.stages))),
    )
    walk.follow_all()
    acquired = np.zeros((n, len(tree.feature_names)))
    acquired[:, used] = walk.acquired
    return Charges(
        acquired,
        acquired @ prices.cost + walk.resources @ prices.resource_cost,
        walk.learners,
        walk.comparisons,
        walk.reuse,
        weight @ acquired,
        weight @ walk.resources,
        weight @ walk.reached,
    )
