"""What grows one tree of either kind on the binned training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costframe.trees.growing.grow import grow_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from costframe.training.data import Rows
    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.growing.grow import GrownTree
    from costframe.trees.growing.prices import SplitPrices
    from costframe_adapt.settings import TreeSettings

    GrowPriced = Callable[[NDArray[np.floating], NDArray[np.floating], SplitPrices], GrownTree]

__all__ = ["tree_grower"]

_LEAST_HESSIAN = 1e-3  # in a leaf of a second-order tree


def tree_grower(
    binned: BinnedData,
    rows: Rows,
    settings: TreeSettings,
    n_threads: int,
    *,
    inside: NDArray[np.int64] | None = None,
    features: NDArray[np.bool_] | None = None,
) -> GrowPriced:
    """Return what grows a tree from weighted gradients and hessians, at prices.

    Parameters
    ----------
    binned : BinnedData
    rows : Rows
        The training rows.
    settings : TreeSettings
    n_threads : int
    inside : int64 (m,), optional
        The rows to grow on; others pass through the tree.
    features : bool (d,), optional
        Those that may be read.
    """
    weight, counts, leaf = rows.uneven_weight, rows.counts, settings.min_samples_leaf
    # A first-order tree's hessians are those of the squared distance to the negative gradients: the rows' weights.
    first_order = settings.kind == "miser"

    def grow(gradients: NDArray[np.floating], hessians: NDArray[np.floating], prices: SplitPrices) -> GrownTree:
        return grow_tree(
            binned,
            gradients,
            weight if first_order else hessians,
            counts=None if first_order else counts,
            rows=inside,
            features=features,
            prices=prices,
            growth="breadth" if first_order else "best",
            max_depth=settings.max_depth,
            max_leaves=settings.max_leaves,
            min_samples_leaf=1 if first_order else leaf,
            min_hessian_leaf=leaf if first_order else _LEAST_HESSIAN,
            l2=settings.l2_regularization,
            n_threads=n_threads,
        )

    return grow
