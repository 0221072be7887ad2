"""ADAPT-GBRT: as the paper prints it; and gates behind a cheap model that stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from scipy.special import entr

from costframe.gates.composite import Scores
from costframe.gates.pair import GatedPair
from costframe.training.progress import track
from costframe.trees.boosting.boost import Boosted
from costframe.trees.growing.prices import once_prices
from costframe_adapt.boosted.alone import CheapBoosting, CheapModel
from costframe_adapt.boosted.growers import tree_grower
from costframe_adapt.boosted.growing import GrowingPair, Growth
from costframe_adapt.boosted.prices import GatePayers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.gates.composite import Candidate
    from costframe.trees.growing.prices import SplitPrices
    from costframe_adapt.judge import Judge
    from costframe_adapt.settings import TreeSettings

    F8 = NDArray[np.float64]

__all__ = ["PairBoosting"]

_ROUNDS = 10  # of the alternation
_LOOKED_AT = (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0)  # of all trees
_LOOKS = 3  # without a better model, after which no more trees are grown
_STEADY = 1e-4  # change of a row's share at which the alternation has converged
_PATIENCE = 2  # rounds of the alternation without a better model
_GATES = 3  # gates fitted behind a cheap model that stays as it is, as long as they get better


@frozen(eq=False)
class PairBoosting:
    """One stage of boosted trees of one kind."""

    judge: Judge
    trees: TreeSettings

    def as_printed(self) -> tuple[Candidate, list[float]]:
        """Run Algorithm 2: from Greedy Miser's model and a gate of zero, q, then all trees of both, until q rests.

        Returns
        -------
        Candidate, list of float
            What the last round grew; bound + tradeoff * prices of all features bought, after each round.
        """
        judge, prepared = self.judge, self.judge.prepared
        rows = judge.rows
        boosting = CheapBoosting(judge.data, prepared.binned, self.trees, judge.settings.tradeoff, prepared.n_threads)
        start = boosting.train(None)[0].finish(judge.data.feature_names)
        pair = GatedPair.without_gate(start)
        scores = Scores(start.decision_function(rows.X).reshape(len(rows), -1), np.zeros(len(rows)))
        objective: list[float] = []
        if judge.settings.full_share == 0:  # then there is no gate to grow
            held = Scores(start.decision_function(judge.held.X).reshape(len(judge.held), -1), np.zeros(len(judge.held)))
            return judge.candidate(pair, scores, held), objective
        q = judge.shares(pair, scores)
        while True:
            # One table of u_f: the first tree of either that uses a feature buys it for both.
            prices = once_prices(judge.data.prices, rows, tradeoff=judge.settings.tradeoff)
            growing = self._growing(q, prices, prices)
            for _ in range(self.trees.n_estimators):
                if not growing.add_round():
                    break
            pair, (scores, held) = growing.pair(judge.data.feature_names), growing.scores()
            objective.append(self._bound(q, scores) + self._price_of(pair))
            before, q = q, judge.shares(pair, scores)
            if self._rests(before, q) or len(objective) == _ROUNDS:
                return judge.candidate(pair, scores, held, growing.accounts()), objective

    def jointly(self, cheap: CheapModel, q: F8 | None = None) -> tuple[list[Candidate], F8, list[float]]:
        """Rebuild both models for new shares in each round, at prices paid row by row by those that will pay them.

        Begins with the shares beside the cheap model that stands alone, or with q, float64 (n,), from a fit nearby.

        Returns
        -------
        list of Candidate, float64 (n,), list of float
            The best of each round; the shares of the last; loss + tradeoff * cost of each round.
        """
        judge, settings = self.judge, self.judge.settings
        patience = _PATIENCE if q is None else 1
        q = judge.shares(cheap.candidate.pair, cheap.candidate.train) if q is None else q
        found: list[Candidate] = []
        history: list[float] = []
        for _ in track(range(_ROUNDS), "Adapt", verbose=settings.verbose):
            prices = self._payers(q).by_row(settings.tradeoff)
            found.append(self._best(self._growing(q, prices.weighing(judge.rows.weight * (1 - q)), prices)))
            history.append(judge.total(found[-1]))
            before, q = q, judge.shares(found[-1].pair, found[-1].train)
            if self._rests(before, q) or len(history) - 1 - int(np.argmin(history)) == patience:
                break
        return found, q, history

    def gates(self, cheap: CheapModel) -> tuple[list[Candidate], list[float]]:
        """Leave the cheap model as it is and fit gates to where it fails, as copies of it show out of fold.

        A strong cheap model is sure of the rows that it was grown on, so that their losses say little of new ones.
        """
        judge, rows = self.judge, self.judge.rows
        found: list[Candidate] = []
        history: list[float] = []
        pair, train = cheap.candidate.pair, Scores(cheap.unseen, np.zeros(len(rows)))
        for _ in range(_GATES):
            q = judge.shares(pair, train)
            payers, tradeoff = self._payers(q), judge.settings.tradeoff
            prices: SplitPrices = payers.once_after(cheap.tree, tradeoff, rows.uneven_weight)
            if self.trees.kind == "cegb":
                prices = payers.by_row_after(cheap.tree, rows.X, tradeoff)
            found.append(self._best(self._growing(q, None, prices, cheap)))
            history.append(judge.total(found[-1]))
            if history[-1] > min(history):
                break
            pair, train = found[-1].pair, found[-1].train
        return found, history

    def _growing(
        self, q: F8, cheap_prices: SplitPrices | None, gate_prices: SplitPrices, given: CheapModel | None = None
    ) -> GrowingPair:
        """Begin both models for shares q, or a gate behind a cheap model that is given."""
        judge, prepared, step = self.judge, self.judge.prepared, self.trees.learning_rate
        rows, held, prices = judge.rows, judge.held, judge.data.prices
        cheap = Growth.of_cheap(rows, held, judge.data.n_classes, q, step, cheap_prices, prices)
        if given is not None:
            cheap.boosted = Boosted(given.ensemble, given.unseen.copy(order="F"))
            cheap.watched = given.watched.fork()
        grow = tree_grower(prepared.binned, rows, self.trees, prepared.n_threads)
        return GrowingPair(cheap, Growth.of_gate(rows, held, q, step, gate_prices, prices), grow, prepared.n_threads)

    def _payers(self, q: F8) -> GatePayers:
        judge = self.judge
        return GatePayers(judge.data.prices, judge.rows.weight, 1 - q, judge.expensive.train.account.acquired)

    def _best(self, growing: GrowingPair) -> Candidate:
        """Grow all rounds, and return the best of what is looked at on the way."""
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

    def _rests(self, before: F8, q: F8) -> bool:
        weight = self.judge.rows.weight
        return bool(np.abs(q - before) @ weight < _STEADY * weight.sum())

    def _bound(self, q: F8, train: Scores) -> float:
        """Return mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] on the training rows."""
        below, above = self.judge.losses(train)
        rows = (1 - q) * below + q * above - entr(q) - entr(1 - q)
        return float(np.average(rows, weights=self.judge.rows.weight))

    def _price_of(self, pair: GatedPair) -> float:
        """Return tradeoff * the prices of all features and resources that a pair reads."""
        prices, read = self.judge.data.prices, np.diff(pair.bank.F.indptr) > 0
        needed = prices.needs[read].any(axis=0)
        return self.judge.settings.tradeoff * float(prices.cost[read].sum() + prices.resource_cost[needed].sum())
