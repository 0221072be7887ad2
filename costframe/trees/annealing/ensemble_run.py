"""An ensemble under way that can be forked, so that what would happen otherwise can be tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import define, evolve

from costframe.trees.boosting.boost import Boosted
from costframe.trees.boosting.monitor import Running

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.training.data import Rows, TrainingData
    from costframe.trees.boosting.grower import GrowAt
    from costframe.trees.boosting.losses import Loss, RowLoss
    from costframe.trees.growing.grow import GrownTree
    from costframe.trees.growing.prices import SplitPrices

__all__ = ["EnsembleRun"]


@define(eq=False)
class EnsembleRun:
    """One ensemble under way.

    Attributes
    ----------
    rows : Rows
        Training rows.
    loss : RowLoss
        Theirs.
    grow : callable
        (weighted gradients, weighted hessians, prices, random generator) -> GrownTree.
    boosted : Boosted
    prices : SplitPrices
        What splits cost the training rows.
    running : Running
        Loss and exact cost on validation rows.
    random : Generator
    n_threads : int
        Does not change the result.
    """

    rows: Rows
    loss: RowLoss
    grow: GrowAt
    boosted: Boosted
    prices: SplitPrices
    running: Running
    random: np.random.Generator
    n_threads: int

    def __attrs_post_init__(self) -> None:
        if not self.boosted.ensemble.rounds:
            self.running.begin(self.boosted.ensemble.intercept)

    @classmethod
    def begin(
        cls,
        data: TrainingData,
        loss: Loss,
        grow: GrowAt,
        prices: SplitPrices,
        *,
        step: float,
        random_state: int = 0,
        n_threads: int = 1,
    ) -> EnsembleRun:
        """Begin at the loss's optimal constant; `data` has validation rows."""
        assert data.valid is not None  # noqa: S101 - whoever anneals has seen to it
        return cls(
            data.train,
            loss.for_rows(data.train),
            grow,
            Boosted.constant(data.train, loss, step),
            prices,
            Running(data.valid, loss, data.prices),
            np.random.default_rng(random_state),
            n_threads,
        )

    @property
    def n_rounds(self) -> int:
        """Rounds of boosting."""
        return len(self.boosted.ensemble.rounds)

    def fork(self) -> EnsembleRun:
        """Return a copy that goes its own way."""
        return evolve(
            self,
            boosted=self.boosted.fork(),
            prices=self.prices.fork(),
            running=self.running.fork(),
            random=_copied(self.random),
        )

    def add_round(self, tradeoff: float) -> bool:
        """Grow a round at this tradeoff; False if no tree of it splits, which adds none."""
        self.prices.tradeoff = tradeoff

        def grow(gradients: NDArray[np.floating], hessians: NDArray[np.floating]) -> GrownTree:
            return self.grow(gradients, hessians, self.prices, self.random)

        added = self.boosted.grow_round(self.rows, self.loss, grow, n_threads=self.n_threads)
        if added:
            self.boosted.ensemble.append(added)
            self.running.add(added, self.boosted.ensemble.step)
        return bool(added)


def _copied(random: np.random.Generator) -> np.random.Generator:
    """Return a generator that will draw the same; a deep copy takes as long as a small tree."""
    copy = np.random.default_rng(0)
    copy.bit_generator.state = random.bit_generator.state
    return copy
