"""Growing one tree: breadth-first or best-first, at prices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from costframe.core.errors import DataError, ParameterError
from costframe.trees.growing.finish import GrowingNodes, GrownTree, LeafRows, label_leaves, route
from costframe.trees.growing.grower import Grower
from costframe.trees.growing.histogram import column_blocks
from costframe.trees.growing.leaf import Leaf
from costframe.trees.growing.packing import pack
from costframe.trees.growing.prices import NoPrices
from costframe.trees.growing.search import SplitSearch
from costframe.trees.growing.split import Limits
from costframe.trees.growing.whole import grow_in_room

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.growing.packing import PackedGradients
    from costframe.trees.growing.prices import SplitPrices

__all__ = ["GrownTree", "grow_tree"]

_UNLIMITED = 2**31


def grow_tree(
    data: BinnedData,
    gradients: NDArray[np.floating],
    hessians: NDArray[np.floating] | None = None,
    *,
    counts: NDArray[np.int64] | None = None,
    rows: ArrayLike | None = None,
    features: ArrayLike | None = None,
    prices: SplitPrices | None = None,
    signs: NDArray[np.int8] | None = None,
    growth: Literal["breadth", "best"] = "best",
    max_depth: int | None = None,
    max_leaves: int | None = None,
    min_samples_leaf: int = 1,
    min_hessian_leaf: float = 0.0,
    l2: float = 0.0,
    n_threads: int = 1,
) -> GrownTree:
    """Grow one tree.

    A split of leaf p on feature f is worth 1/2 [G_l^2/(H_l+l2) + G_r^2/(H_r+l2) - G_p^2/(H_p+l2)] less the price of
    (p, f), and is made if that is positive. Equal splits: the lowest feature, then the lowest bin, then missing right.

    Parameters
    ----------
    data : BinnedData
        Training rows.
    gradients : float64 (n,)
        dloss/dscore of every row, times its weight.
    hessians : float64 (n,), optional
        Second derivative of every row, times its weight; one each if not given.
    counts : int64 (n,), optional
        How many rows each row is for `min_samples_leaf`, positive; one if not given. If given, hessians must be too.
    rows : int (m,), optional
        Rows to grow the tree on, none twice; all by default.
    features : bool (d,), optional
        Features that may be split on; all by default.
    prices : SplitPrices, optional
        What splits cost; nothing by default.
    signs : int8 (d,), optional
        Features with which outputs must not fall (1) or not rise (-1), other features being equal and missing values
        apart. Splits that break this are not made, the middle between two children's values is a bound for all that
        grows below them, values are clipped to their bounds, and gains are those of the clipped values.
    growth : {"breadth", "best"}
        Level by level, from left to right, at the prices current when a leaf's turn comes; or always the leaf whose
        split is worth most, the oldest of several.
    max_depth : int, optional
        Comparisons on a path, at most.
    max_leaves : int, optional
        Leaves, at most.
    min_samples_leaf : int
        Rows in a leaf, at least.
    min_hessian_leaf : float
        Sum of hessians in a leaf, at least.
    l2 : float
        Added to every sum of hessians that divides.
    n_threads : int
        Does not change the result.

    Raises
    ------
    DataError
        If arrays do not fit the data, or gradients are not finite or hessians negative.
    ParameterError
        If a setting is out of its range.
    """
    _check_settings(growth, max_depth, max_leaves, min_samples_leaf, min_hessian_leaf, l2)
    n_rows, n_features = data.bins.shape
    g = _per_row("gradients", gradients, n_rows)
    h = None if hessians is None else _per_row("hessians", hessians, n_rows)
    chosen = np.arange(n_rows, dtype=np.int32) if rows is None else _chosen_rows(rows, n_rows)
    packed = pack(g, h, counts, n_threads=n_threads)
    limits = Limits(l2, min_samples_leaf, min_hessian_leaf)
    search = _search(data, packed, _chosen_features(features, n_features), limits, n_threads)
    search.signs = signs
    depth, most = (_UNLIMITED if limit is None else min(limit, _UNLIMITED) for limit in (max_depth, max_leaves))
    paid = prices or NoPrices(n_features)
    grown = None
    if growth == "best" and features is None and signs is None:
        grown = grow_in_room(search, paid, chosen, depth, most)
    nodes, leaves, bounds = (
        _grow_step_by_step(search, paid, chosen, growth, depth, most) if grown is None else (*grown, None)
    )
    leaf_of_row = np.full(n_rows, -1, np.int32)
    sums = label_leaves(leaves, chosen, g, h, leaf_of_row, n_threads=n_threads)
    if rows is not None:
        route(data.bins, nodes, leaf_of_row, n_threads=n_threads)
    return nodes.finish(data.mapper, _outputs(len(nodes.feature), leaves, bounds, sums, l2), leaf_of_row)


def _grow_step_by_step(
    search: SplitSearch, prices: SplitPrices, rows: NDArray[np.int32], growth: str, max_depth: int, max_leaves: int
) -> tuple[GrowingNodes, LeafRows, NDArray[np.float64]]:
    """Grow a tree of any kind, and return its nodes, its leaves, and the bounds of their outputs, (2, leaves)."""
    grower = Grower(search, prices, Leaf(0, 0, 0, rows, search.packed.sums(rows)), max_depth)
    (grower.grow_best_first if growth == "best" else grower.grow_breadth_first)(max_leaves)
    finished = grower.finished_leaves()
    bounds = np.array([[leaf.low for leaf in finished], [leaf.high for leaf in finished]])
    return grower.nodes, LeafRows.of(finished), bounds


def _search(
    data: BinnedData, packed: PackedGradients, allowed: NDArray[np.bool_] | None, limits: Limits, n_threads: int
) -> SplitSearch:
    blocks, wide_blocks = column_blocks(data, allowed, n_threads), column_blocks(data, allowed, 1)
    return SplitSearch(data, packed, blocks, wide_blocks, limits, n_threads)


def _outputs(
    n_nodes: int, leaves: LeafRows, bounds: NDArray[np.float64] | None, sums: NDArray[np.float64], l2: float
) -> NDArray[np.float64]:
    """float64 (nodes,): -G/(H+l2) at leaves; zero where nothing has any weight."""
    outputs = np.zeros(n_nodes)
    weight = sums[:, 1] + l2
    values = -sums[:, 0] / np.where(weight > 0, weight, np.inf)
    outputs[leaves.node] = values if bounds is None else np.clip(values, *bounds)
    return outputs


def _check_settings(
    growth: str,
    max_depth: int | None,
    max_leaves: int | None,
    min_samples_leaf: int,
    min_hessian_leaf: float,
    l2: float,
) -> None:
    if growth not in {"breadth", "best"}:
        raise ParameterError(f"growth: must be 'breadth' or 'best', got {growth!r}")
    for name, limit in (("max_depth", max_depth), ("max_leaves", max_leaves), ("min_samples_leaf", min_samples_leaf)):
        if limit is not None and limit < 1:
            raise ParameterError(f"{name}: must be at least 1, got {limit!r}")
    for name, amount in (("min_hessian_leaf", min_hessian_leaf), ("l2", l2)):
        if not 0 <= amount < np.inf:
            raise ParameterError(f"{name}: must be finite and not negative, got {amount!r}")


def _per_row(name: str, values: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    array = np.ascontiguousarray(values, np.float64)
    if array.shape != (n_rows,):
        raise DataError(f"{name}: must have shape ({n_rows},), one entry a row, got {array.shape}")
    return array


def _chosen_rows(rows: ArrayLike, n_rows: int) -> NDArray[np.int32]:
    chosen = np.sort(np.asarray(rows))
    if chosen.ndim != 1 or not len(chosen) or chosen.dtype.kind not in "iu":
        raise DataError(
            f"rows: must be a vector of at least one row number, got {chosen.dtype} of shape {chosen.shape}"
        )
    if chosen[0] < 0 or chosen[-1] >= n_rows or (chosen[1:] == chosen[:-1]).any():
        raise DataError(f"rows: must be different numbers from 0 to {n_rows - 1}")
    return chosen.astype(np.int32)


def _chosen_features(features: ArrayLike | None, n_features: int) -> NDArray[np.bool_] | None:
    if features is None:
        return None
    chosen = np.asarray(features)
    if chosen.shape != (n_features,) or chosen.dtype != np.bool_:
        raise DataError(f"features: must be bool of shape ({n_features},), got {chosen.dtype} of shape {chosen.shape}")
    return chosen
