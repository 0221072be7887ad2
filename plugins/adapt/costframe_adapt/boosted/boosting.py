"""ADAPT-GBRT: shares, and models fitted to them, in turns; the best that is met on the rows held out is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.training.progress import track
from costframe_adapt.boosted.alone import Alone
from costframe_adapt.boosted.growing import Growing
from costframe_adapt.boosted.tree_prices import Payers, price_table
from costframe_adapt.candidate import Scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.boosting.boost import Ensemble
    from costframe_adapt.candidate import Candidate
    from costframe_adapt.judge import Judge
    from costframe_adapt.settings import TreeSettings

__all__ = ["Boosting"]

_CHECKED = (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0)  # of all rounds, where models are looked at
_LOOKS = 3  # without a better model, after which no more trees are grown
_STEADY = 1e-4  # change of a row's share at which the alternation has come to rest
_PATIENCE = 2  # rounds of the alternation without a better model
_GATES = 3  # gates fitted behind a cheap model that stays as it is, as long as they get better


@frozen(eq=False)
class Boosting:
    """One stage of boosted trees.

    Attributes
    ----------
    judge : Judge
    trees : TreeSettings
    alone : Alone
        The cheap model grown for all rows, which both ways of alternating begin from.
    """

    judge: Judge
    trees: TreeSettings
    alone: Alone

    @classmethod
    def begin(cls, judge: Judge, trees: TreeSettings, cheap: Ensemble | None = None) -> Boosting:
        """Grow the cheap model that stands alone, unless one that is given is better."""
        return cls(judge, trees, Alone.best(judge, trees, cheap))

    def jointly(self, q: NDArray[np.float64] | None = None) -> tuple[list[Candidate], NDArray[np.float64], list[float]]:
        """Rebuild both models from nothing for new shares in each round, as in the paper.

        Begins with the shares beside the cheap model that stands alone, or with q, float64 (n,), from a fit nearby.

        Returns
        -------
        list of Candidate, float64 (n,), list of float
            The best of each round; the shares of the last; loss + tradeoff * cost of each round.
        """
        judge, settings = self.judge, self.judge.settings
        patience = _PATIENCE if q is None else 1
        q = judge.shares(self.alone.candidate.front, self.alone.candidate.train) if q is None else q
        found: list[Candidate] = []
        history: list[float] = []
        for _ in track(range(settings.max_rounds), "Adapt", verbose=settings.verbose):
            found.append(self._best(self._growing(q)))
            history.append(judge.total(found[-1]))
            before, q = q, judge.shares(found[-1].front, found[-1].train)
            rests = float(np.abs(q - before) @ judge.rows.weight) < _STEADY * judge.rows.total_weight
            if rests or len(history) - 1 - int(np.argmin(history)) == patience:
                break
        return found, q, history

    def gates(self) -> tuple[list[Candidate], list[float]]:
        """Leave the cheap model as it is and fit gates to where it fails, as told by copies out of fold.

        A strong cheap model is sure of the rows that it was grown on, so that their losses say little of new ones.
        """
        judge, alone = self.judge, self.alone
        found: list[Candidate] = []
        history: list[float] = []
        front, train = alone.candidate.front, Scores(alone.unseen, np.zeros(len(judge.rows)))
        for _ in range(min(_GATES, judge.settings.max_rounds)):
            growing = self._growing(judge.shares(front, train))
            growing.keep_cheap(alone.ensemble, alone.unseen, alone.watched.fork())
            growing.table.assume(alone.tree.bank, judge.rows.X)
            found.append(self._best(growing))
            history.append(judge.total(found[-1]))
            if history[-1] > min(history):
                break
            front, train = found[-1].front, found[-1].train
        return found, history

    def _growing(self, q: NDArray[np.float64]) -> Growing:
        """Begin both models for shares q, at prices that count who pays."""
        judge, data = self.judge, self.judge.data
        stays = np.ones(len(q)) if judge.settings.charge_all else 1 - q
        payers = Payers(judge.rows.weight, stays, judge.full.train.account.acquired)
        table = price_table(self.trees.kind, data.prices, payers, judge.settings.tradeoff, judge.rows.uneven_weight)
        return Growing.begin(data, judge.seen, q, table, judge.prepared.binning, self.trees)

    def _best(self, growing: Growing) -> Candidate:
        """Grow all rounds, and return the best of what is looked at on the way."""
        rounds, names, found = self.trees.n_estimators, self.judge.data.feature_names, []
        checked = {max(1, int(rounds * share)) for share in _CHECKED}
        for number in range(1, rounds + 1):
            idle = not growing.add_round()
            if number in checked or idle:
                found.append(self.judge.candidate(growing.front(names), *growing.scores(), growing.accounts()))
                totals = [self.judge.total(one) for one in found]
                if idle or len(totals) - 1 - int(np.argmin(totals)) >= _LOOKS:
                    break
        return min(found, key=self.judge.total)
