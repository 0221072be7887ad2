"""What grows the trees of an ensemble, by its settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.growing.grow import GrownTree, grow_tree
from costframe.trees.growing.prices import SplitPrices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.training.data import Rows
    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.settings import TreeSettings

__all__ = ["GrowAt", "bins_of", "tree_grower"]

GrowAt = Callable[["NDArray[np.floating]", "NDArray[np.floating]", SplitPrices, np.random.Generator], GrownTree]


def bins_of(rows: Rows, settings: TreeSettings, categorical: NDArray[np.bool_] | None = None) -> BinMapper:
    """Choose bins for the columns of training rows; `categorical`, bool (d,), have one for each category."""
    return BinMapper.fit(
        rows.X,
        max_bins=settings.max_bins,
        sample_weight=rows.weight,
        categorical=categorical,
        n_threads=settings.n_threads,
    )


def tree_grower(rows: Rows, binned: BinnedData, settings: TreeSettings) -> GrowAt:
    """Return what grows one tree on training rows, from (weighted gradients, weighted hessians, prices, draws).

    Rows that are not drawn pass through the tree, and pay as well.
    """
    weight, signs = rows.uneven_weight, settings.signs
    counts = rows.counts if settings.newton else None

    def grow(
        gradients: NDArray[np.floating],
        hessians: NDArray[np.floating],
        prices: SplitPrices,
        random: np.random.Generator,
    ) -> GrownTree:
        drawn, left_out = _draw_rows(random, len(rows), settings.subsample)
        h: NDArray[np.floating] | None = hessians
        if not settings.newton:
            h = weight  # the hessians of the squared distance to the negative gradients
        elif counts is None and hessians[0] == 1 and (hessians == 1).all():
            h = None  # counts alone are quicker
        tree = grow_tree(
            binned,
            gradients,
            h,
            counts=counts,
            rows=drawn,
            features=_draw_columns(random, rows.X.shape[1], settings.max_features),
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
            prices.passed(tree, left_out)
        return tree

    return grow


def _draw_rows(
    random: np.random.Generator, n_rows: int, share: float
) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    """Return the rows to grow on and those left out; none of either if all are drawn."""
    if share == 1:
        return None, None
    order = random.permutation(n_rows).astype(np.int32)
    count = max(1, round(share * n_rows))
    return np.sort(order[:count]), np.sort(order[count:])


def _draw_columns(random: np.random.Generator, n_features: int, share: float) -> NDArray[np.bool_] | None:
    """Return which columns may be split on, bool (n_features,), at least one; None if all are drawn."""
    if share == 1:
        return None
    drawn = np.zeros(n_features, np.bool_)
    drawn[random.permutation(n_features)[: max(1, round(share * n_features))]] = True
    return drawn
