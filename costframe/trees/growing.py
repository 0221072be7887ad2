"""Bins of training rows, and the function that grows a tree on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import B1
from costframe.core.tables.row_draws import draw
from costframe.training.data import Rows
from costframe.training.sampling import row_keys
from costframe.trees.bin_mapper import BinMapper, BinnedData
from costframe.trees.grow import grow_tree
from costframe.trees.prices import SplitPrices
from costframe.trees.room import GrownTree
from costframe.trees.settings import TreeSettings

GrowAt = Callable[[NDArray[np.floating], NDArray[np.floating], SplitPrices, Any], GrownTree]


def bin_rows(rows: Rows, settings: TreeSettings, categorical: B1 | None = None) -> BinnedData:
    """Put training rows into bins; columns in `categorical`, bool (d,), have one bin for each category."""
    mapper = BinMapper.fit(
        rows.X,
        max_bins=settings.max_bins,
        sample_weight=rows.weight,
        categorical=categorical,
        n_threads=settings.n_threads,
        workers=rows.workers,
    )
    return mapper.transform(rows.X, n_threads=settings.n_threads)


def tree_grower(rows: Rows, binned: BinnedData, settings: TreeSettings) -> GrowAt:
    """Return a function that grows a tree on training rows from (weighted gradients, weighted hessians, prices, draws).

    Rows that are not drawn also pass through the tree, and pay. Draws depend on the values of rows and on nothing else
    that may differ between workers; copies of a row are drawn one by one.
    """
    weight, signs, workers = rows.uneven_weight, settings.signs, rows.workers
    counts = rows.counts if settings.newton else None
    keys = row_keys(rows, settings.n_threads) if settings.subsample < 1 else np.empty(0, np.uint64)

    def all_one(hessians: NDArray[np.floating]) -> bool:
        if workers.count == 1 and hessians[0] != 1:
            return False  # the usual case, at once
        return not workers.any((hessians != 1).any())

    def grow(
        gradients: NDArray[np.floating],
        hessians: NDArray[np.floating],
        prices: SplitPrices,
        random: Any,  # a Generator, or None if nothing is drawn
    ) -> GrownTree:
        drawn = left_out = columns = None
        if settings.subsample < 1:
            chosen = draw(keys, settings.subsample, int(random.integers(2**63)))
            drawn, left_out = (np.flatnonzero(side).astype(np.int32) for side in (chosen, ~chosen))
        if settings.max_features < 1:
            n_features = rows.X.shape[1]
            columns = np.zeros(n_features, np.bool_)
            columns[random.permutation(n_features)[: max(1, round(settings.max_features * n_features))]] = True
        h: NDArray[np.floating] | None = hessians
        if not settings.newton:
            h = weight  # the hessians of the squared distance to the negative gradients
        elif counts is None and all_one(hessians):
            h = None  # sums of counts without hessians are quicker
        tree = grow_tree(
            binned,
            gradients,
            h,
            counts=counts,
            rows=drawn,
            features=columns,
            prices=prices,
            signs=signs,
            growth=settings.growth,
            max_depth=settings.max_depth,
            max_leaves=settings.max_leaves,
            min_samples_leaf=settings.min_samples_leaf if settings.newton else 1,
            min_hessian_leaf=settings.min_hessian_leaf if settings.newton else settings.min_samples_leaf,
            l2=settings.l2_regularization,
            n_threads=settings.n_threads,
        )
        if left_out is not None:
            prices.charge_rows(tree, left_out)
        return tree

    return grow
