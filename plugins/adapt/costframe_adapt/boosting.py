"""ADAPT-GBRT: Algorithm 2, which boosts a cheap model and a gate in turns.

`boosting_stage` is what one stage does by default, with the same trees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import define, evolve, frozen
from scipy.special import entr, expit

from costframe.gates import GatedPair, Scores
from costframe.plugin import Account, exact_mean, exact_sum
from costframe.trees import (
    Boosted,
    Ensemble,
    EnsembleRun,
    LazyPrices,
    Monitor,
    NoPrices,
    Running,
    boost_at_prices,
    loss_for,
    once_prices,
    tree_grower,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.gates import Candidate
    from costframe.plugin import PriceArrays, Rows, TrainingData
    from costframe.trees import BinnedData, RowLoss, SplitPrices
    from costframe_adapt.judge import Judge
    from costframe_adapt.settings import AdaptTrees

    F8 = NDArray[np.float64]

__all__ = ["GateLoss", "GrowingPair", "boost_cheap", "boost_pair", "cheap_prices", "converged"]

_LEAST_HESSIAN = 1e-16
_ROUNDS = 10  # of the alternation
_PATIENCE = 30  # rounds of a cheap model without a better one
_STEADY = 1e-4  # change of a row's share at which the alternation has converged


def boost_pair(judge: Judge, trees: AdaptTrees) -> tuple[Candidate, list[float]]:
    """Run Algorithm 2: from Greedy Miser's model and a gate of zero, alternate q and all trees, until q converges.

    Returns
    -------
    Candidate, list of float
        The models of the last round; bound + tradeoff * prices of all features bought, after each round.
    """
    data, tradeoff = judge.data, judge.settings.tradeoff
    start = boost_cheap(data, judge.binned, trees, tradeoff, None)[0].finish(data.feature_names)
    pair = GatedPair.of(start)
    scores, held = (Scores.without_gate(start.decision_function(rows.X)) for rows in (judge.rows, judge.held))
    objective: list[float] = []
    if judge.settings.full_share == 0:  # no gate
        return judge.candidate(pair, scores, held), objective
    q = judge.shares(pair, scores)
    while True:
        # One table of u_f: the first tree of either model that uses a feature buys it for both.
        prices = once_prices(data.prices, judge.rows, tradeoff=tradeoff)
        growing = GrowingPair.begin(judge, trees, q, prices, prices)
        for _ in range(trees.n_estimators):
            if not growing.add_round():
                break
        pair, (scores, held) = growing.pair(data.feature_names), growing.scores()
        objective.append(_bound(judge, q, scores) + _price_of(judge, pair))
        before, q = q, judge.shares(pair, scores)
        if converged(judge, before, q) or len(objective) == _ROUNDS:
            return judge.candidate(pair, scores, held, growing.accounts()), objective


def boost_cheap(
    data: TrainingData, binned: BinnedData, trees: AdaptTrees, tradeoff: float, held: Rows | None
) -> tuple[Ensemble, int]:
    """Boost with q = 0 and early stopping on held-out rows; return the ensemble of all rounds, and the best round.

    With Miser's trees this is Greedy Miser.
    """
    rows, loss = data.train, loss_for(data.n_classes)
    monitor = None if held is None else Monitor(held, loss, data.prices, tradeoff, _PATIENCE, None)
    prices = cheap_prices(trees, data.prices, rows, tradeoff)
    return boost_at_prices(rows, loss, trees, tree_grower(rows, binned, trees), prices, monitor=monitor)


def cheap_prices(trees: AdaptTrees, prices: PriceArrays, rows: Rows, tradeoff: float) -> SplitPrices:
    """Return the prices of a cheap model's trees, for the rows that it answers."""
    if trees.by_row:
        return LazyPrices(prices, tradeoff, len(rows), rows.weight)
    return once_prices(prices, rows, tradeoff=tradeoff)


@frozen
class GateLoss:
    """(1 - q) log(1 + exp(g)) + q log(1 + exp(-g)): the cross-entropy of q and sigma(g), with q in place of labels."""

    def gradients(
        self, y: ArrayLike, scores: NDArray[np.float64], *, n_threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n, 1) each: sigma(g) - q, and sigma(g) (1 - sigma(g))."""
        del n_threads  # one thread is enough
        sure = expit(scores)
        return sure - np.asarray(y, np.float64)[:, np.newaxis], np.maximum(sure * (1 - sure), _LEAST_HESSIAN)

    def mean(self, y: ArrayLike, scores: NDArray[np.float64], weight: ArrayLike | None = None) -> float:
        """Return the weighted mean of the cross-entropy."""
        lost = np.logaddexp(0.0, scores[:, 0]) - np.asarray(y, np.float64) * scores[:, 0]
        return float(np.average(lost, weights=None if weight is None else np.asarray(weight, np.float64)))


@define(eq=False)
class GrowingPair:
    """The ensembles of the cheap model and of the gate while they grow.

    Attributes
    ----------
    cheap, gate : EnsembleRun
        With scores of held-out rows; the labels of the gate are q.
    tradeoff : float
    rebuilds : bool
        Whether the cheap model grows too.
    """

    cheap: EnsembleRun
    gate: EnsembleRun
    tradeoff: float
    rebuilds: bool

    @classmethod
    def begin(
        cls, judge: Judge, trees: AdaptTrees, q: NDArray[np.float64], cheap: SplitPrices, gate: SplitPrices
    ) -> GrowingPair:
        """Begin both at their best constants for shares q, each with its prices."""
        staying, loss = evolve(judge.rows, weight=judge.rows.weight * (1 - q)), loss_for(judge.data.n_classes)
        boosted = Boosted.constant(staying, loss, trees.learning_rate)
        first = _run(judge, trees, staying, loss.for_rows(staying), boosted, cheap)
        return cls(first, _gate_run(judge, trees, q, gate), judge.settings.tradeoff, rebuilds=True)

    @classmethod
    def behind(
        cls, judge: Judge, trees: AdaptTrees, q: F8, cheap: Boosted, running: Running, gate: SplitPrices
    ) -> GrowingPair:
        """Begin a gate at its best constant for shares q, for a fixed cheap model, known on the held-out rows too."""
        loss = loss_for(judge.data.n_classes).for_rows(judge.rows)
        first = _run(judge, trees, judge.rows, loss, cheap, NoPrices(), running)
        return cls(first, _gate_run(judge, trees, q, gate), judge.settings.tradeoff, rebuilds=False)

    def add_round(self) -> bool:
        """Add a tree per output to the cheap model, then one to the gate; return False if none of them splits."""
        cheap = self.rebuilds and self.cheap.add_round(self.tradeoff)
        return self.gate.add_round(self.tradeoff) or cheap

    def scores(self) -> tuple[Scores, Scores]:
        """Return the scores of training rows and of held-out rows."""
        cheap, gate = self.cheap, self.gate
        return (
            Scores(cheap.boosted.scores.copy(), gate.boosted.scores[:, 0].copy()),
            Scores(cheap.running.scores.copy(), gate.running.scores[:, 0].copy()),
        )

    def accounts(self) -> tuple[Account, Account]:
        """Return the accounts of the cheap model and of the gate on the held-out rows."""
        return Account.of_prefix(self.cheap.running.paid), Account.of_prefix(self.gate.running.paid)

    def pair(self, feature_names: Sequence[str]) -> GatedPair:
        """Return the cheap model and the gate at this round."""
        cheap, gate = (run.boosted.ensemble.finish(feature_names) for run in (self.cheap, self.gate))
        return GatedPair.of(cheap, gate)


def _gate_run(judge: Judge, trees: AdaptTrees, q: NDArray[np.float64], prices: SplitPrices) -> EnsembleRun:
    """Begin a gate at the log odds of the mean of q."""
    rows = judge.rows
    share = exact_mean(q, rows.weight)
    start = np.array([np.log(share) - np.log1p(-share)])
    boosted = Boosted(Ensemble(start, trees.learning_rate, "sigmoid"), np.tile(start[:, np.newaxis], len(rows)).T)
    return _run(judge, trees, evolve(rows, y=q), GateLoss(), boosted, prices)


def _run(
    judge: Judge,
    trees: AdaptTrees,
    rows: Rows,
    loss: RowLoss,
    boosted: Boosted,
    prices: SplitPrices,
    running: Running | None = None,
) -> EnsembleRun:
    grow = tree_grower(judge.rows, judge.binned, trees)  # its leaves count all rows, also those that go on
    if running is None:
        running = Running(judge.held, loss_for(judge.data.n_classes), judge.data.prices)
        running.begin(boosted.ensemble.intercept)
    return EnsembleRun(rows, loss, grow, boosted, prices, running, None, trees.n_threads)


def converged(judge: Judge, before: F8, q: F8) -> bool:
    """Return whether the shares of an alternation have settled."""
    rows = judge.rows
    return exact_sum(np.abs(q - before) * rows.weight) < _STEADY * rows.total_weight


def _bound(judge: Judge, q: F8, train: Scores) -> float:
    """Return mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] on the training rows."""
    below, above = judge.losses(train)
    return exact_mean((1 - q) * below + q * above - entr(q) - entr(1 - q), judge.rows.weight)


def _price_of(judge: Judge, pair: GatedPair) -> float:
    """Return tradeoff * the prices of all features and resources that a pair reads."""
    prices, read = judge.data.prices, np.diff(pair.bank.F.indptr) > 0
    needed = prices.direct_needs.of_set(np.flatnonzero(read))
    return judge.settings.tradeoff * float(prices.cost[read].sum() + prices.resource_cost[needed].sum())
