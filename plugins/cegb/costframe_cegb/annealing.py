"""Annealing CEGB: lines of small and large trees, at prices paid row by row and at prices paid once by a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.core.threads import thread_count
from costframe.trees.anneal import Annealer, bundles, falling_tradeoffs
from costframe.trees.boosting import Boosted
from costframe.trees.lazy_prices import LazyPrices
from costframe.trees.line import Line
from costframe.trees.monitor import Running
from costframe.trees.path import AnnealedPath
from costframe.trees.prices import OncePrices
from costframe_cegb.cegb import tree_grower
from costframe_cegb.state import bins_of

if TYPE_CHECKING:
    from costframe.core.training import TrainingData
    from costframe.trees.line import LinePrices
    from costframe.trees.losses import Loss
    from costframe_cegb.cegb import CEGBSettings

__all__ = ["anneal_cegb"]

_SMALLER = 4  # the other lines' trees have so many times fewer leaves
_LEAST_LEAVES = 4


def anneal_cegb(
    data: TrainingData,
    loss: Loss,
    settings: CEGBSettings,
    annealer: Annealer,
    limits: tuple[float, float] | None,
) -> AnnealedPath:
    """Anneal from nothing bought to hardly any price, for each size of trees once with each kind of prices.

    Prices paid once by the whole model (`OncePrices`) lead to few features that all rows acquire, and are better at low
    budgets; prices paid row by row to features that only some rows acquire, and are better at high ones. A line that
    knows no prices tells the scales of loss and cost, and is on the path as well.
    """
    mapper = bins_of(data, settings)
    ahead = bundles(data.prices)
    tradeoffs = None
    for leaves in _sizes(settings.max_leaves):
        grow = tree_grower(data, evolve(settings, max_leaves=leaves), mapper)

        def begin(prices: LinePrices) -> Line:
            return Line(
                data.train,
                loss.for_rows(data.train),
                grow,  # noqa: B023 - called at once
                Boosted.constant(data.train, loss, settings.learning_rate),
                prices,
                Running(data.valid, loss, data.prices),  # type: ignore[arg-type] # the estimator has seen to it
                np.random.default_rng(settings.random_state),
                thread_count(settings.n_threads),
            )

        start = begin(_lazy(data))
        plain = annealer.plain(start)
        if tradeoffs is None:
            gained = start.running.loss - plain.running.loss
            full = max(data.costs.full_cost(data.feature_names), plain.running.cost)
            tradeoffs = falling_tradeoffs(gained, full, data.prices, limits)
        annealer.descend(start, tradeoffs, ahead)
        annealer.descend(begin(_once(data)), tradeoffs, [])
    points, branches = tuple(annealer.points), tuple(annealer.branches)
    return AnnealedPath(points, branches, data.costs, data.feature_names, data.categories)


def _sizes(max_leaves: int) -> list[int]:
    """Return the leaves of trees to grow: as many as asked for, and fewer."""
    fewer = max(max_leaves // _SMALLER, min(_LEAST_LEAVES, max_leaves))
    return [fewer] if fewer == max_leaves else [fewer, max_leaves]


def _lazy(data: TrainingData) -> LazyPrices:
    return LazyPrices(data.prices, 0.0, len(data.train), data.train.uneven_weight)


def _once(data: TrainingData) -> OncePrices:
    n, prices = data.train.total_weight, data.prices
    return OncePrices(
        n * prices.cost + prices.once,
        resource_price=n * prices.resource_cost,
        needs=prices.needs,
        split_price=prices.split,
        root_price=n * prices.learner,
        reuse_price=n * prices.reuse,
        row_weight=data.train.uneven_weight,
    )
