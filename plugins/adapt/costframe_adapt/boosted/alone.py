"""The cheap model that stands alone, and how models like it do on rows that they were not grown on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from attrs import evolve, frozen

from costframe.core.stages.stages import Answer
from costframe.sets.dealing import deal
from costframe.trees.boosting.boost import Boosted, boost
from costframe.trees.boosting.losses import loss_for
from costframe.trees.boosting.monitor import Monitor
from costframe_adapt.boosted.growing import Watched
from costframe_adapt.boosted.tree_prices import Payers, price_table
from costframe_adapt.candidate import Scores
from costframe_adapt.front import Front

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import Rows, TrainingData
    from costframe.trees.boosting.boost import Ensemble
    from costframe_adapt.boosted.binning import Binning
    from costframe_adapt.candidate import Candidate
    from costframe_adapt.judge import Judge
    from costframe_adapt.settings import TreeSettings

__all__ = ["Alone", "train_cheap", "without_gate"]

_EARLY = 30  # rounds without a better one
_FOLDS = 3


@frozen(eq=False)
class Alone:
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
        What it says of the rows held out, and costs them.
    """

    ensemble: Ensemble
    tree: StageTree
    candidate: Candidate
    unseen: NDArray[np.float64]
    watched: Watched

    @classmethod
    def best(cls, judge: Judge, trees: TreeSettings, given: Ensemble | None = None) -> Self:
        """Boost one with early stopping by the rows held out, or take one that is given if it is better there."""
        prepared, tradeoff = judge.prepared, judge.settings.tradeoff
        monitor = Monitor(judge.seen, loss_for(judge.data.n_classes), judge.data.prices, tradeoff, _EARLY, None)
        ensemble, n_rounds = _boosted(prepared.binning, trees, tradeoff, monitor)
        found = [_seen(judge, ensemble.prefix(n_rounds))]
        if given is not None:
            found.append(_seen(judge, given))
        ensemble, tree, candidate, watched = min(found, key=lambda one: judge.total(one[2]))
        return cls(ensemble, tree, candidate, _out_of_fold(judge, trees, tree, len(ensemble.rounds)), watched)


def _seen(judge: Judge, ensemble: Ensemble) -> tuple[Ensemble, StageTree, Candidate, Watched]:
    """Look at an ensemble without a gate."""
    tree = ensemble.finish(judge.data.feature_names)
    watched = Watched.begin(judge.seen, judge.data.prices, ensemble.intercept)
    for number in range(len(ensemble.rounds)):
        watched.add(ensemble.of_round(number), ensemble.step)
    train = tree.decision_function(judge.rows.X).reshape(len(judge.rows), -1)
    seen = Scores(watched.scores.copy(), np.zeros(len(judge.seen)))
    candidate = judge.candidate(without_gate(tree), Scores(train, np.zeros(len(train))), seen)
    return ensemble, tree, candidate, watched


def train_cheap(data: TrainingData, binning: Binning, trees: TreeSettings, tradeoff: float) -> StageTree:
    """Train the cheap model as where no row may go on: on all training rows, stopped early by validation rows."""
    monitor = None
    if data.valid is not None:
        monitor = Monitor(data.valid, loss_for(data.n_classes), data.prices, tradeoff, _EARLY, None)
    ensemble, n_rounds = _boosted(binning, trees, tradeoff, monitor)
    return ensemble.finish(data.feature_names, n_rounds)


def _boosted(
    binning: Binning,
    trees: TreeSettings,
    tradeoff: float,
    monitor: Monitor | None,
    inside: NDArray[np.bool_] | None = None,
    read: NDArray[np.bool_] | None = None,
    boosted: Boosted | None = None,
) -> tuple[Ensemble, int]:
    """Boost with q = 0 on all rows or on those inside, bool (n,); Miser's trees make it Greedy Miser.

    Where it is said which features may be read, bool (d,), prices paid once by the model are taken as paid for them.
    """
    data, rows = binning.data, binning.data.train
    weight = rows.weight if inside is None else rows.weight * inside
    payers = Payers(weight, np.ones(len(rows)), np.zeros(rows.X.shape, np.bool_))
    prices = price_table(trees.kind, data.prices, payers, tradeoff, rows.uneven_weight).cheap
    if read is not None and trees.kind != "cegb":
        prices.mark_paid(read, np.asarray(data.prices.needs[read].any(axis=0)))
    grow = binning.grower(trees, None if inside is None else np.flatnonzero(inside), read)
    return boost(
        rows,
        loss_for(data.n_classes),
        lambda gradients, hessians: grow(gradients, hessians, prices),
        n_rounds=trees.n_estimators,
        step=trees.learning_rate,
        monitor=monitor,
        boosted=boosted,
        n_threads=binning.n_threads,
    )


def _out_of_fold(judge: Judge, trees: TreeSettings, tree: StageTree, n_rounds: int) -> NDArray[np.float64]:
    """Return the scores, (n, K), of models like the cheap one of rows that they were not grown on."""
    read = np.diff(tree.bank.F.indptr) > 0
    rows, loss = judge.rows, loss_for(judge.data.n_classes)
    fold, found = deal(rows, judge.data, _FOLDS)[1], np.zeros((len(rows), loss.n_outputs))
    for number in range(_FOLDS):
        inside = fold != number
        boosted = Boosted.constant(_weighing(rows, inside), loss, trees.learning_rate)
        if n_rounds and inside.any():
            few = evolve(trees, n_estimators=n_rounds)
            _boosted(judge.prepared.binning, few, judge.settings.tradeoff, None, inside, read, boosted)
        found[~inside] = boosted.scores[~inside]
    return found


def _weighing(rows: Rows, inside: NDArray[np.bool_]) -> Rows:
    """Let the rows outside weigh next to nothing."""
    return evolve(rows, weight=rows.weight * np.where(inside, 1.0, 1e-12))


def without_gate(tree: StageTree) -> Front:
    """Return a model of one answer as a cheap model, with a gate that tells no rows apart."""
    answer = tree.stages[0]
    assert isinstance(answer, Answer)  # noqa: S101 - boosting makes one answer
    return Front(tree.bank, answer.weights, answer.intercept, np.zeros(len(tree.bank)), 0.0)
