"""The expensive model where none is given: boosted trees without prices."""

from __future__ import annotations

import numpy as np
from attrs import evolve

from costframe.adoption.given.model import FittedModel, GivenModel
from costframe.core.predictors.stage_tree import StageTree
from costframe.training.data import Rows, TrainingData
from costframe.training.dominated import dominated_duplicates
from costframe.training.losses import loss_for
from costframe.training.sampling import Sampling
from costframe.trees.bin_mapper import BinnedData
from costframe.trees.boosting_run import boost_at_prices
from costframe.trees.growing import tree_grower
from costframe.trees.monitor import Monitor
from costframe.trees.prices import NoPrices
from costframe.trees.settings import TreeSettings

_PLAIN = TreeSettings(
    n_estimators=300, max_leaves=31, min_samples_leaf=20, min_hessian_leaf=1e-3, l2_regularization=1.0
)
_PATIENCE = 30


def fit_default(given: GivenModel, data: TrainingData, n_threads: int) -> FittedModel:
    """Boost trees without prices; held-out rows choose their number."""
    trained, held = Sampling(data).split_off()
    _, n_rounds = boost_without_prices(trained.train, data, n_threads, None if held is data.train else held)

    def fit(rows: Rows) -> tuple[StageTree, StageTree]:
        tree, _ = boost_without_prices(rows, data, n_threads, n_rounds=max(1, n_rounds))
        return tree, tree

    return given.fit_anew(data, fit)


def boost_without_prices(
    rows: Rows, data: TrainingData, n_threads: int, held: Rows | None = None, n_rounds: int = _PLAIN.n_estimators
) -> tuple[StageTree, int]:
    """Boost trees of 31 leaves without prices; they do not read copies of columns at higher prices.

    Return also the number of rounds: with held-out rows, that of the least loss on them.
    """
    loss, trees = loss_for(data.n_classes), evolve(_PLAIN, n_estimators=n_rounds, n_threads=n_threads)
    # No tree splits on a column without values.
    read = evolve(rows, X=np.where(dominated_duplicates(rows.X, data.prices), np.nan, rows.X))
    monitor = None if held is None else Monitor(held, loss, data.prices, 0.0, _PATIENCE, "loss")
    grow = tree_grower(rows, BinnedData.of(read, trees, data.categorical), trees)
    ensemble, best = boost_at_prices(rows, loss, trees, grow, NoPrices(), monitor=monitor)
    return ensemble.finish(data.feature_names, best), best
