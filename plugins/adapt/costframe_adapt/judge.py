"""What a gate and a cheap model are worth in front of an expensive one: on held-out rows, and for the next shares q."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.gates.composite import Candidate, Scores
from costframe.gates.gate_curve import CHEAP, EXPENSIVE, GateCurve
from costframe_adapt.problem import cheap_losses
from costframe_adapt.shares import share_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.cost.accounts import Account
    from costframe.gates.expensive import ExpensiveModel
    from costframe.gates.pair import GatedPair
    from costframe.training.data import Rows, TrainingData
    from costframe_adapt.prepared import Prepared
    from costframe_adapt.settings import AdaptSettings

__all__ = ["Judge"]


@frozen(eq=False)
class Judge:
    """What one stage is fitted to, and how it is looked at.

    Attributes
    ----------
    prepared : Prepared
    expensive : ExpensiveModel
        What stands behind the gate.
    settings : AdaptSettings
    record : callable, optional
        Called with every candidate.
    """

    prepared: Prepared
    expensive: ExpensiveModel
    settings: AdaptSettings
    record: Callable[[Candidate], None] | None = None

    @property
    def data(self) -> TrainingData:
        """Without the held-out rows."""
        return self.prepared.data

    @property
    def rows(self) -> Rows:
        """Training rows."""
        return self.prepared.data.train

    @property
    def held(self) -> Rows:
        """Held-out rows."""
        return self.prepared.held

    def candidate(
        self, pair: GatedPair, train: Scores, held: Scores, accounts: tuple[Account, Account] | None = None
    ) -> Candidate:
        """Look at a cheap model and a gate, whose scores of training rows and of held-out rows are given.

        Accounts are of what both do on the held-out rows, if that is known.
        """
        settings, rows = self.settings, self.held
        if accounts is None:
            accounts = self._accounts(pair, rows)
        cheap_loss = cheap_losses(held.cheap, rows.y)
        curve = GateCurve.of(held.gate, cheap_loss, self.expensive.held, accounts, rows.weight, self.data.prices)
        if settings.paper:
            point = curve.at(0.0) if pair.divides else curve.without_gate(_all_one_way(pair))
        else:
            point = curve.best(settings.tradeoff, settings.full_share)
        found = Candidate(pair, train, held, accounts, curve, point)
        if self.record is not None:
            self.record(found)
        return found

    def total(self, candidate: Candidate) -> float:
        """Return loss + tradeoff * cost of a candidate on the held-out rows."""
        return candidate.point.total(self.settings.tradeoff)

    def shares(self, pair: GatedPair, train: Scores) -> NDArray[np.float64]:
        """Solve (OPT1): q, float64 (n,), for a cheap model and a gate with these scores of the training rows."""
        below, above = self.losses(train)
        if self.settings.full_share is None and self.settings.tradeoff:
            above = above + self.settings.tradeoff * self._extra_cost(pair)
        return share_out(below, above, self.rows.weight, self.settings.full_share).q

    def losses(self, train: Scores) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the paper's A and B of the training rows: float64 (n,) each."""
        below = cheap_losses(train.cheap, self.rows.y) + np.logaddexp(0.0, train.gate)
        return below, self.expensive.train.loss + np.logaddexp(0.0, -train.gate)

    def _extra_cost(self, pair: GatedPair) -> NDArray[np.float64]:
        """Return what going on costs each training row beyond what staying does, float64 (n,)."""
        prices, expensive = self.data.prices, self.expensive.train.account
        cheap, gate = self._accounts(pair, self.rows)
        goes, stays = gate | expensive, gate | cheap
        batch = (goes.batch(prices) - stays.batch(prices)) / self.rows.total_weight
        return goes.cost(prices) - stays.cost(prices) + batch

    def _accounts(self, pair: GatedPair, rows: Rows) -> tuple[Account, Account]:
        return pair.accounts(self.data.costs, rows.X, self.prepared.n_threads)


def _all_one_way(pair: GatedPair) -> str:
    """Return the model that gets all rows where the gate is a constant."""
    return EXPENSIVE if pair.gate_intercept > 0 else CHEAP
