"""Loss and exact cost of a soft tree in use, the prices of its learners, and the placement of thresholds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from costframe.core.arrays import B1, F8
from costframe.core.cost.charges import stage_costs
from costframe.core.cost.groups import PricedGroups
from costframe.core.cost.sampled_prices import MOST_ROWS, SampledPrices
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.outputs import BankOutputs
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.tables.row_draws import RowDraw, draw_rows
from costframe.core.tables.row_hashes import hash_rows
from costframe.stagewise.bank_rows import BankRows, as_counts, outputs_on, targets_of
from costframe.stagewise.flow import Flow
from costframe.stagewise.soft_tree import SoftTree
from costframe.stagewise.stage_tree import as_stage_tree, stage_numbers
from costframe.stagewise.topology import Topology
from costframe.training.data import Rows, TrainingData
from costframe.training.losses import PointwiseLoss, SquaredLoss

_NEARLY = 1e-15
_EVEN = 1e-9  # sums of weights differ by rounding; the first of two equal places wins
_ROUNDING = 1e-12  # of the largest score
_TURNS = 10


def best_thresholds(topology: Topology, scores: F8, at_exit: F8, on_arrival: F8, threshold: F8) -> F8:
    """Move thresholds, the last node's first, each to its optimum given the others, until none moves.

    Parameters
    ----------
    topology : Topology
    scores : float64 (n, K)
        Routing scores of nodes.
    at_exit, on_arrival : float64 (n, K)
        Payments of a row at the node that answers it, and at each node that it reaches.
    threshold : float64 (K,)
        At the start.

    Returns
    -------
    float64 (K,)
        -inf sends all rows up, inf all down. A finite threshold that moved lies between two scores.
    """
    found = threshold.copy()
    for _ in range(_TURNS):
        before = found.copy()
        for node in np.flatnonzero(topology.routes)[::-1].tolist():
            flow = Flow.hard(topology, scores, found)
            inside = flow.passes[:, node] > 0
            more = flow.payment_difference(node, at_exit, on_arrival)[inside]
            found[node] = best_threshold(scores[inside, node], more, found[node])
        if (found == before).all():
            break
    return found


def best_threshold(scores: F8, more: F8, now: float) -> float:
    """Return the threshold with the least sum of `more`, float64 (n,), over the rows not above it.

    It keeps the threshold `now` if that is as good. A new one is half-way between two scores, (n,), or infinite if all
    rows are on one side.
    """
    order = np.argsort(scores, kind="stable")
    ascending, sums = scores[order], np.concatenate([[0.0], np.cumsum(more[order])])
    possible = np.concatenate([[True], np.diff(ascending) > 0, [True]]) if len(scores) else np.array([True])
    sums = np.where(possible, sums, np.inf)
    at = int(sums.argmin())
    if sums[at] >= sums[np.searchsorted(ascending, now, side="right")] - _NEARLY:
        return now
    if at in {0, len(scores)}:
        return -np.inf if at == 0 else np.inf
    return _between(ascending, at)


def halving_threshold(scores: F8, weight: F8) -> float:
    """Return the threshold half-way between two adjacent scores that comes nearest to halving the weight.

    Scores, (n,), that differ by rounding count as equal; the threshold is infinite if all are equal.
    """
    largest = float(np.abs(scores).max(initial=0.0))
    order = np.argsort(scores, kind="stable")
    ascending, sums = scores[order], np.cumsum(weight[order])
    places = 1 + np.flatnonzero(np.diff(ascending) > _ROUNDING * largest)
    if not len(places):
        return np.inf
    off = np.abs(sums[places - 1] / weight[order].sum() - 0.5)
    return _between(ascending, int(places[np.flatnonzero(off <= off.min() + _EVEN)[0]]))


def passing_threshold(scores: F8, weight: F8, share: float, steepness: float) -> float:
    """Solve weighted mean of sigma(gamma (s - theta)) = `share`, in (0, 1), for theta."""
    total = float(weight.sum())
    margin = (abs(np.log(share)) + abs(np.log1p(-share)) + 1.0) / steepness
    low = np.nextafter(scores.min() - margin, -np.inf)  # beyond all scores, however small the margin
    high = np.nextafter(scores.max() + margin, np.inf)

    def missing(theta: float) -> float:
        with np.errstate(over="ignore"):
            return float(weight @ expit(steepness * (scores - theta))) / total - share

    return float(brentq(missing, low, high, xtol=1e-13))


def _between(ascending: F8, at: int) -> float:
    middle = ascending[at - 1] + 0.5 * (ascending[at] - ascending[at - 1])
    return float(middle if middle < ascending[at] else ascending[at - 1])


@frozen(eq=False)
class Pricing:
    """Prices of a bank's learners, features and resources, with the rows that pay them.

    Attributes
    ----------
    bank : WeakLearnerBank
    prices : PriceArrays
    X : float64 (n, d)
    groups : PricedGroups
    acquisition : {"path", "learner"}
    n_rows : float
        The sum of the weights.
    """

    bank: WeakLearnerBank
    prices: PriceArrays
    X: F8
    groups: PricedGroups
    acquisition: str
    n_rows: float

    @classmethod
    def of(
        cls, bank: WeakLearnerBank, prices: PriceArrays, rows: Rows, outputs: BankOutputs, acquisition: str
    ) -> Pricing:
        """Price a bank for rows with known outputs."""
        comparisons = outputs.comparisons(bank, prices.split, rows.weight)
        groups = PricedGroups.of_bank(bank, prices, n_rows=rows.total_weight, comparisons=comparisons)
        return cls(bank, prices, rows.X, groups, acquisition, rows.total_weight)

    @property
    def spread_prices(self) -> PriceArrays:
        """Prices of features, with each row's share of the prices paid once for all rows."""
        return evolve(self.prices, cost=self.prices.cost + self.prices.once / self.n_rows)

    @cached_property
    def on_all_rows(self) -> SampledPrices:
        """Prices for all rows, drawn with equal weights: few rows are all drawn, and only their weights change."""
        return self._on(self.X, np.full(len(self.X), 1.0 / len(self.X)))

    def _on(self, X: F8, share: F8) -> SampledPrices:
        if self.acquisition == "learner":
            return SampledPrices.whole(self.groups, share)
        return SampledPrices.of_bank(self.bank, self.groups, self.prices.needs, X, share)

    @cached_property
    def _keys(self) -> NDArray[np.uint64]:
        names = self.prices.names
        return hash_rows([self.X[:, f] for f in sorted(range(len(names)), key=names.__getitem__)], len(self.X))

    def at(self, weight: F8) -> SampledPrices:
        """Return prices for rows drawn by weight, float64 (n,)."""
        if self.acquisition == "learner":
            return SampledPrices.whole(self.groups)
        return self.drawn(weight)[0]

    def drawn(self, weight: F8) -> tuple[SampledPrices, RowDraw]:
        """Return prices for rows drawn by weight, float64 (n,), and these rows."""
        few = len(self.X) <= MOST_ROWS
        draw = draw_rows(np.empty(0, np.uint64) if few else self._keys, weight, MOST_ROWS)
        if self.acquisition == "learner":
            return SampledPrices.whole(self.groups, draw.share), draw
        return self.on_all_rows.with_weight(draw.share) if few else self._on(draw.of(self.X), draw.share), draw


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
        outputs = outputs_on(bank, rows.X, n_jobs)
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
        answers, found = tree.answers(tree.scores(self.rows)), np.zeros((len(self.rows.target), len(tree)))
        for node in np.flatnonzero(tree.topology.has_exit):
            found[:, node] = self.rows.loss_weight * self.loss.value(answers[:, node], self.rows.target)
        return found

    def costs(self, tree: SoftTree) -> F8:
        """Return the cost that each node adds for each row that reaches it: float64 (n, K)."""
        if self.reads is None:
            stages = as_stage_tree(self.pricing.bank, tree)
            prices, acquisition = self.pricing.spread_prices, self.pricing.acquisition
            return stage_costs(stages, prices, self.pricing.X, acquisition)[:, stage_numbers(tree.topology)[0]]
        used, n_rows = tree.used, len(self.rows.target)
        costs = [self.reads.after(tree.bought(node)).each(used[node])[:n_rows] for node in range(len(used))]
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
        each = np.ldexp(difference, -size)  # squares of huge costs overflow
        squares, total = float((np.square(each) / counts).sum()), float(each.sum())
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
