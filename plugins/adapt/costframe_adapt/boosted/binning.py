"""Binned training rows, and what grows trees of either kind on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.growing.grow import grow_tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from costframe.training.data import Rows, TrainingData
    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.growing.grow import GrownTree
    from costframe.trees.growing.prices import SplitPrices
    from costframe_adapt.boosted.growing import GrowPriced
    from costframe_adapt.settings import TreeSettings

__all__ = ["Binning"]

_LEAST_HESSIAN = 1e-3  # in a leaf of a second-order tree


@define(eq=False)
class Binning:
    """Training rows, cut into bins once for each number of them.

    Attributes
    ----------
    data : TrainingData
    n_threads : int
    """

    data: TrainingData
    n_threads: int
    _binned: dict[int, BinnedData] = field(factory=dict, init=False)

    def grower(
        self, settings: TreeSettings, inside: NDArray[np.int64] | None = None, features: NDArray[np.bool_] | None = None
    ) -> GrowPriced:
        """Return what grows one tree on the training rows, or on those inside; the others pass through it.

        Of features, bool (d,), others are not read.
        """
        rows = self.data.train
        if settings.max_bins not in self._binned:
            mapper = BinMapper.fit(
                rows.X, max_bins=settings.max_bins, sample_weight=rows.weight, n_threads=self.n_threads
            )
            self._binned[settings.max_bins] = mapper.transform(rows.X, n_threads=self.n_threads)
        return _tree_grower(self._binned[settings.max_bins], rows, settings, self.n_threads, inside, features)


def _tree_grower(
    binned: BinnedData,
    rows: Rows,
    settings: TreeSettings,
    n_threads: int,
    inside: NDArray[np.int64] | None,
    features: NDArray[np.bool_] | None,
) -> GrowPriced:
    """Return what grows a tree from weighted gradients and hessians, at prices."""
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
