"""The expensive model behind a gate: the default one, and its outputs on training and held-out rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.core.cost.accounts import Account
from costframe.gates.composite import ExpensiveModel
from costframe.gates.gate_curve import ModelOutputs
from costframe.training.duplicates import dominated_duplicates
from costframe.training.sampling import held_out, split_off
from costframe.trees.boosting.boost import boost_at_prices
from costframe.trees.boosting.grower import bin_rows, tree_grower
from costframe.trees.boosting.losses import loss_for
from costframe.trees.boosting.monitor import Monitor
from costframe.trees.growing.prices import NoPrices
from costframe.trees.settings import TreeSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.adoption.given.fitted_model import FittedModel, GivenModel
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import Rows, TrainingData

__all__ = ["boost_without_prices", "fit_default", "hold_out"]

_PLAIN = TreeSettings(
    n_estimators=300, max_leaves=31, min_samples_leaf=20, min_hessian_leaf=1e-3, l2_regularization=1.0
)
_PATIENCE = 30


def hold_out(
    data: TrainingData, fitted: FittedModel, n_threads: int, *, paper: bool
) -> tuple[TrainingData, Rows, ExpensiveModel]:
    """Hold out rows if there are no validation rows; the paper's recipe then uses the training rows.

    Return the data to train on, the held-out rows, and the expensive model on both.
    """
    tree, proba = fitted.tree, fitted.proba
    rows, held, held_proba = data.train, data.valid, fitted.proba_val
    if held is None or held_proba is None:
        out = None if paper else held_out(data)
        held, held_proba = (rows, proba) if out is None else (rows.take(out), proba[out])
        if out is not None:
            rows, proba = rows.take(~out), proba[~out]

    def on(part: Rows, values: NDArray[np.float64]) -> ModelOutputs:
        return ModelOutputs.of(values, part.y, Account.of(tree, data.costs, part.X, n_threads))

    return evolve(data, train=rows), held, ExpensiveModel(tree, on(rows, proba), on(held, held_proba))


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
    grow = tree_grower(rows, bin_rows(read, trees, data.categorical), trees)
    ensemble, best = boost_at_prices(rows, loss, trees, grow, NoPrices(), monitor=monitor)
    return ensemble.finish(data.feature_names, best), best
