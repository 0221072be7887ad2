"""One ensemble while it grows at prices, with its loss and cost on validation rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define

from costframe.trees.boosting_run import BoostingRun
from costframe.trees.ensemble import Ensemble
from costframe.trees.growing import GrowAt
from costframe.trees.monitor import Running
from costframe.trees.prices import SplitPrices


@define(eq=False)
class EnsembleRun:
    """One ensemble while it grows at prices."""

    boosting: BoostingRun
    grow: GrowAt
    prices: SplitPrices  # of splits for the training rows
    running: Running  # loss and exact cost on validation rows
    random: np.random.Generator | None = None  # None if growth draws nothing

    @property
    def ensemble(self) -> Ensemble:
        """The trees so far."""
        return self.boosting.ensemble

    @property
    def n_rounds(self) -> int:
        """Rounds of boosting."""
        return len(self.ensemble.rounds)

    def fork(self) -> EnsembleRun:
        """Return an independent copy."""
        return EnsembleRun(
            self.boosting.fork(), self.grow, self.prices.fork(), self.running.fork(), _copied(self.random)
        )

    def rounds(self, tradeoff: float, most: int) -> Iterator[bool]:
        """Add rounds at a tradeoff, up to `most` in all, and yield after each whether some tree split.

        It ends after a round without splits if growth draws nothing, as the next round would not split either.
        """
        while self.n_rounds < most:
            grown = self.add_round(tradeoff)
            yield grown
            if not grown and self.random is None:
                return

    def add_round(self, tradeoff: float) -> bool:
        """Grow a round at this tradeoff; return False if no tree splits, and then add no tree."""
        self.prices.tradeoff = tradeoff
        grown = self.boosting.add_round(
            lambda gradients, hessians: self.grow(gradients, hessians, self.prices, self.random)
        )
        if grown:
            self.running.add(self.ensemble.last_round, self.ensemble.step)
        return grown


def _copied(random: np.random.Generator | None) -> np.random.Generator | None:
    """Return a generator with the same draws; a deep copy takes as long as a small tree."""
    if random is None:
        return None
    copy = np.random.default_rng(0)
    copy.bit_generator.state = random.bit_generator.state
    return copy
