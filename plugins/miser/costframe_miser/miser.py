"""The algorithm: stage-wise regression whose trees pay for what they are the first to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.threads import thread_count
from costframe.trees.annealing.annealed import Start, anneal
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.boosting.boost import boost
from costframe.trees.growing.grow import grow_tree
from costframe.trees.growing.prices import once_prices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import TrainingData
    from costframe.trees.annealing.annealed import Annealing
    from costframe.trees.annealing.line import GrowAt, LinePrices
    from costframe.trees.annealing.path import AnnealedPath
    from costframe.trees.boosting.losses import Loss
    from costframe.trees.boosting.monitor import Monitor
    from costframe.trees.growing.grow import GrownTree
    from costframe.trees.growing.prices import OncePrices

__all__ = ["MiserSettings", "anneal_miser", "train_miser", "tree_grower"]


@frozen
class MiserSettings:
    """Numbers of the algorithm; see `MiserClassifier`."""

    tradeoff: float
    n_estimators: int
    learning_rate: float
    max_depth: int
    max_leaves: int | None
    min_samples_leaf: int
    l2_regularization: float
    max_bins: int
    shrink_recurring: bool
    n_threads: int | None
    verbose: int


def train_miser(
    data: TrainingData, loss: Loss, settings: MiserSettings, monitor: Monitor | None
) -> tuple[StageTree, int]:
    """Train by stage-wise regression.

    Each new tree h, for the residuals r = -dl/dH of the current model H, minimizes

        1/2 sum_i w_i (r_i - h(x_i))^2 + lambda n [ sum_f phi_f c_f F_f(h) + sum_r psi_r C_r R_r(h) ]

    greedily, breadth-first; then H += eta h. phi_f (psi_r) is one until a tree buys the feature (resource), then zero
    for good, also for the nodes grown later in the same tree. Several classes share phi and psi; a round's trees are
    grown in class order from one set of gradients.

    Returns
    -------
    StageTree, int
        The model, and its number of rounds.
    """
    n_threads, prices = thread_count(settings.n_threads), _prices(data, settings)
    grow_at, random = tree_grower(data, settings), np.random.default_rng()  # nothing is drawn

    def grow(gradients: NDArray[np.floating], hessians: NDArray[np.floating]) -> GrownTree:
        return grow_at(gradients, hessians, prices, random)

    ensemble, best = boost(
        data.train,
        loss,
        grow,
        n_rounds=settings.n_estimators,
        step=settings.learning_rate,
        monitor=monitor,
        n_threads=n_threads,
        verbose=settings.verbose,
        title="Greedy Miser",
    )
    return ensemble.finish(data.feature_names, best), best


def anneal_miser(data: TrainingData, loss: Loss, settings: MiserSettings, asked: Annealing) -> AnnealedPath:
    """Anneal from nothing bought to hardly any price.

    A line that knows no prices tells the scales of loss and cost, and is on the path as well.
    """
    start = Start(tree_grower(data, settings), [_prices(data, settings)])
    n_threads = thread_count(settings.n_threads)
    return anneal(data, loss, [start], asked, step=settings.learning_rate, n_threads=n_threads)


def tree_grower(data: TrainingData, settings: MiserSettings) -> GrowAt:
    """Return what grows one tree on the training rows, at prices that keep account of what is paid."""
    n_threads = thread_count(settings.n_threads)
    mapper = BinMapper.fit(
        data.train.X,
        max_bins=settings.max_bins,
        sample_weight=data.train.weight,
        categorical=data.categorical,
        n_threads=n_threads,
    )
    binned = mapper.transform(data.train.X, n_threads=n_threads)
    weight = data.train.uneven_weight  # the hessians of the squared loss of the residuals

    def grow(
        gradients: NDArray[np.floating],
        _hessians: NDArray[np.floating],
        prices: LinePrices,
        _random: np.random.Generator,
    ) -> GrownTree:
        return grow_tree(
            binned,
            gradients,
            weight,
            prices=prices,
            growth="breadth",
            max_depth=settings.max_depth,
            max_leaves=settings.max_leaves,
            min_hessian_leaf=settings.min_samples_leaf,  # hessians are weights: a row of weight two is two rows
            l2=settings.l2_regularization,
            n_threads=n_threads,
        )

    return grow


def _prices(data: TrainingData, settings: MiserSettings) -> OncePrices:
    """With `shrink_recurring`, what recurs is divided by eta (2 - eta), the share of a gain that a step takes."""
    share = settings.learning_rate * (2 - settings.learning_rate) if settings.shrink_recurring else 1.0
    return once_prices(data.prices, data.train, tradeoff=settings.tradeoff, share=share)
