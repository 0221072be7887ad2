"""What a gate and a cheap model are worth in front of an expensive one: on rows held out, and for the next shares q."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe_adapt.candidate import Candidate, Scores
from costframe_adapt.problem import cheap_losses
from costframe_adapt.shares import share_out
from costframe_adapt.sides import Sides

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.training.data import Rows, TrainingData
    from costframe_adapt.accounts import Account
    from costframe_adapt.expensive import Full
    from costframe_adapt.front import Front
    from costframe_adapt.prepared import Prepared
    from costframe_adapt.settings import AdaptSettings

__all__ = ["Judge"]


@frozen(eq=False)
class Judge:
    """What one stage is fitted to, and how it is looked at.

    Attributes
    ----------
    prepared : Prepared
    full : Full
        What stands behind the gate.
    settings : AdaptSettings
    noted : callable
        Is told of every candidate.
    """

    prepared: Prepared
    full: Full
    settings: AdaptSettings
    noted: Callable[[Candidate], None]

    @property
    def data(self) -> TrainingData:
        """Without the rows held out."""
        return self.prepared.data

    @property
    def rows(self) -> Rows:
        """Training rows."""
        return self.prepared.data.train

    @property
    def seen(self) -> Rows:
        """Rows held out."""
        return self.prepared.seen

    def candidate(
        self, front: Front, train: Scores, seen: Scores, accounts: tuple[Account, Account] | None = None
    ) -> Candidate:
        """Look at a cheap model and a gate, whose scores of training rows and of rows held out are given.

        Accounts are of what both do on the rows held out, if that is known.
        """
        settings, held = self.settings, self.seen
        if accounts is None:
            accounts = self._account(front, held)
        cheap_loss = cheap_losses(seen.cheap, held.y)
        sides = Sides.of(seen.gate, cheap_loss, self.full.seen, accounts, held.weight, self.data.prices)
        if settings.zero_threshold and front.gated:
            placed = sides.at(0.0)
        else:
            placed = sides.best(settings.tradeoff, settings.full_share)
        found = Candidate(front, train, seen, accounts, sides, placed)
        self.noted(found)
        return found

    def total(self, candidate: Candidate) -> float:
        """Return loss + tradeoff * cost of a candidate on the rows held out."""
        return candidate.placed.total(self.settings.tradeoff)

    def shares(self, front: Front, train: Scores) -> NDArray[np.float64]:
        """Return q, float64 (n,), for a cheap model and a gate with these scores of the training rows."""
        below = cheap_losses(train.cheap, self.rows.y) + np.logaddexp(0.0, train.gate)
        above = self.full.train.loss + np.logaddexp(0.0, -train.gate)
        if self.settings.full_share is None and self.settings.tradeoff:
            above = above + self.settings.tradeoff * self._dearer(front)
        return share_out(below, above, self.rows.weight, self.settings.full_share).q

    def _dearer(self, front: Front) -> NDArray[np.float64]:
        """Return what going on costs each training row beyond what staying does, float64 (n,)."""
        prices, full = self.data.prices, self.full.train.account
        cheap, gate = self._account(front, self.rows)
        goes, stays = gate | full, gate | cheap
        batch = (goes.batch(prices) - stays.batch(prices)) / self.rows.total_weight
        return goes.cost(prices) - stays.cost(prices) + batch

    def _account(self, front: Front, rows: Rows) -> tuple[Account, Account]:
        return front.accounts(self.data.costs, rows.X, self.prepared.n_threads)
