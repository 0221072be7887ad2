"""ADAPT-GBRT: as the paper prints it, boosted jointly at row-by-row prices, and gates for a fixed cheap model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import define, evolve, frozen
from scipy.special import entr, expit

from costframe.core.cost.accounts import Account
from costframe.core.exact_sums import exact_mean, exact_sum
from costframe.gates.composite import GatedPair, Scores
from costframe.training.progress import track
from costframe.trees.annealing.annealed import EnsembleRun
from costframe.trees.boosting.boost import Boosted, Ensemble
from costframe.trees.boosting.grower import tree_grower
from costframe.trees.boosting.losses import loss_for
from costframe.trees.boosting.monitor import Running
from costframe.trees.growing.prices import NoPrices, once_prices
from costframe_adapt.cheap import GatePrices, boost_cheap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.gates.composite import Candidate
    from costframe.training.data import Rows
    from costframe.trees.boosting.losses import RowLoss
    from costframe.trees.growing.prices import SplitPrices
    from costframe_adapt.cheap import CheapModel
    from costframe_adapt.judge import Judge
    from costframe_adapt.settings import AdaptTrees

    F8 = NDArray[np.float64]

__all__ = ["GateLoss", "GrowingPair", "PairBoosting"]

_LEAST_HESSIAN = 1e-16
_ROUNDS = 10  # of the alternation
_LOOKED_AT = (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0)  # of all trees
_LOOKS = 3  # without a better model before growth stops
_STEADY = 1e-4  # change of a row's share at which the alternation has converged
_PATIENCE = 2  # rounds of the alternation without a better model
_GATES = 3  # most gates for a fixed cheap model, while they get better


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
        cls, judge: Judge, trees: AdaptTrees, q: NDArray[np.float64], cheap: CheapModel, gate: SplitPrices
    ) -> GrowingPair:
        """Begin a gate at its best constant for shares q, for a fixed cheap model."""
        boosted, loss = Boosted(cheap.ensemble, cheap.out_of_fold), loss_for(judge.data.n_classes)
        first = _run(judge, trees, judge.rows, loss.for_rows(judge.rows), boosted, NoPrices(), cheap.running)
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
    nothing_drawn = np.random.default_rng(0)
    return EnsembleRun(rows, loss, grow, boosted, prices, running, nothing_drawn, trees.n_threads)


@frozen(eq=False)
class PairBoosting:
    """One stage of boosted trees with one kind of prices."""

    judge: Judge
    trees: AdaptTrees

    def as_printed(self) -> tuple[list[Candidate], list[float]]:
        """Run Algorithm 2: from Greedy Miser's model and a gate of zero, alternate q and all trees, until q converges.

        Returns
        -------
        list of Candidate, list of float
            The models of the last round; bound + tradeoff * prices of all features bought, after each round.
        """
        judge, trees, data, tradeoff = self.judge, self.trees, self.judge.data, self.judge.settings.tradeoff
        start = boost_cheap(data, judge.binned, trees, tradeoff, None)[0].finish(data.feature_names)
        pair = GatedPair.of(start)
        scores, held = (Scores.without_gate(start.decision_function(rows.X)) for rows in (judge.rows, judge.held))
        objective: list[float] = []
        if judge.settings.full_share == 0:  # no gate
            return [judge.candidate(pair, scores, held)], objective
        q = judge.shares(pair, scores)
        while True:
            # One table of u_f: the first tree of either model that uses a feature buys it for both.
            prices = once_prices(data.prices, judge.rows, tradeoff=tradeoff)
            growing = GrowingPair.begin(judge, trees, q, prices, prices)
            for _ in range(trees.n_estimators):
                if not growing.add_round():
                    break
            pair, (scores, held) = growing.pair(data.feature_names), growing.scores()
            objective.append(self._bound(q, scores) + self._price_of(pair))
            before, q = q, judge.shares(pair, scores)
            if self._converged(before, q) or len(objective) == _ROUNDS:
                return [judge.candidate(pair, scores, held, growing.accounts())], objective

    def jointly(self, cheap: CheapModel, q: F8 | None = None) -> tuple[list[Candidate], F8, list[float]]:
        """Boost both models again in each round, for new shares, at row-by-row prices for the rows that pay.

        It begins with the shares of the cheap model alone, or with q, float64 (n,), of a similar fit.

        Returns
        -------
        list of Candidate, float64 (n,), list of float
            The best of each round, the last shares, and loss + tradeoff * cost of each round.
        """
        judge, patience = self.judge, _PATIENCE if q is None else 1
        q = judge.shares(cheap.candidate.pair, cheap.candidate.train) if q is None else q
        found: list[Candidate] = []
        history: list[float] = []
        for _ in track(range(_ROUNDS), "Adapt", verbose=judge.settings.verbose):
            prices = self._gate_prices(q).by_row()
            staying = prices.weighing(judge.rows.weight * (1 - q))
            found.append(self._best(GrowingPair.begin(judge, self.trees, q, staying, prices)))
            history.append(judge.total(found[-1]))
            before, q = q, judge.shares(found[-1].pair, found[-1].train)
            if self._converged(before, q) or len(history) - 1 - int(np.argmin(history)) == patience:
                break
        return found, q, history

    def gates(self, cheap: CheapModel) -> tuple[list[Candidate], list[float]]:
        """Keep the cheap model, and fit gates to its out-of-fold failures.

        A strong cheap model is too sure on its training rows: its losses there say little about new rows.
        """
        judge, bank = self.judge, cheap.candidate.pair.bank
        found: list[Candidate] = []
        history: list[float] = []
        pair, train = cheap.candidate.pair, Scores.without_gate(cheap.out_of_fold)
        for _ in range(_GATES):
            q = judge.shares(pair, train)
            of_gate = self._gate_prices(q)
            prices = of_gate.by_row_after(bank) if self.trees.by_row else of_gate.once_after(bank)
            found.append(self._best(GrowingPair.behind(judge, self.trees, q, cheap, prices)))
            history.append(judge.total(found[-1]))
            if history[-1] > min(history):
                break
            pair, train = found[-1].pair, found[-1].train
        return found, history

    def _gate_prices(self, q: F8) -> GatePrices:
        judge = self.judge
        read = judge.expensive.train.account.acquired
        return GatePrices(judge.data.prices, judge.rows, 1 - q, read, judge.settings.tradeoff)

    def _best(self, growing: GrowingPair) -> Candidate:
        """Grow all rounds, and return the best candidate on the way."""
        rounds, names, found = self.trees.n_estimators, self.judge.data.feature_names, []
        checked = {max(1, int(rounds * share)) for share in _LOOKED_AT}
        for number in range(1, rounds + 1):
            idle = not growing.add_round()
            if number in checked or idle:
                found.append(self.judge.candidate(growing.pair(names), *growing.scores(), growing.accounts()))
                totals = [self.judge.total(one) for one in found]
                if idle or len(totals) - 1 - int(np.argmin(totals)) >= _LOOKS:
                    break
        return min(found, key=self.judge.total)

    def _converged(self, before: F8, q: F8) -> bool:
        rows = self.judge.rows
        return exact_sum(np.abs(q - before) * rows.weight) < _STEADY * rows.total_weight

    def _bound(self, q: F8, train: Scores) -> float:
        """Return mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] on the training rows."""
        below, above = self.judge.losses(train)
        rows = self.judge.rows
        return exact_mean((1 - q) * below + q * above - entr(q) - entr(1 - q), rows.weight)

    def _price_of(self, pair: GatedPair) -> float:
        """Return tradeoff * the prices of all features and resources that a pair reads."""
        prices, read = self.judge.data.prices, np.diff(pair.bank.F.indptr) > 0
        needed = prices.direct_needs.of_set(np.flatnonzero(read))
        return self.judge.settings.tradeoff * float(prices.cost[read].sum() + prices.resource_cost[needed].sum())
