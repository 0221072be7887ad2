"""Trees of the cheap model and of the gate in turns, or of the gate alone, watched on held-out rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from attrs import define, evolve

from costframe.core.cost.accounts import Account, PrefixCost
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable
from costframe.gates.composite import Scores
from costframe.gates.pair import GatedPair
from costframe.trees.boosting.boost import Boosted, Ensemble
from costframe.trees.boosting.losses import loss_for
from costframe_adapt.boosted.losses import GateLoss, StayingLoss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.training.data import Rows
    from costframe.trees.boosting.losses import RowLoss
    from costframe.trees.growing.prices import SplitPrices
    from costframe_adapt.boosted.growers import GrowPriced

__all__ = ["GrowingPair", "Growth", "Watched"]


@define(eq=False)
class Watched:
    """A growing ensemble's scores of other rows, and what it costs them."""

    scores: NDArray[np.float64]
    paid: PrefixCost

    @classmethod
    def begin(cls, rows: Rows, prices: PriceArrays, intercept: NDArray[np.float64]) -> Self:
        """Start from a constant, float64 (K,)."""
        return cls(np.tile(intercept, (len(rows), 1)), PrefixCost(rows.X, rows.weight, prices))

    def fork(self) -> Watched:
        """Return a copy that goes its own way."""
        return Watched(self.scores.copy(), self.paid.fork())

    def add(self, trees: list[tuple[int, TreeTable]], step: float) -> None:
        """Add a round's trees, each with the output it adds to."""
        for k, table in trees:
            self.scores[:, k] += step * self.paid.add(table)[:, 0]


@define(eq=False)
class Growth:
    """One of the two ensembles: its trees, its scores of the training rows and of held-out rows.

    Attributes
    ----------
    boosted : Boosted
    watched : Watched
    rows : Rows
        What its loss takes for labels and weights.
    loss : RowLoss
    prices : SplitPrices or None
        What its trees pay; None if no more are grown.
    """

    boosted: Boosted
    watched: Watched
    rows: Rows
    loss: RowLoss
    prices: SplitPrices | None

    @classmethod
    def of_cheap(
        cls, rows: Rows, held: Rows, n_classes: int, q: NDArray[np.float64], step: float,
        prices: SplitPrices | None, price_arrays: PriceArrays,
    ) -> Self:  # fmt: skip
        """Begin a cheap model at its best constant where rows stay with it by 1 - q."""
        loss = loss_for(n_classes)
        boosted = Boosted.constant(evolve(rows, weight=rows.weight * (1 - q)), loss, step)
        watched = Watched.begin(held, price_arrays, boosted.ensemble.intercept)
        return cls(boosted, watched, rows, StayingLoss(loss.for_rows(rows), 1 - q), prices)

    @classmethod
    def of_gate(
        cls, rows: Rows, held: Rows, q: NDArray[np.float64], step: float, prices: SplitPrices, price_arrays: PriceArrays
    ) -> Self:
        """Begin a gate at the log odds of the mean of q."""
        share = float(rows.weight @ q / rows.weight.sum())
        start = np.array([np.log(share) - np.log1p(-share)])
        boosted = Boosted(Ensemble(start, step, "sigmoid"), np.tile(start[:, np.newaxis], len(rows)).T)
        return cls(boosted, Watched.begin(held, price_arrays, start), evolve(rows, y=q), GateLoss(), prices)

    def grow(self, grow: GrowPriced, n_threads: int) -> bool:
        """Add a tree an output; False if none of them splits."""
        prices = self.prices
        if prices is None:
            return False
        added = self.boosted.grow_round(
            self.rows, self.loss, lambda gradients, hessians: grow(gradients, hessians, prices), n_threads=n_threads
        )
        self.boosted.ensemble.append(added)
        self.watched.add(added, self.boosted.ensemble.step)
        return bool(added)


@define(eq=False)
class GrowingPair:
    """Both ensembles under way.

    Attributes
    ----------
    cheap, gate : Growth
    grow : callable
        (weighted gradients, weighted hessians, prices) -> GrownTree.
    n_threads : int
    """

    cheap: Growth
    gate: Growth
    grow: GrowPriced
    n_threads: int = 1

    def add_round(self) -> bool:
        """Add a tree an output to the cheap model, then one to the gate; False if none of them splits."""
        cheap = self.cheap.grow(self.grow, self.n_threads)
        return self.gate.grow(self.grow, self.n_threads) or cheap

    def scores(self) -> tuple[Scores, Scores]:
        """Return scores of the cheap model, (n, K), and the gate, (n,): of training rows, and of held-out rows."""
        cheap, gate = self.cheap, self.gate
        return (
            Scores(cheap.boosted.scores.copy(), gate.boosted.scores[:, 0].copy()),
            Scores(cheap.watched.scores.copy(), gate.watched.scores[:, 0].copy()),
        )

    def accounts(self) -> tuple[Account, Account]:
        """Return what the cheap model and the gate do on the held-out rows."""
        return Account.of_prefix(self.cheap.watched.paid), Account.of_prefix(self.gate.watched.paid)

    def pair(self, feature_names: Sequence[str]) -> GatedPair:
        """Return both as they are."""
        cheap, gate = self.cheap.boosted.ensemble, self.gate.boosted.ensemble
        n_cheap, n_gate = len(cheap.tables), len(gate.tables)
        weights = np.zeros((n_cheap + n_gate, len(cheap.intercept)))
        weights[np.arange(n_cheap), cheap.outputs] = cheap.step
        table = TreeTable.concatenate([*cheap.tables, *gate.tables])
        return GatedPair(
            WeakLearnerBank.from_trees(table, feature_names),
            weights,
            cheap.intercept,
            np.append(np.zeros(n_cheap), np.full(n_gate, gate.step)),
            float(gate.intercept[0]),
        )
