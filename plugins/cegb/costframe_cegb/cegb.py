"""The algorithm: second-order best-first boosting, with all prices in the gains of splits."""

from __future__ import annotations

from attrs import evolve

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
from costframe_cegb.state import State, unpaid_prices

__all__ = ["anneal_cegb", "train_cegb"]

_SMALLER = 4  # quotient of the leaves of large and small trees
_LEAST_LEAVES = 4


def train_cegb(
    data: TrainingData, loss: Loss, settings: TreeSettings, tradeoff: float, monitor: Monitor | None, state: State
) -> tuple[StageTree, int]:
    """Train by second-order boosting.

    Splitting leaf p on feature f is worth

        1/2 [ G_l^2/(H_l+reg) + G_r^2/(H_r+reg) - G_p^2/(H_p+reg) ] - price of (p, f)

    with `LazyPrices`, and a leaf's value is -G/(H+reg). The open leaf with the best split is split next, while a split
    has worth. It continues from `state`, and changes it.

    Returns
    -------
    StageTree, int
        The model, and its number of rounds.
    """
    rows, prices = data.train, state.prices
    prices.tradeoff = tradeoff
    grow = tree_grower(rows, BinnedData.of(rows, settings, data.categorical), settings)
    run = BoostingRun.begin(rows, loss, settings, state.boosted)
    for _ in run.rounds(settings, until=monitor, title="CEGB"):
        gradients, hessians = run.derivatives()
        run.add(grow(gradients[:, k], hessians[:, k], prices, state.random) for k in run.outputs)
    best = run.best_round(monitor)
    return run.ensemble.finish(data.feature_names, best), best


def anneal_cegb(data: TrainingData, loss: Loss, settings: TreeSettings, asked: Annealing) -> AnnealedPath:
    """Anneal from prices at which nothing is bought to almost none, once with each kind of prices.

    Prices paid once by the whole model (`OncePrices`) lead to few features for all rows, and are better at low budgets.
    Prices paid row by row lead to features for some rows, and are better at high budgets. The size of trees is the
    better one without prices.
    """
    rows, starts, most = data.train, [], settings.max_leaves
    binned = BinnedData.of(rows, settings, data.categorical)
    for leaves in [None] if most is None else _sizes(most):
        grow = tree_grower(rows, binned, evolve(settings, max_leaves=leaves))
        starts.append(Start(grow, [unpaid_prices(data), OncePrices.of(data.prices, rows)]))
    return anneal(
        data,
        loss,
        starts,
        asked,
        step=settings.learning_rate,
        random_state=settings.random_state if settings.draws else None,
        n_threads=settings.n_threads,
    )


def _sizes(max_leaves: int) -> list[int]:
    """Return the sizes of trees to try: the given number of leaves, and fewer."""
    fewer = max(max_leaves // _SMALLER, min(_LEAST_LEAVES, max_leaves))
    return [fewer] if fewer == max_leaves else [fewer, max_leaves]
