"""The algorithm: stage-wise regression in which the first tree to use a feature pays for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from costframe import StageTree
from costframe.plugin import Loss, TrainingData
from costframe.trees import (
    AnnealedPath,
    Annealing,
    BinnedData,
    BoostingRun,
    Monitor,
    OncePrices,
    Start,
    TreeSettings,
    anneal,
    tree_grower,
)


def train_miser(
    data: TrainingData, loss: Loss, settings: TreeSettings, prices: OncePrices, monitor: Monitor | None
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
    grow, random = _grower(data, settings), np.random.default_rng(settings.random_state)
    run = BoostingRun.begin(data.train, loss, settings)
    for _ in run.rounds(settings, until=monitor, title="Greedy Miser"):
        gradients, hessians = run.derivatives()
        run.add(grow(gradients[:, k], hessians[:, k], prices, random) for k in run.outputs)
    best = run.best_round(monitor)
    return run.ensemble.finish(data.feature_names, best), best


def anneal_miser(
    data: TrainingData, loss: Loss, settings: TreeSettings, prices: OncePrices, asked: Annealing
) -> AnnealedPath:
    """Anneal from prices at which nothing is bought to almost none, with an ensemble without prices on the path too."""
    start = Start(_grower(data, settings), [prices])
    return anneal(data, loss, [start], asked, step=settings.learning_rate, n_threads=settings.n_threads)


def _grower(data: TrainingData, settings: TreeSettings) -> Callable[..., Any]:
    return tree_grower(data.train, BinnedData.of(data.train, settings, data.categorical), settings)
