"""Annealing CEGB: lines of small or large trees, at prices paid row by row and at prices paid once by a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from costframe.core.threads import thread_count
from costframe.trees.annealing.annealed import Start, anneal
from costframe.trees.growing.lazy_prices import LazyPrices
from costframe.trees.growing.prices import once_prices
from costframe_cegb.cegb import tree_grower
from costframe_cegb.state import bins_of

if TYPE_CHECKING:
    from costframe.training.data import TrainingData
    from costframe.trees.annealing.annealed import Annealing
    from costframe.trees.annealing.path import AnnealedPath
    from costframe.trees.boosting.losses import Loss
    from costframe_cegb.cegb import CEGBSettings

__all__ = ["anneal_cegb"]

_SMALLER = 4  # small trees have so many times fewer leaves
_LEAST_LEAVES = 4


def anneal_cegb(data: TrainingData, loss: Loss, settings: CEGBSettings, asked: Annealing) -> AnnealedPath:
    """Anneal from nothing bought to hardly any price, once with each kind of prices.

    Prices paid once by the whole model (`OncePrices`) lead to few features that all rows acquire, and are better at low
    budgets; prices paid row by row to features that only some rows acquire, and are better at high ones. Trees are of
    the size that is better where prices do not count.
    """
    n_threads, starts = thread_count(settings.n_threads), []
    binned = bins_of(data, settings).transform(data.train.X, n_threads=n_threads)
    for leaves in _sizes(settings.max_leaves):
        grow = tree_grower(data, evolve(settings, max_leaves=leaves), binned)
        starts.append(Start(grow, [_lazy(data), once_prices(data.prices, data.train)]))
    return anneal(
        data,
        loss,
        starts,
        asked,
        step=settings.learning_rate,
        random_state=settings.random_state,
        n_threads=n_threads,
    )


def _sizes(max_leaves: int) -> list[int]:
    """Return the leaves of trees to grow: as many as asked for, and fewer."""
    fewer = max(max_leaves // _SMALLER, min(_LEAST_LEAVES, max_leaves))
    return [fewer] if fewer == max_leaves else [fewer, max_leaves]


def _lazy(data: TrainingData) -> LazyPrices:
    return LazyPrices(data.prices, 0.0, len(data.train), data.train.uneven_weight)
