"""ADAPT-GBRT's inner loop: trees of the cheap model and of the gate in turns, watched on rows held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from attrs import define, evolve

from costframe.core.cost.prefix import PrefixCost
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable
from costframe.trees.boosting.boost import Boosted, Ensemble
from costframe.trees.boosting.losses import loss_for
from costframe_adapt.accounts import Account
from costframe_adapt.boosted.side_losses import GateLoss, StayingLoss
from costframe_adapt.candidate import Scores
from costframe_adapt.front import Front

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.training.data import Rows, TrainingData
    from costframe.trees.growing.grow import GrownTree
    from costframe.trees.growing.prices import SplitPrices
    from costframe_adapt.boosted.binning import Binning
    from costframe_adapt.boosted.tree_prices import PriceTable
    from costframe_adapt.settings import TreeSettings

    GrowPriced = Callable[[NDArray[np.floating], NDArray[np.floating], SplitPrices], GrownTree]

__all__ = ["Growing", "Watched"]


@define(eq=False)
class Watched:
    """What a growing ensemble says of other rows, and what it costs them."""

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
class Growing:
    """Both ensembles under way, from their best constants.

    Attributes
    ----------
    rows : Rows
        Training rows.
    gate_rows : Rows
        The same, with q in place of labels.
    cheap, gate : Boosted
    cheap_loss : StayingLoss
    grow : callable
        (weighted gradients, weighted hessians, prices) -> GrownTree.
    table : PriceTable
    cheap_seen, gate_seen : Watched
        On rows held out.
    n_threads : int
    cheap_grows : bool
        Whether the cheap model has more trees coming.
    """

    rows: Rows
    gate_rows: Rows
    cheap: Boosted
    gate: Boosted
    cheap_loss: StayingLoss
    grow: GrowPriced
    table: PriceTable
    cheap_seen: Watched
    gate_seen: Watched
    n_threads: int = 1
    cheap_grows: bool = True

    @classmethod
    def begin(
        cls,
        data: TrainingData,
        seen: Rows,
        q: NDArray[np.float64],
        table: PriceTable,
        binning: Binning,
        trees: TreeSettings,
    ) -> Self:
        """Begin for shares q, float64 (n,), that are neither all 0 nor all 1."""
        rows, loss, step = data.train, loss_for(data.n_classes), trees.learning_rate
        cheap = Boosted.constant(evolve(rows, weight=rows.weight * (1 - q)), loss, step)
        share = float(rows.weight @ q / rows.weight.sum())
        start = np.array([np.log(share) - np.log1p(-share)])
        gate = Boosted(Ensemble(start, step, "sigmoid"), np.tile(start[:, np.newaxis], len(rows)).T)
        return cls(
            rows,
            evolve(rows, y=q),
            cheap,
            gate,
            StayingLoss(loss.for_rows(rows), 1 - q),
            binning.grower(trees),
            table,
            Watched.begin(seen, data.prices, cheap.ensemble.intercept),
            Watched.begin(seen, data.prices, gate.ensemble.intercept),
            binning.n_threads,
        )

    def keep_cheap(self, ensemble: Ensemble, scores: NDArray[np.float64], watched: Watched) -> None:
        """Take a cheap model that is not to grow, with its scores (n, K) of the training rows."""
        self.cheap, self.cheap_seen = Boosted(ensemble, scores.copy(order="F")), watched
        self.cheap_grows = False

    def add_round(self) -> bool:
        """Add a tree an output to the cheap model, then one to the gate; False if none of them splits."""
        some = False
        both = (
            (self.cheap, self.rows, self.cheap_loss, self.table.cheap, self.cheap_seen),
            (self.gate, self.gate_rows, GateLoss(), self.table.gate, self.gate_seen),
        )
        for boosted, rows, loss, prices, watched in both if self.cheap_grows else both[1:]:

            def grow(
                gradients: NDArray[np.floating], hessians: NDArray[np.floating], prices: SplitPrices = prices
            ) -> GrownTree:
                return self.grow(gradients, hessians, prices)

            added = boosted.grow_round(rows, loss, grow, n_threads=self.n_threads)
            boosted.ensemble.append(added)
            watched.add(added, boosted.ensemble.step)
            self.table.settle()
            some |= bool(added)
        return some

    def scores(self) -> tuple[Scores, Scores]:
        """Return scores of the cheap model, (n, K), and the gate, (n,): of training rows, and of those held out."""
        return (
            Scores(self.cheap.scores.copy(), self.gate.scores[:, 0].copy()),
            Scores(self.cheap_seen.scores.copy(), self.gate_seen.scores[:, 0].copy()),
        )

    def accounts(self) -> tuple[Account, Account]:
        """Return what the cheap model and the gate do on the rows held out."""
        return Account.of_prefix(self.cheap_seen.paid), Account.of_prefix(self.gate_seen.paid)

    def front(self, feature_names: Sequence[str]) -> Front:
        """Return both as they are."""
        cheap, gate = self.cheap.ensemble, self.gate.ensemble
        n_cheap, n_gate = len(cheap.tables), len(gate.tables)
        weights = np.zeros((n_cheap + n_gate, len(cheap.intercept)))
        weights[np.arange(n_cheap), cheap.outputs] = cheap.step
        table = TreeTable.concatenate([*cheap.tables, *gate.tables])
        return Front(
            WeakLearnerBank.from_trees(table, feature_names),
            weights,
            cheap.intercept,
            np.append(np.zeros(n_cheap), np.full(n_gate, gate.step)),
            float(gate.intercept[0]),
        )
