"""Measures trees as they will be used: rows routed for good, costs exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.cost.soft import stage_costs
from costframe.stagewise.calibration import as_counts
from costframe.stagewise.measured import Measured
from costframe_cstc.flow import Flow
from costframe_cstc.tree import as_stage_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.sampled_prices import SampledPrices
    from costframe.stagewise.pricing import Pricing
    from costframe.stagewise.seen import SeenRows
    from costframe_cstc.losses import Loss
    from costframe_cstc.tree import Tree

__all__ = ["Judge"]


@frozen(eq=False)
class Judge:
    """Rows to measure on.

    Attributes
    ----------
    rows : SeenRows
    pricing : Pricing
        Of the same rows.
    loss : Loss
    tradeoff : float
    reads : SampledPrices, optional
        What is read on all of the rows: costs are then told quickly, but those of comparisons and of reuse on average.
        Otherwise they are exact.
    """

    rows: SeenRows
    pricing: Pricing
    loss: Loss
    tradeoff: float
    reads: SampledPrices | None = None

    def take(self, chosen: NDArray[np.bool_]) -> Judge:
        """Keep some rows; costs are exact then."""
        rows = evolve(
            self.rows,
            outputs=self.rows.outputs.rows(chosen),
            target=self.rows.target[chosen],
            weight=self.rows.weight[chosen],
            in_mean=self.rows.in_mean[chosen] / self.rows.in_mean[chosen].sum(),
        )
        return evolve(self, rows=rows, pricing=evolve(self.pricing, X=self.pricing.X[chosen]), reads=None)

    @property
    def counts(self) -> NDArray[np.float64]:
        """How many rows each stands for: float64 (n,)."""
        return as_counts(self.rows.weight)

    def exact(self) -> Judge:
        """Return what tells the costs of comparisons and of reuse exactly, too."""
        return evolve(self, reads=None)

    def losses(self, tree: Tree) -> NDArray[np.float64]:
        """Return what each node's answer would lose, with the row's weight: float64 (n, K), zero at routes."""
        leaves = np.flatnonzero(~tree.topology.routes)
        answers, found = tree.answers(self.rows), np.zeros((len(self.rows.target), len(tree.topology)))
        for leaf in leaves:
            found[:, leaf] = self.rows.in_mean * self.loss.value(answers[:, leaf], self.rows.target)
        return found

    def costs(self, tree: Tree) -> NDArray[np.float64]:
        """Return what each node would add to the cost of each row that came to it: float64 (n, K)."""
        if self.reads is None:
            stages = as_stage_tree(self.pricing.bank, tree, "identity")
            return stage_costs(stages, self.pricing.spread_prices, self.pricing.X, self.pricing.acquisition)
        used, n_rows = tree.used, len(self.rows.target)
        costs = [self.reads.after(tree.bought(node)).each(used[node])[:n_rows] for node in range(len(used))]
        return np.stack(costs, axis=1)

    def flow(self, tree: Tree) -> Flow:
        """Follow rows as they will be routed."""
        return Flow.hard(tree.topology, tree.routing(self.rows), tree.threshold)

    def arrival(self, tree: Tree) -> NDArray[np.float64]:
        """Return lambda times `costs`, with the row's weight: float64 (n, K)."""
        return np.asarray(self.tradeoff * self.rows.share[:, np.newaxis] * self.costs(tree))

    def each(self, tree: Tree) -> NDArray[np.float64]:
        """Return what rows add to mean loss + lambda * mean cost: float64 (n,)."""
        return np.asarray((self.flow(tree).passes * (self.losses(tree) + self.arrival(tree))).sum(axis=1))

    def error(self, difference: NDArray[np.float64]) -> float:
        """Return the standard error of a sum over rows of what each adds to a mean, float64 (n,)."""
        counts = self.counts
        spread = float((np.square(difference) / counts).sum()) - float(difference.sum()) ** 2 / float(counts.sum())
        return float(np.sqrt(max(spread, 0.0)))

    def measure(self, tree: Tree) -> Measured:
        """Measure a tree."""
        flow, losses, costs = self.flow(tree), self.losses(tree), self.costs(tree)
        loss = float((flow.passes * losses).sum())
        cost = float(self.rows.share @ (flow.passes * costs).sum(axis=1))
        return Measured(loss, cost, loss + self.tradeoff * cost)
