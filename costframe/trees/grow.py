"""Growing one tree: breadth-first or best-first, at prices."""

from __future__ import annotations

from math import ldexp
from typing import TYPE_CHECKING, Literal

import numpy as np

from costframe.core.errors import DataError, ParameterError
from costframe.trees.finish import GrowingNodes, GrownTree, label_leaves, route
from costframe.trees.grower import Grower
from costframe.trees.histogram import column_blocks
from costframe.trees.leaf import Leaf
from costframe.trees.packing import pack
from costframe.trees.prices import NoPrices
from costframe.trees.scaling import power_of_two
from costframe.trees.search import SplitSearch
from costframe.trees.split import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.trees.binning import BinnedData
    from costframe.trees.histogram import ColumnBlock
    from costframe.trees.packing import PackedGradients
    from costframe.trees.prices import SplitPrices

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
    if prices is None and signs is None and growth == "best" and n_threads == 1 and not data.mapper.has_categories:
        blocks = column_blocks(data, _chosen_features(features, n_features), 1)
        return _grow_unpriced(data, packed, chosen, blocks, limits, (max_depth, max_leaves), (g, h), rows is not None)
    search = _search(data, packed, _chosen_features(features, n_features), limits, n_threads)
    search.signs = signs
    root = Leaf(0, 0, 0, chosen, packed.sums(chosen))
    depth, leaves = (_UNLIMITED if limit is None else limit for limit in (max_depth, max_leaves))
    grower = Grower(search, prices or NoPrices(n_features), root, depth)
    (grower.grow_best_first if growth == "best" else grower.grow_breadth_first)(leaves)
    leaf_of_row = np.full(n_rows, -1, np.int32)
    finished = grower.finished_leaves()
    spans = np.array([(leaf.begin, leaf.begin + leaf.count) for leaf in finished])
    node = np.array([leaf.node for leaf in finished], np.int32)
    sums = label_leaves(spans, node, chosen, g, h, leaf_of_row, n_threads=n_threads)
    if rows is not None:
        route(data.bins, grower.nodes, leaf_of_row, n_threads=n_threads)
    return grower.nodes.finish(data.mapper, _outputs(grower.nodes, finished, sums, l2), leaf_of_row)


def _grow_unpriced(
    data: BinnedData,
    packed: PackedGradients,
    rows: NDArray[np.int32],
    blocks: Sequence[ColumnBlock],
    limits: Limits,
    most: tuple[int | None, int | None],
    derivatives: tuple[NDArray[np.float64], NDArray[np.float64] | None],
    others: bool,
) -> GrownTree:
    """Grow best first in one compiled call; `most` are depth and leaves, `others` says that rows were left out."""
    from costframe.trees.partition_kernels import route_rows
    from costframe.trees.unpriced_kernels import grow_unpriced

    columns = np.concatenate([block.columns for block in blocks]) if blocks else np.empty(0, np.int64)
    depth, leaves = most[0] or _UNLIMITED, min(most[1] or len(rows), len(rows))
    nodes, gain = np.empty((2 * leaves - 1, 5), np.int64), np.zeros(2 * leaves - 1)
    spans = np.empty((2 * leaves - 1, 2), np.int64)
    room = np.empty((leaves, len(columns), 256, packed.words.shape[1]), np.int64)
    relative = ldexp(packed.gradient_unit, -packed.gradient_exponent)  # as `SplitSearch` scales gradients
    count = grow_unpriced(
        data.bins, data.columns, packed.words, rows, columns, data.mapper.n_bins[columns], packed.count_bits,
        np.array([relative, packed.hessian_unit]), limits.as_array(), depth, room, nodes, gain, spans,
    )  # fmt: skip
    feature, bin_, missing_left, left, right = (column.astype(np.int32) for column in nodes[:count].T)
    leaf = np.flatnonzero(feature < 0).astype(np.int32)
    leaf_of_row = np.full(data.n_rows, -1, np.int32)
    leaf = leaf[np.argsort(spans[leaf, 0], kind="stable")]
    sums = label_leaves(spans[leaf], leaf, rows, *derivatives, leaf_of_row)
    weight, outputs = sums[:, 1] + limits.l2, np.zeros(count)
    outputs[leaf] = -sums[:, 0] / np.where(weight > 0, weight, np.inf)
    missing, cells = missing_left > 0, bin_.astype(np.uint8)
    left[leaf] = right[leaf] = -1
    if others:
        route_rows(data.bins, feature, cells, missing, left, right, leaf_of_row)
    threshold = np.where(feature < 0, 0.0, data.mapper.padded[np.maximum(feature, 0), cells])
    missing[leaf] = False
    unit = power_of_two(2 * packed.gradient_exponent)
    return GrownTree(feature, threshold, missing, left, right, outputs, leaf_of_row, gain=gain[:count] * unit)


def _search(
    data: BinnedData, packed: PackedGradients, allowed: NDArray[np.bool_] | None, limits: Limits, n_threads: int
) -> SplitSearch:
    blocks, wide_blocks = column_blocks(data, allowed, n_threads), column_blocks(data, allowed, 1)
    return SplitSearch(data, packed, blocks, wide_blocks, limits, n_threads)


def _outputs(nodes: GrowingNodes, leaves: Sequence[Leaf], sums: NDArray[np.float64], l2: float) -> NDArray[np.float64]:
    """float64 (nodes,): -G/(H+l2) at leaves; zero where nothing has any weight."""
    outputs = np.zeros(len(nodes.feature))
    weight = sums[:, 1] + l2
    values = -sums[:, 0] / np.where(weight > 0, weight, np.inf)
    low, high = np.array([leaf.low for leaf in leaves]), np.array([leaf.high for leaf in leaves])
    outputs[[leaf.node for leaf in leaves]] = np.clip(values, low, high)
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
