"""The expensive model where none is given: trees boosted without prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costframe.stagewise.banks import dominated_duplicates
from costframe.training.data import split_off
from costframe.trees.boosting.boost import boost
from costframe.trees.boosting.losses import loss_for
from costframe.trees.boosting.monitor import Monitor
from costframe.trees.growing.prices import NoPrices
from costframe_adapt.boosted.growers import tree_grower
from costframe_adapt.prepared import bin_rows
from costframe_adapt.settings import TreeSettings

if TYPE_CHECKING:
    from costframe.adoption.fitted_model import FittedModel, GivenModel
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import Rows, TrainingData

__all__ = ["boost_plainly", "fit_default"]

TREES = TreeSettings("cegb", 300, 0.1, None, 31, 20, 1.0)
_PATIENCE = 30


def fit_default(given: GivenModel, data: TrainingData, n_threads: int) -> FittedModel:
    """Boost trees without prices; held-out rows choose how many."""
    trained, held = split_off(data)
    _, n_rounds = boost_plainly(trained.train, data, n_threads, None if held is data.train else held)

    def fit(rows: Rows) -> tuple[StageTree, StageTree]:
        tree, _ = boost_plainly(rows, data, n_threads, n_rounds=max(1, n_rounds))
        return tree, tree

    return given.fit_anew(data, fit)


def boost_plainly(
    rows: Rows, data: TrainingData, n_threads: int, held: Rows | None = None, n_rounds: int = TREES.n_estimators
) -> tuple[StageTree, int]:
    """Boost trees of 31 leaves as if all were free; a copy of a column at a higher price is not read.

    Returns
    -------
    StageTree, int
        The model, and its rounds: those with the least loss on held-out rows, if there are any.
    """
    loss, prices = loss_for(data.n_classes), NoPrices()
    read = ~dominated_duplicates(rows.X, data.prices)
    grow = tree_grower(bin_rows(rows, n_threads), rows, TREES, n_threads, features=read)
    monitor = None if held is None else Monitor(held, loss, data.prices, 0.0, _PATIENCE, "loss")
    ensemble, best = boost(
        rows,
        loss,
        lambda gradients, hessians: grow(gradients, hessians, prices),
        n_rounds=n_rounds,
        step=TREES.learning_rate,
        monitor=monitor,
        n_threads=n_threads,
    )
    return ensemble.finish(data.feature_names, best), best
