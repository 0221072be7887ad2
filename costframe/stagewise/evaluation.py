"""Loss and cost of a soft tree as it will be used: rows routed for good, costs exact, at the prices of its learners."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.cost.charges import stage_costs
from costframe.core.cost.groups import PricedGroups
from costframe.core.cost.sampled_prices import SampledPrices, drawn_rows
from costframe.stagewise.banks import outputs_on
from costframe.stagewise.calibration import as_counts
from costframe.stagewise.rows import BankRows, Squared, targets_of
from costframe.stagewise.soft_tree import as_stage_tree, stage_numbers
from costframe.stagewise.thresholds import best_thresholds
from costframe.stagewise.topology import Flow

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.learners.outputs import BankOutputs
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.stagewise.rows import Loss
    from costframe.stagewise.soft_tree import SoftTree
    from costframe.training.data import Rows, TrainingData

__all__ = ["Evaluation", "Measured", "Pricing"]


@frozen(eq=False)
class Pricing:
    """Prices of a bank's learners, features and resources, and the rows that pay them.

    Attributes
    ----------
    bank : WeakLearnerBank
    prices : PriceArrays
    X : float64 (n, d)
    groups : PricedGroups
    acquisition : {"path", "learner"}
    n_rows : float
        Their weights added up.
    """

    bank: WeakLearnerBank
    prices: PriceArrays
    X: NDArray[np.float64]
    groups: PricedGroups
    acquisition: str
    n_rows: float

    @classmethod
    def of(
        cls, bank: WeakLearnerBank, prices: PriceArrays, rows: Rows, outputs: BankOutputs, acquisition: str
    ) -> Pricing:
        """Price a bank for rows on which its outputs are known."""
        comparisons = outputs.comparisons(bank, prices.split, rows.weight)
        groups = PricedGroups.of_bank(bank, prices, n_rows=rows.total_weight, comparisons=comparisons)
        return cls(bank, prices, rows.X, groups, acquisition, rows.total_weight)

    @property
    def spread_prices(self) -> PriceArrays:
        """Prices of features, with each row's share of the prices paid once for all rows."""
        return evolve(self.prices, cost=self.prices.cost + self.prices.once / self.n_rows)

    @cached_property
    def on_all_rows(self) -> SampledPrices:
        """Prices for all rows, alike; few rows are all drawn, and only their weights change from stage to stage."""
        alike = np.full(len(self.X), 1.0 / len(self.X))
        if self.acquisition == "learner":
            return SampledPrices.whole(self.groups, alike)
        return SampledPrices.of_bank(self.bank, self.groups, self.prices.needs, self.X, alike)

    def at(self, weight: NDArray[np.float64]) -> SampledPrices:
        """Return prices for rows drawn by weight, float64 (n,)."""
        if self.acquisition == "learner":
            return SampledPrices.whole(self.groups)
        return self.drawn(weight)[0]

    def drawn(self, weight: NDArray[np.float64]) -> tuple[SampledPrices, NDArray[np.int64]]:
        """Return prices for rows drawn by weight, float64 (n,), and these rows."""
        rows, share = drawn_rows(weight)
        if self.acquisition == "learner":
            return SampledPrices.whole(self.groups, share), rows
        if len(rows) == len(self.X):
            return self.on_all_rows.weighing(share), rows
        return SampledPrices.of_bank(self.bank, self.groups, self.prices.needs, self.X[rows], share), rows


@frozen
class Measured:
    """Mean loss of the answers, mean cost, and loss + lambda * cost."""

    loss: float
    cost: float
    total: float


@frozen(eq=False)
class Evaluation:
    """Rows to measure on, the rows that train or held-out ones.

    Attributes
    ----------
    rows : BankRows
    pricing : Pricing
        Of the same rows.
    loss : Loss
    tradeoff : float
    half : bool (n,), optional
        Rows apart from the others: a fit to one part is measured on the other.
    reads : SampledPrices, optional
        What all of the rows read: costs are then found quickly, but comparisons and reuse are priced on average.
    """

    rows: BankRows
    pricing: Pricing
    loss: Loss
    tradeoff: float
    half: NDArray[np.bool_] | None = None
    reads: SampledPrices | None = None

    @classmethod
    def of(
        cls,
        data: TrainingData,
        rows: Rows,
        bank: WeakLearnerBank,
        tradeoff: float,
        acquisition: str,
        n_jobs: int | None,
    ) -> Evaluation:
        """Evaluate a bank on rows, for the squared loss of the targets that `targets_of` makes of labels."""
        outputs = outputs_on(bank, rows.X, n_jobs)
        pricing = Pricing.of(bank, data.prices, rows, outputs, acquisition)
        share = rows.weight / rows.total_weight
        return cls(
            BankRows(outputs, targets_of(rows.y, data.n_classes), rows.weight, share), pricing, Squared(), tradeoff
        )

    def take(self, chosen: NDArray[np.bool_]) -> Evaluation:
        """Keep some rows, bool (n,); costs are exact then."""
        pricing = evolve(self.pricing, X=self.pricing.X[chosen])
        return Evaluation(self.rows.take(chosen), pricing, self.loss, self.tradeoff)

    @property
    def counts(self) -> NDArray[np.float64]:
        """How many rows each stands for: float64 (n,)."""
        return as_counts(self.rows.weight)

    def losses(self, tree: SoftTree) -> NDArray[np.float64]:
        """Return the loss of each exit's answer, times the row's weight: float64 (n, K), zero without an exit."""
        answers, found = tree.answers(tree.scores(self.rows)), np.zeros((len(self.rows.target), len(tree)))
        for node in np.flatnonzero(tree.topology.ends):
            found[:, node] = self.rows.loss_weight * self.loss.value(answers[:, node], self.rows.target)
        return found

    def costs(self, tree: SoftTree) -> NDArray[np.float64]:
        """Return the cost that each node adds for each row that comes to it: float64 (n, K)."""
        if self.reads is None:
            stages = as_stage_tree(self.pricing.bank, tree)
            prices, acquisition = self.pricing.spread_prices, self.pricing.acquisition
            return stage_costs(stages, prices, self.pricing.X, acquisition)[:, stage_numbers(tree.topology)[0]]
        used, n_rows = tree.used, len(self.rows.target)
        costs = [self.reads.after(tree.bought(node)).each(used[node])[:n_rows] for node in range(len(used))]
        return np.stack(costs, axis=1)

    def arrival(self, tree: SoftTree) -> NDArray[np.float64]:
        """Return lambda times `costs`, with the row's weight: float64 (n, K)."""
        return np.asarray(self.tradeoff * self.rows.share[:, np.newaxis] * self.costs(tree))

    def routing(self, tree: SoftTree) -> NDArray[np.float64]:
        """Return the scores that nodes compare with thresholds: float64 (n, K)."""
        return tree.routing(tree.scores(self.rows))

    def flow(self, tree: SoftTree) -> Flow:
        """Route rows for good."""
        return Flow.hard(tree.topology, self.routing(tree), tree.threshold)

    def each(self, tree: SoftTree) -> NDArray[np.float64]:
        """Return the part of each row in mean loss + lambda * mean cost: float64 (n,)."""
        flow = self.flow(tree)
        return np.asarray((flow.exits * self.losses(tree) + flow.passes * self.arrival(tree)).sum(axis=1))

    def measured_loss(self, tree: SoftTree) -> float:
        """Return the mean loss alone."""
        return float((self.flow(tree).exits * self.losses(tree)).sum())

    def measure(self, tree: SoftTree) -> Measured:
        """Measure a tree."""
        loss = self.measured_loss(tree)
        cost = float(self.rows.share @ (self.flow(tree).passes * self.costs(tree)).sum(axis=1))
        return Measured(loss, cost, loss + self.tradeoff * cost)

    def total(self, tree: SoftTree) -> float:
        """Return mean loss + lambda * mean cost."""
        return self.measure(tree).total

    def error(self, difference: NDArray[np.float64]) -> float:
        """Return the standard error of a sum over rows of their parts in a mean, float64 (n,)."""
        counts = self.counts
        spread = float((np.square(difference) / counts).sum()) - float(difference.sum()) ** 2 / float(counts.sum())
        return float(np.sqrt(max(spread, 0.0)))

    @cached_property
    def _halves(self) -> tuple[Evaluation, Evaluation]:
        assert self.half is not None  # noqa: S101 - for the type checker
        return self.take(self.half), self.take(~self.half)

    def across(self, fit: Callable[[Evaluation], SoftTree]) -> float:
        """Return loss + lambda * cost on each half of the rows of the tree fitted on the other; on all without halves.

        Few rows flatter a tree with many numbers that are fitted to them.
        """
        if self.half is None:
            return self.total(fit(self))
        total = 0.0
        for fitted, asked, rows in zip(self._halves, self._halves[::-1], (~self.half, self.half), strict=True):
            measured = asked.measure(fit(fitted))
            total += float(self.rows.loss_weight[rows].sum()) * measured.loss
            total += self.tradeoff * float(self.rows.share[rows].sum()) * measured.cost
        return total

    def place_thresholds(self, tree: SoftTree) -> SoftTree:
        """Move thresholds to where loss + lambda * cost is least on these rows; idle routes go."""
        losses, arrival = self.losses(tree), self.arrival(tree)
        threshold = best_thresholds(tree.topology, self.routing(tree), losses, arrival, tree.threshold)
        return tree.with_threshold(threshold).without_idle_routes()
