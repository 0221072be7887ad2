"""The cheap model fitted alone, and then a gate to where it fails, as told by rows that it has not seen.

In ADAPT-GBRT shares and models are fitted in turns, and a strong cheap model is sure of the rows that it was grown on:
their losses say little of new ones. Here it is grown for all rows, copies of it out of fold tell how it does on rows
that it does not know, and only the gate alternates with the shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.core.bank import WeakLearnerBank
from costframe.core.tree_table import TreeTable
from costframe.trees.boosting import Boosted, boost
from costframe.trees.monitor import Monitor
from costframe_adapt.accounts import Account
from costframe_adapt.boosted import EARLY, Boosting, boost_alone, checkpoints
from costframe_adapt.candidate import Candidate, Scores
from costframe_adapt.growing import Growing, Watched
from costframe_adapt.out_of_fold import folds
from costframe_adapt.tree_prices import Payers, price_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.boosting import Ensemble

__all__ = ["cheap_first"]

_FOLDS, _ROUNDS = 3, 3


def cheap_first(task: Boosting) -> tuple[Candidate, NDArray[np.float64]]:
    """Return the best of the cheap model alone and with gates, and its shares."""
    rows, seen, tradeoff = task.rows, task.prepared.seen, task.settings.tradeoff
    monitor = Monitor(seen, task.loss, task.prepared.data.prices, tradeoff, EARLY, None)
    ensemble, n_rounds = boost_alone(task.prepared.binning, task.settings, task.trees, monitor)
    best = task.alone(ensemble, n_rounds)
    task.noted(best)
    unseen = _out_of_fold(task, n_rounds)
    believed = evolve(best, train=Scores(unseen, np.zeros(len(rows))))
    q = kept = task.shares(believed)
    for _ in range(_ROUNDS):
        candidate = _with_gate(task, ensemble, n_rounds, unseen, q)
        if candidate.placed.total(tradeoff) < best.placed.total(tradeoff):
            best, kept = candidate, q
        q = task.shares(candidate)
    return best, kept


def _with_gate(
    task: Boosting, ensemble: Ensemble, n_rounds: int, unseen: NDArray[np.float64], q: NDArray[np.float64]
) -> Candidate:
    data, binning = task.prepared.data, task.prepared.binning
    table = task.table(q)
    trees = TreeTable.concatenate(ensemble.tables[: ensemble.rounds[n_rounds - 1] if n_rounds else 0])
    table.assume(WeakLearnerBank.from_trees(trees, data.feature_names), task.rows.X)
    growing = Growing.begin(
        (task.rows, task.prepared.seen), q, task.loss, binning.grower(task.trees), table, data.prices,
        task.trees.learning_rate, binning.n_threads,
    )  # fmt: skip
    growing.frozen = True
    growing.cheap = Boosted(_prefix(ensemble, n_rounds), unseen.copy(order="F"))
    growing.cheap_seen = Watched.begin(task.prepared.seen, data.prices, ensemble.intercept)
    for number in range(n_rounds):
        growing.cheap_seen.add(ensemble.of_round(number), ensemble.step)
    return task.looked_at(growing)


def _prefix(ensemble: Ensemble, n_rounds: int) -> Ensemble:
    count = ensemble.rounds[n_rounds - 1] if n_rounds else 0
    return evolve(
        ensemble, tables=ensemble.tables[:count], outputs=ensemble.outputs[:count], rounds=ensemble.rounds[:n_rounds]
    )


def _out_of_fold(task: Boosting, n_rounds: int) -> NDArray[np.float64]:
    """Return the scores, (n, K), of models like the cheap one of rows that they were not grown on."""
    rows, data, binning = task.rows, task.prepared.data, task.prepared.binning
    fold, found = folds(rows, data, _FOLDS), None
    for number in range(_FOLDS):
        inside = np.flatnonzero(fold != number)
        weight = np.where(fold != number, rows.weight, 0.0)
        payers = Payers(weight, np.ones(len(rows)), np.zeros(rows.X.shape, np.bool_))
        prices = price_table(task.trees.kind, data.prices, payers, task.settings.tradeoff, rows.uneven_weight).cheap
        grow = binning.grower(task.trees, inside)
        boosted = Boosted.constant(rows, task.loss, task.trees.learning_rate)
        boost(
            rows, task.loss, lambda g, h, grow=grow, prices=prices: grow(g, h, prices), n_rounds=n_rounds,
            step=task.trees.learning_rate, boosted=boosted, n_threads=binning.n_threads,
        )  # fmt: skip
        found = np.empty_like(boosted.scores) if found is None else found
        found[fold == number] = boosted.scores[fold == number]
    return found
