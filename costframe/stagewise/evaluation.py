"""Loss and exact cost of a soft tree in use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import B1, F8
from costframe.core.cost.charges import stage_costs
from costframe.core.cost.sampled_prices import SampledPrices
from costframe.core.learners.bank import WeakLearnerBank
from costframe.stagewise.bank_rows import BankRows, as_counts, targets_of
from costframe.stagewise.flow import Flow
from costframe.stagewise.pricing import Pricing
from costframe.stagewise.soft_tree import SoftTree
from costframe.stagewise.stage_tree import as_stage_tree, stage_numbers
from costframe.stagewise.thresholds import best_thresholds
from costframe.training.data import Rows, TrainingData
from costframe.training.losses import PointwiseLoss, SquaredLoss


@frozen
class Measured:
    """Mean loss, mean cost, and loss + lambda * cost."""

    loss: float
    cost: float
    total: float


@frozen(eq=False)
class Evaluation:
    """Rows to evaluate trees on: training rows or held-out rows.

    Attributes
    ----------
    rows : BankRows
    pricing : Pricing
        Of the same rows.
    loss : PointwiseLoss
    tradeoff : float
    half : bool (n,), optional
        Rows of the first half; `cross_fit` fits on one half and measures on the other.
    reads : SampledPrices, optional
        The reads of all rows: costs are then quick to find, with mean prices for comparisons and reuse.
    """

    rows: BankRows
    pricing: Pricing
    loss: PointwiseLoss
    tradeoff: float
    half: B1 | None = None
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
        """Evaluate a bank on rows, for the squared loss of the targets of `targets_of`."""
        outputs = BankRows.outputs_of(bank, rows.X, n_jobs)
        pricing = Pricing.of(bank, data.prices, rows, outputs, acquisition)
        target, share = targets_of(rows.y, data.n_classes), rows.weight / rows.total_weight
        return cls(BankRows(outputs, target, rows.weight, share), pricing, SquaredLoss(), tradeoff)

    def take(self, chosen: B1) -> Evaluation:
        """Keep some rows, bool (n,), with exact costs."""
        pricing = evolve(self.pricing, X=self.pricing.X[chosen])
        return Evaluation(self.rows.take(chosen), pricing, self.loss, self.tradeoff)

    @property
    def counts(self) -> F8:
        """Weight of each row, counted in rows: float64 (n,)."""
        return as_counts(self.rows.weight)

    def losses(self, tree: SoftTree) -> F8:
        """Return the loss of each exit's answer, times the row's weight: float64 (n, K), zero without an exit."""
        answers, losses = tree.answers(tree.scores(self.rows)), np.zeros((len(self.rows.target), len(tree)))
        for node in np.flatnonzero(tree.topology.has_exit):
            losses[:, node] = self.rows.loss_weight * self.loss.value(answers[:, node], self.rows.target)
        return losses

    def costs(self, tree: SoftTree) -> F8:
        """Return the cost that each node adds for each row that reaches it: float64 (n, K)."""
        if self.reads is None:
            stages = as_stage_tree(self.pricing.bank, tree)
            prices, acquisition = self.pricing.spread_prices, self.pricing.acquisition
            return stage_costs(stages, prices, self.pricing.X, acquisition)[:, stage_numbers(tree.topology)[0]]
        used, n_rows = tree.used, len(self.rows.target)
        costs = [self.reads.after(tree.bought(node)).by_row(used[node])[:n_rows] for node in range(len(used))]
        return np.stack(costs, axis=1)

    def arrival(self, tree: SoftTree) -> F8:
        """Return lambda times `costs` times the row's weight: float64 (n, K)."""
        return np.asarray(self.tradeoff * self.rows.share[:, np.newaxis] * self.costs(tree))

    def routing(self, tree: SoftTree) -> F8:
        """Return the scores that nodes compare with thresholds: float64 (n, K)."""
        return tree.routing(tree.scores(self.rows))

    def flow(self, tree: SoftTree) -> Flow:
        """Route each row one way."""
        return Flow.hard(tree.topology, self.routing(tree), tree.threshold)

    def row_totals(self, tree: SoftTree) -> F8:
        """Return each row's part in mean loss + lambda * mean cost: float64 (n,)."""
        return np.asarray(sum(self.row_parts(tree)))

    def row_parts(self, tree: SoftTree) -> tuple[F8, F8]:
        """Return each row's part in the mean loss, and in lambda * mean cost: float64 (n,) each."""
        flow = self.flow(tree)
        return (flow.exits * self.losses(tree)).sum(axis=1), (flow.passes * self.arrival(tree)).sum(axis=1)

    def measured_loss(self, tree: SoftTree) -> float:
        """Return the mean loss."""
        return float((self.flow(tree).exits * self.losses(tree)).sum())

    def measure(self, tree: SoftTree) -> Measured:
        """Measure a tree."""
        loss = self.measured_loss(tree)
        cost = float(self.rows.share @ (self.flow(tree).passes * self.costs(tree)).sum(axis=1))
        return Measured(loss, cost, loss + self.tradeoff * cost)

    def total(self, tree: SoftTree) -> float:
        """Return mean loss + lambda * mean cost."""
        return self.measure(tree).total

    def error(self, difference: F8) -> float:
        """Return the standard error of a sum over rows of their parts in a mean, float64 (n,)."""
        counts, size = self.counts, int(np.frexp(np.abs(difference).max(initial=0.0))[1])
        scaled = np.ldexp(difference, -size)  # squares of huge costs overflow
        squares, total = float((np.square(scaled) / counts).sum()), float(scaled.sum())
        return float(np.ldexp(np.sqrt(max(squares - total**2 / float(counts.sum()), 0.0)), size))

    @cached_property
    def _halves(self) -> tuple[Evaluation, Evaluation]:
        assert self.half is not None  # noqa: S101 - for the type checker
        return self.take(self.half), self.take(~self.half)

    def cross_fit(self, fit: Callable[[Evaluation], SoftTree]) -> float:
        """Return loss + lambda * cost of trees fitted on one half, measured on the other; without halves, on all rows.

        A tree with many fitted numbers looks too good on the few rows of its fit.
        """
        return float(self.cross_fit_rows(fit).sum())

    def cross_fit_rows(self, fit: Callable[[Evaluation], SoftTree]) -> F8:
        """Return each row's part in the total of `cross_fit`: float64 (n,)."""
        if self.half is None:
            return self.row_totals(fit(self))
        parts = np.empty(len(self.rows.target))
        for fitted, asked, rows in zip(self._halves, self._halves[::-1], (~self.half, self.half), strict=True):
            loss, cost = asked.row_parts(fit(fitted))  # whose weights add up to one
            parts[rows] = self.rows.loss_weight[rows].sum() * loss + self.rows.share[rows].sum() * cost
        return parts

    def place_thresholds(self, tree: SoftTree) -> SoftTree:
        """Place thresholds at the least loss + lambda * cost on these rows, and remove idle routes."""
        losses, arrival = self.losses(tree), self.arrival(tree)
        threshold = best_thresholds(tree.topology, self.routing(tree), losses, arrival, tree.threshold)
        return tree.with_threshold(threshold).without_idle_routes()
