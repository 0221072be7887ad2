"""Cheap models for a whole grid from one annealed fit, which looks ahead for resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from costframe.trees.annealing.anneal import Annealer
from costframe.trees.annealing.annealed import Annealing, Start, anneal
from costframe.trees.boosting.losses import loss_for
from costframe.trees.growing.lazy_prices import LazyPrices
from costframe.trees.growing.prices import once_prices
from costframe_adapt.boosted.growers import tree_grower

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from costframe.trees.annealing.path import AnnealedPath
    from costframe.trees.boosting.monitor import Predicted
    from costframe.trees.growing.grow import GrownTree
    from costframe.trees.growing.prices import SplitPrices
    from costframe_adapt.prepared import Prepared
    from costframe_adapt.settings import TreeSettings

__all__ = ["anneal_cheap"]


def anneal_cheap(prepared: Prepared, trees: TreeSettings, score: Callable[[Predicted], float] | None) -> AnnealedPath:
    """Anneal trees of one kind from nothing bought to hardly any price, measured on the held-out rows."""
    data, rows, n_threads = prepared.data, prepared.data.train, prepared.n_threads
    grow = tree_grower(prepared.binned, rows, trees, n_threads)

    def grow_at(
        gradients: NDArray[np.floating],
        hessians: NDArray[np.floating],
        prices: SplitPrices,
        _random: np.random.Generator,
    ) -> GrownTree:
        return grow(gradients, hessians, prices)

    prices: SplitPrices = once_prices(data.prices, rows)
    if trees.kind == "cegb":
        prices = LazyPrices(data.prices, 1.0, len(rows), rows.uneven_weight)
    return anneal(
        evolve(data, valid=prepared.held),
        loss_for(data.n_classes),
        [Start(grow_at, [prices])],
        Annealing(Annealer(trees.n_estimators, score)),
        step=trees.learning_rate,
        n_threads=n_threads,
    )
