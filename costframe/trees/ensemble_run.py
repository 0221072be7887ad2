"""One ensemble while it grows at prices."""

from __future__ import annotations

import numpy as np
from attrs import define
from numpy.typing import NDArray

from costframe.training.data import Rows
from costframe.training.losses import RowLoss
from costframe.trees.boost import Boosted, GrowAt
from costframe.trees.monitor import Running
from costframe.trees.prices import SplitPrices
from costframe.trees.room import GrownTree


@define(eq=False)
class EnsembleRun:
    """One ensemble while it grows.

    Attributes
    ----------
    rows : Rows
        Training rows.
    loss : RowLoss
        Of the training rows.
    grow : callable
        (weighted gradients, weighted hessians, prices, random generator) -> GrownTree.
    boosted : Boosted
    prices : SplitPrices
        Prices of splits for the training rows.
    running : Running
        Loss and exact cost on validation rows.
    random : Generator or None
        None if growth draws nothing.
    n_threads : int
        Does not change the result.
    """

    rows: Rows
    loss: RowLoss
    grow: GrowAt
    boosted: Boosted
    prices: SplitPrices
    running: Running
    random: np.random.Generator | None
    n_threads: int

    @property
    def n_rounds(self) -> int:
        """Rounds of boosting."""
        return len(self.boosted.ensemble.rounds)

    def fork(self) -> EnsembleRun:
        """Return an independent copy."""
        own = self.boosted.fork(), self.prices.fork(), self.running.fork(), _copied(self.random)
        return EnsembleRun(self.rows, self.loss, self.grow, *own, self.n_threads)

    def add_round(self, tradeoff: float) -> bool:
        """Grow a round at this tradeoff; return False if no tree splits, and then add no tree."""
        self.prices.tradeoff = tradeoff

        def grow(gradients: NDArray[np.floating], hessians: NDArray[np.floating]) -> GrownTree:
            return self.grow(gradients, hessians, self.prices, self.random)

        added = self.boosted.grow_round(self.rows, self.loss, grow, n_threads=self.n_threads)
        if added:
            self.boosted.ensemble.append(added)
            self.running.add(added, self.boosted.ensemble.step)
        return bool(added)


def _copied(random: np.random.Generator | None) -> np.random.Generator | None:
    """Return a generator with the same draws; a deep copy takes as long as a small tree."""
    if random is None:
        return None
    copy = np.random.default_rng(0)
    copy.bit_generator.state = random.bit_generator.state
    return copy
