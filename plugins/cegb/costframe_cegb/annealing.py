"""Annealing CEGB: small or large trees, at prices paid row by row and at prices paid once by a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from costframe.trees.annealing.annealed import Start, anneal
from costframe.trees.boosting.grower import bins_of, tree_grower
from costframe.trees.growing.lazy_prices import LazyPrices
from costframe.trees.growing.prices import once_prices

if TYPE_CHECKING:
    from costframe.training.data import TrainingData
    from costframe.trees.annealing.annealed import Annealing
    from costframe.trees.annealing.path import AnnealedPath
    from costframe.trees.boosting.losses import Loss
    from costframe.trees.settings import TreeSettings

__all__ = ["anneal_cegb"]

_SMALLER = 4  # small trees have so many times fewer leaves
_LEAST_LEAVES = 4


def anneal_cegb(data: TrainingData, loss: Loss, settings: TreeSettings, asked: Annealing) -> AnnealedPath:
    """Anneal from nothing bought to hardly any price, once with each kind of prices.

    Prices paid once by the whole model (`OncePrices`) lead to few features that all rows acquire, and are better at low
    budgets; prices paid row by row to features that only some rows acquire, and are better at high ones. Trees are of
    the size that is better where prices do not count.
    """
    rows, starts, most = data.train, [], settings.max_leaves
    binned = bins_of(rows, settings, data.categorical).transform(rows.X, n_threads=settings.n_threads)
    for leaves in [None] if most is None else _sizes(most):
        grow = tree_grower(rows, binned, evolve(settings, max_leaves=leaves))
        lazy = LazyPrices(data.prices, 0.0, len(rows), rows.uneven_weight)
        starts.append(Start(grow, [lazy, once_prices(data.prices, rows)]))
    return anneal(
        data,
        loss,
        starts,
        asked,
        step=settings.learning_rate,
        random_state=settings.random_state,
        n_threads=settings.n_threads,
    )


def _sizes(max_leaves: int) -> list[int]:
    """Return the leaves of trees to grow: as many as asked for, and fewer."""
    fewer = max(max_leaves // _SMALLER, min(_LEAST_LEAVES, max_leaves))
    return [fewer] if fewer == max_leaves else [fewer, max_leaves]
