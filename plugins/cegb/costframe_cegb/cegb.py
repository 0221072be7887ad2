"""The algorithm: second-order boosting, best-first, with every price in the gain of every split."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from costframe.trees.boosting.boost import boost_at_prices
from costframe.trees.boosting.grower import tree_grower

if TYPE_CHECKING:
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import TrainingData
    from costframe.trees.boosting.boost import Ensemble
    from costframe.trees.boosting.losses import Loss
    from costframe.trees.boosting.monitor import Watcher
    from costframe.trees.settings import TreeSettings
    from costframe_cegb.state import State

__all__ = ["Trained", "train_cegb"]


@frozen
class Trained:
    """A trained model, and what training knows of it.

    Attributes
    ----------
    predictor : StageTree
    ensemble : Ensemble
        All rounds grown.
    n_rounds : int
        Rounds kept.
    believed_cost, believed_fixed : float
        Cost of the training rows as training believes it: mean per row, and once for the batch; of all rounds grown.
    n_grown : int
        Rounds grown.
    """

    predictor: StageTree
    ensemble: Ensemble
    n_rounds: int
    believed_cost: float
    believed_fixed: float
    n_grown: int


def train_cegb(
    data: TrainingData, loss: Loss, settings: TreeSettings, tradeoff: float, monitor: Watcher | None, state: State
) -> Trained:
    """Train by second-order boosting.

    Splitting leaf p on feature f is worth

        1/2 [ G_l^2/(H_l+reg) + G_r^2/(H_r+reg) - G_p^2/(H_p+reg) ] - price of (p, f)

    at `LazyPrices`, and a leaf's value is -G/(H+reg). The open leaf whose best split is worth most is split next, as
    long as one is worth anything. Goes on from `state`, which is changed.
    """
    rows, prices = data.train, state.prices
    prices.tradeoff = tradeoff
    binned = state.mapper.transform(rows.X, n_threads=settings.n_threads)
    ensemble, best = boost_at_prices(
        rows,
        loss,
        settings,
        tree_grower(rows, binned, settings),
        prices,
        random=state.random,
        boosted=state.boosted,
        monitor=monitor,
        title="CEGB",
    )
    predictor = ensemble.finish(data.feature_names, best)
    return Trained(predictor, ensemble, best, prices.spent / rows.total_weight, prices.fixed, len(ensemble.rounds))
