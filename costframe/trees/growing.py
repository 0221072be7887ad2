"""Bins of training rows, and the function that grows a tree on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1, I8
from costframe.core.tables.row_draws import draw
from costframe.training.data import Rows
from costframe.training.sampling import row_keys
from costframe.trees.bin_mapper import BinnedData
from costframe.trees.grow import grow_tree
from costframe.trees.prices import SplitPrices
from costframe.trees.room import GrownTree
from costframe.trees.settings import TreeSettings

GrowAt = Callable[[NDArray[np.floating], NDArray[np.floating], SplitPrices, Any], GrownTree]
Sides = tuple[NDArray[np.int32], NDArray[np.int32]]  # rows to grow on, and others


def tree_grower(rows: Rows, binned: BinnedData, settings: TreeSettings, held_out: B1 | None = None) -> GrowAt:
    """Return a function that grows a tree on training rows from (weighted gradients, weighted hessians, prices, draws).

    Rows that are not drawn, or held out, bool (n,), also pass through the tree, and pay. Draws depend on the values of
    rows and on nothing else that may differ between workers; copies of a row are drawn one by one.
    """
    keys = row_keys(rows, settings.n_threads) if settings.subsample < 1 else np.empty(0, np.uint64)
    sides = None if held_out is None else _sides(~held_out)
    return _TreeGrower(rows, binned, settings, keys, sides)


def _sides(chosen: B1) -> Sides:
    """Return the rows that are chosen, and the others."""
    return np.flatnonzero(chosen).astype(np.int32), np.flatnonzero(~chosen).astype(np.int32)


@frozen(eq=False)
class _TreeGrower:
    """What the trees of a run have in common: rows, settings, keys of rows to draw by, uint64 (n,), and fixed sides."""

    rows: Rows
    binned: BinnedData
    settings: TreeSettings
    keys: NDArray[np.uint64]
    sides: Sides | None

    def __call__(
        self,
        gradients: NDArray[np.floating],
        hessians: NDArray[np.floating],
        prices: SplitPrices,
        random: Any,  # a Generator, or None if nothing is drawn
    ) -> GrownTree:
        """Draw rows, then features, and grow a tree; rows that are not drawn pay after it."""
        settings = self.settings
        counts = self.rows.counts if settings.newton else None
        drawn, left_out = self._draw_rows(random) if settings.subsample < 1 else self.sides or (None, None)
        columns = self._draw_features(random) if settings.max_features < 1 else None
        tree = grow_tree(
            self.binned,
            gradients,
            self._hessians(hessians, counts),
            counts=counts,
            rows=drawn,
            features=columns,
            prices=prices,
            signs=settings.signs,
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
        prices.end_tree(tree)
        return tree

    def _draw_rows(self, random: Any) -> Sides:
        """Return the rows that are drawn, and the others."""
        return _sides(draw(self.keys, self.settings.subsample, int(random.integers(2**63))))

    def _draw_features(self, random: Any) -> B1:
        """Return which features are drawn, bool (d,)."""
        n_features = self.binned.bins.shape[1]
        columns = np.zeros(n_features, np.bool_)
        columns[random.permutation(n_features)[: max(1, round(self.settings.max_features * n_features))]] = True
        return columns

    def _hessians(self, hessians: NDArray[np.floating], counts: I8 | None) -> NDArray[np.floating] | None:
        """Return the hessians to grow by; None where all are one, for sums of counts without hessians are quicker."""
        if not self.settings.newton:
            return self.rows.uneven_weight  # the hessians of the squared distance to the negative gradients
        return None if counts is None and self._all_one(hessians) else hessians

    def _all_one(self, hessians: NDArray[np.floating]) -> bool:
        workers = self.rows.workers
        if workers.count == 1 and hessians[0] != 1:
            return False  # the usual case, at once
        return not workers.any((hessians != 1).any())
