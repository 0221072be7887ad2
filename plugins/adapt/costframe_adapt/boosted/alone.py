"""The cheap model that stands alone, and how models like it do on rows that they were not grown on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from attrs import evolve, frozen

from costframe.gates.composite import Scores
from costframe.gates.pair import GatedPair
from costframe.sets.dealing import deal_folds
from costframe.trees.boosting.boost import Boosted, boost
from costframe.trees.boosting.losses import loss_for
from costframe.trees.boosting.monitor import Monitor
from costframe_adapt.boosted.growers import tree_grower
from costframe_adapt.boosted.growing import Watched
from costframe_adapt.boosted.prices import cheap_prices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.gates.composite import Candidate
    from costframe.training.data import Rows, TrainingData
    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.boosting.boost import Ensemble
    from costframe_adapt.judge import Judge
    from costframe_adapt.settings import TreeSettings

__all__ = ["CheapBoosting", "CheapModel"]

_PATIENCE = 30  # rounds without a better one
_FOLDS = 3


@frozen(eq=False)
class CheapBoosting:
    """Boosting with q = 0; Miser's trees make it Greedy Miser.

    Attributes
    ----------
    data : TrainingData
    binned : BinnedData
        Its training rows.
    trees : TreeSettings
    tradeoff : float
    n_threads : int
    """

    data: TrainingData
    binned: BinnedData
    trees: TreeSettings
    tradeoff: float
    n_threads: int

    def train(self, valid: Rows | None) -> tuple[Ensemble, int]:
        """Boost on all training rows, stopped early by validation rows; return all rounds, and the best one."""
        monitor = None
        if valid is not None:
            loss = loss_for(self.data.n_classes)
            monitor = Monitor(valid, loss, self.data.prices, self.tradeoff, _PATIENCE, None)
        return self._boost(monitor, self.trees.n_estimators)

    def out_of_fold(self, tree: StageTree, n_rounds: int) -> NDArray[np.float64]:
        """Return scores, (n, K), of models that read what the tree reads, of rows that they were not grown on."""
        rows, loss = self.data.train, loss_for(self.data.n_classes)
        read = np.diff(tree.bank.F.indptr) > 0
        fold, found = deal_folds(rows, self.data, _FOLDS)[1], np.zeros((len(rows), loss.n_outputs))
        for number in range(_FOLDS):
            inside = fold != number
            # The rows outside weigh next to nothing.
            few = evolve(rows, weight=rows.weight * np.where(inside, 1.0, 1e-12))
            boosted = Boosted.constant(few, loss, self.trees.learning_rate)
            if n_rounds and inside.any():
                self._boost(None, n_rounds, inside, read, boosted)
            found[~inside] = boosted.scores[~inside]
        return found

    def _boost(
        self,
        monitor: Monitor | None,
        n_rounds: int,
        inside: NDArray[np.bool_] | None = None,
        read: NDArray[np.bool_] | None = None,
        boosted: Boosted | None = None,
    ) -> tuple[Ensemble, int]:
        """Boost on all rows, or on those inside and by the features read; prices paid once are then paid for these."""
        data, trees, rows = self.data, self.trees, self.data.train
        weight = rows.weight if inside is None else rows.weight * inside
        prices = cheap_prices(trees.kind, data.prices, weight, self.tradeoff, rows.uneven_weight)
        if read is not None and trees.kind != "cegb":
            prices.mark_paid(read, np.asarray(data.prices.needs[read].any(axis=0)))
        some = None if inside is None else np.flatnonzero(inside)
        grow = tree_grower(self.binned, rows, trees, self.n_threads, inside=some, features=read)
        return boost(
            rows,
            loss_for(data.n_classes),
            lambda gradients, hessians: grow(gradients, hessians, prices),
            n_rounds=n_rounds,
            step=trees.learning_rate,
            monitor=monitor,
            boosted=boosted,
            n_threads=self.n_threads,
        )


@frozen(eq=False)
class CheapModel:
    """A cheap model grown for all rows.

    Attributes
    ----------
    ensemble : Ensemble
        Of its best round.
    tree : StageTree
    candidate : Candidate
        The same without a gate.
    unseen : float64 (n, K)
        Scores of the training rows out of fold.
    watched : Watched
        Its scores of the held-out rows, and costs there.
    """

    ensemble: Ensemble
    tree: StageTree
    candidate: Candidate
    unseen: NDArray[np.float64]
    watched: Watched

    @classmethod
    def best(cls, judge: Judge, trees: TreeSettings, given: Ensemble | None = None) -> Self:
        """Boost one with early stopping by the held-out rows, or take one that is given if it is better there."""
        prepared = judge.prepared
        boosting = CheapBoosting(judge.data, prepared.binned, trees, judge.settings.tradeoff, prepared.n_threads)
        ensemble, n_rounds = boosting.train(judge.held)
        found = [_look_at(judge, ensemble.prefix(n_rounds))]
        if given is not None:
            found.append(_look_at(judge, given))
        ensemble, tree, candidate, watched = min(found, key=lambda one: judge.total(one[2]))
        return cls(ensemble, tree, candidate, boosting.out_of_fold(tree, len(ensemble.rounds)), watched)


def _look_at(judge: Judge, ensemble: Ensemble) -> tuple[Ensemble, StageTree, Candidate, Watched]:
    """Look at an ensemble without a gate."""
    tree = ensemble.finish(judge.data.feature_names)
    watched = Watched.begin(judge.held, judge.data.prices, ensemble.intercept)
    for number in range(len(ensemble.rounds)):
        watched.add(ensemble.of_round(number), ensemble.step)
    train = tree.decision_function(judge.rows.X).reshape(len(judge.rows), -1)
    held = Scores(watched.scores.copy(), np.zeros(len(judge.held)))
    candidate = judge.candidate(GatedPair.without_gate(tree), Scores(train, np.zeros(len(train))), held)
    return ensemble, tree, candidate, watched
