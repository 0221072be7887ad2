"""The algorithm: second-order boosting, best-first, with every price in the gain of every split."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.threads import thread_count
from costframe.trees.boosting.boost import boost
from costframe.trees.growing.draws import draw_columns, draw_rows
from costframe.trees.growing.grow import grow_tree

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import TrainingData
    from costframe.trees.annealing.line import GrowAt, LinePrices
    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.boosting.boost import Ensemble
    from costframe.trees.boosting.losses import Loss
    from costframe.trees.boosting.monitor import Watcher
    from costframe.trees.growing.grow import GrownTree
    from costframe_cegb.state import State

__all__ = ["CEGBSettings", "Trained", "train_cegb", "tree_grower"]


@frozen
class CEGBSettings:
    """Numbers of the algorithm; see `CEGBClassifier`."""

    tradeoff: float
    n_estimators: int
    learning_rate: float
    max_leaves: int
    max_depth: int | None
    growth: Literal["best", "breadth"]
    min_samples_leaf: int
    min_hessian_leaf: float
    l2_regularization: float
    max_bins: int
    subsample: float
    column_share: float
    monotone_constraints: tuple[int, ...] | None
    random_state: int
    n_threads: int | None
    verbose: int


@frozen
class Trained:
    """What training returns.

    Attributes
    ----------
    predictor : StageTree
    ensemble : Ensemble
        All rounds grown.
    n_rounds : int
        Rounds kept.
    believed_cost, believed_fixed : float
        What training believes the training rows pay: mean per row, and once for the batch; of all rounds grown.
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
    data: TrainingData,
    loss: Loss,
    settings: CEGBSettings,
    monitor: Watcher | None,
    state: State,
) -> Trained:
    """Train by second-order boosting.

    Splitting leaf p on feature f is worth

        1/2 [ G_l^2/(H_l+reg) + G_r^2/(H_r+reg) - G_p^2/(H_p+reg) ] - price of (p, f)

    at `LazyPrices`, and a leaf's value is -G/(H+reg). The open leaf whose best split is worth most is split next, as
    long as one is worth anything. Goes on from `state`, which is changed.
    """
    rows, prices, random = data.train, state.prices, state.random
    prices.tradeoff = settings.tradeoff
    binned = state.mapper.transform(rows.X, n_threads=thread_count(settings.n_threads))
    grow_at = tree_grower(data, settings, binned)

    def grow(gradients: NDArray[np.floating], hessians: NDArray[np.floating]) -> GrownTree:
        return grow_at(gradients, hessians, prices, random)

    ensemble, best = boost(
        rows,
        loss,
        grow,
        n_rounds=settings.n_estimators,
        step=settings.learning_rate,
        monitor=monitor,
        boosted=state.boosted,
        end_when_idle=settings.subsample == 1 and settings.column_share == 1,
        n_threads=thread_count(settings.n_threads),
        verbose=settings.verbose,
        title="CEGB",
    )
    predictor = ensemble.finish(data.feature_names, best)
    return Trained(predictor, ensemble, best, prices.spent / rows.total_weight, prices.fixed, len(ensemble.rounds))


def tree_grower(data: TrainingData, settings: CEGBSettings, binned: BinnedData) -> GrowAt:
    """Return what grows one tree on the training rows, at prices that keep account of what is paid."""
    n_threads, rows = thread_count(settings.n_threads), data.train
    counts = rows.counts
    signs = None if settings.monotone_constraints is None else np.array(settings.monotone_constraints, np.int8)

    def grow(
        gradients: NDArray[np.floating],
        hessians: NDArray[np.floating],
        prices: LinePrices,
        random: np.random.Generator,
    ) -> GrownTree:
        drawn, left_out = draw_rows(random, len(rows), settings.subsample)
        tree = grow_tree(
            binned,
            gradients,
            None if counts is None and hessians[0] == 1 and (hessians == 1).all() else hessians,  # counts are quicker
            counts=counts,
            rows=drawn,
            features=draw_columns(random, rows.X.shape[1], settings.column_share),
            prices=prices,
            signs=signs,
            growth=settings.growth,
            max_depth=settings.max_depth,
            max_leaves=settings.max_leaves,
            min_samples_leaf=settings.min_samples_leaf,
            min_hessian_leaf=settings.min_hessian_leaf,
            l2=settings.l2_regularization,
            n_threads=n_threads,
        )
        if left_out is not None:
            prices.passed(tree, left_out)
        return tree

    return grow
