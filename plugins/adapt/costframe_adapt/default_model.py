"""The default expensive model: trees boosted without prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.stagewise.banks import dominated_duplicates
from costframe.training.data import split_off
from costframe.trees.boosting.boost import boost_at_prices
from costframe.trees.boosting.grower import bin_rows, tree_grower
from costframe.trees.boosting.losses import loss_for
from costframe.trees.boosting.monitor import Monitor
from costframe.trees.growing.prices import NoPrices
from costframe_adapt.settings import PAID_BY_ROW

if TYPE_CHECKING:
    from costframe.adoption.fitted_model import FittedModel, GivenModel
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import Rows, TrainingData

__all__ = ["boost_without_prices", "fit_default"]

_PLAIN = evolve(PAID_BY_ROW, n_estimators=300, learning_rate=0.1)
_PATIENCE = 30


def fit_default(given: GivenModel, data: TrainingData, n_threads: int) -> FittedModel:
    """Boost trees without prices; held-out rows choose their number."""
    trained, held = split_off(data)
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
    grow = tree_grower(rows, bin_rows(read, trees), trees)
    ensemble, best = boost_at_prices(rows, loss, trees, grow, NoPrices(), monitor=monitor)
    return ensemble.finish(data.feature_names, best), best
