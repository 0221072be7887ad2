"""Trees without prices, best first, for kernels that grow many small ones: those of `grow_kernels`, with less to carry.

Counting the arrays of a task and a room in and out of calls would take a seventh of the time of such a tree.
"""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel, kernel_using
from costframe.trees.growing import histogram_kernels, partition_kernels, score_kernels, split_kernels
from costframe.trees.growing.histogram_kernels import add_rows
from costframe.trees.growing.partition_kernels import partition_rows
from costframe.trees.growing.split_kernels import find_splits, subtract

__all__ = ["grow_unpriced", "histograms_for"]

_using = kernel_using(histogram_kernels, partition_kernels, score_kernels, split_kernels)


@kernel
def histograms_for(n_leaves: int, n_bins: NDArray[np.int64], n_words: int) -> NDArray[np.int64]:
    """Return room for the histograms of a tree's leaves, no wider than the column of most bins needs."""
    width = 2
    for count in n_bins:
        while width <= count:
            width *= 2
    return np.empty((n_leaves, n_bins.shape[0], width, n_words), np.int64)


@kernel
def _next(best: NDArray[np.float64], node_of: NDArray[np.int64], n_leaves: int) -> int:
    """Return the slot of the leaf whose split is worth most, the oldest of several."""
    slot = 0
    for other in range(1, n_leaves):
        if best[other] > best[slot] or (best[other] == best[slot] and node_of[other] < node_of[slot]):
            slot = other
    return slot


@kernel
def _add_up(words: NDArray[np.int64], rows: NDArray[np.int32], total: NDArray[np.int64]) -> None:
    """Add the words of some rows to a total, (2,)."""
    for row in rows:
        for word in range(words.shape[1]):
            total[word] += words[row, word]


@_using
def _part(column: NDArray[np.uint8], bin_: int, missing_left: bool, rows: NDArray[np.int32],
          scratch: NDArray[np.int32]) -> int:  # fmt: skip
    """Bring the rows that go left to the front, the others behind them, and return how many go left."""
    goes_left = np.empty(256, np.bool_)
    for cell in range(255):
        goes_left[cell] = cell <= bin_
    goes_left[255] = missing_left
    n_left = partition_rows(column, goes_left, rows, scratch)
    rows[n_left:] = scratch[: rows.shape[0] - n_left]
    return n_left


@_using
def _search(
    may: bool,
    histogram: NDArray[np.int64],
    n_bins: NDArray[np.int64],
    columns: NDArray[np.int64],
    total: NDArray[np.int64],
    count_bits: int,
    units: NDArray[np.float64],
    limits: NDArray[np.float64],
    gain: NDArray[np.float64],
    bin_: NDArray[np.uint8],
    missing_left: NDArray[np.bool_],
    left: NDArray[np.int64],
) -> None:
    """Find a leaf's best splits, if it may be split; without signs and bounds."""
    if may:
        find_splits(
            histogram, n_bins, columns, total, count_bits, units, limits, np.zeros(0, np.int8), np.zeros(2),
            gain, bin_, missing_left, left,
        )  # fmt: skip


@_using
def grow_unpriced(
    bins: NDArray[np.uint8],
    bin_columns: NDArray[np.uint8],
    words: NDArray[np.int64],
    rows: NDArray[np.int32],
    columns: NDArray[np.int64],
    n_bins: NDArray[np.int64],
    count_bits: int,
    units: NDArray[np.float64],
    limits: NDArray[np.float64],
    max_depth: int,
    histograms: NDArray[np.int64],
    nodes: NDArray[np.int64],
    gains: NDArray[np.float64],
    spans: NDArray[np.int64],
) -> int:
    """Grow a tree best first, and return its number of nodes.

    Parameters
    ----------
    bins, bin_columns : uint8 (n, d), uint8 (d, n)
        All rows, in both layouts.
    words : int64 (n, 1 or 2)
        Packed gradients of all rows.
    rows : int32 (m,)
        Rows to grow on, ascending; those of a leaf lie together in the end.
    columns, n_bins : int64 (k,)
        Columns that may be split on, and bins of each besides the missing one.
    count_bits, units, limits
        As for `find_splits`.
    max_depth : int
        Comparisons on a path, at most.
    histograms : int64 (L, k, B, 1 or 2)
        Room, as `histograms_for` gives it; L is the most leaves.
    nodes : int64 (2 L - 1, 5)
        Written: feature (-1 at leaves), bin, missing left, left and right child.
    gains : float64 (2 L - 1,)
        Written: what each split gains, in units of the packed gradients.
    spans : int64 (2 L - 1, 2)
        Written: where each leaf's rows begin and end.
    """
    most, k, d = histograms.shape[0], columns.shape[0], bins.shape[1]
    gain, bin_ = np.full((most, d), -np.inf), np.zeros((most, d), np.uint8)
    missing_left, left = np.zeros((most, d), np.bool_), np.zeros((most, d, 2), np.int64)
    node_of, best_feature, depth = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64)
    best, totals = np.full(most, -np.inf), np.zeros((most, 2), np.int64)
    scratch = np.empty(rows.shape[0], np.int32)
    mask = (1 << count_bits) - 1
    _add_up(words, rows, totals[0])
    nodes[0, 0], spans[0, 0], spans[0, 1] = -1, 0, rows.shape[0]
    n_nodes, n_leaves = 1, 1
    if k > 0 and max_depth > 0 and (totals[0, 0] & mask) >= 2 * limits[1]:
        add_rows(bins, words, rows, columns, histograms[0])
        _search(
            True, histograms[0], n_bins, columns, totals[0], count_bits, units, limits,
            gain[0], bin_[0], missing_left[0], left[0],
        )  # fmt: skip
        best_feature[0] = np.argmax(gain[0])
        best[0] = gain[0, best_feature[0]]
    while n_leaves < most:
        slot = _next(best, node_of, n_leaves)
        if not best[slot] > 0:
            break
        node, feature, fresh = node_of[slot], best_feature[slot], n_leaves
        begin, end = spans[node]
        n_left = _part(
            bin_columns[feature], int(bin_[slot, feature]), missing_left[slot, feature], rows[begin:end],
            scratch[begin:end],
        )  # fmt: skip
        nodes[node, 0], nodes[node, 1], nodes[node, 2] = feature, bin_[slot, feature], missing_left[slot, feature]
        nodes[node, 3], nodes[node, 4] = n_nodes, n_nodes + 1
        gains[node] = best[slot]
        for side in range(2):
            nodes[n_nodes + side, 0], gains[n_nodes + side] = -1, 0.0
        spans[n_nodes, 0], spans[n_nodes, 1] = begin, begin + n_left
        spans[n_nodes + 1, 0], spans[n_nodes + 1, 1] = begin + n_left, end
        left_is_small = 2 * n_left <= end - begin
        below, above = int(slot), int(fresh)  # slots of the larger and of the smaller child
        small_node = n_nodes if left_is_small else n_nodes + 1
        for word in range(2):
            went_left, all_words = left[slot, feature, word], totals[slot, word]
            totals[above, word] = went_left if left_is_small else all_words - went_left
            totals[below, word] = all_words - totals[above, word]
        node_of[above], node_of[below] = small_node, 2 * n_nodes + 1 - small_node
        depth[above] = depth[below] = depth[slot] + 1
        n_nodes, n_leaves = n_nodes + 2, n_leaves + 1
        gain[above], gain[below] = -np.inf, -np.inf
        best[above] = best[below] = -np.inf
        if n_leaves == most or depth[slot] >= max_depth:
            continue
        may_small, may_large = (totals[above, 0] & mask) >= 2 * limits[1], (totals[below, 0] & mask) >= 2 * limits[1]
        if not (may_small or may_large):
            continue
        add_rows(bins, words, rows[spans[small_node, 0] : spans[small_node, 1]], columns, histograms[above])
        subtract(histograms[below], histograms[above], n_bins)
        for child, may in ((above, may_small), (below, may_large)):
            _search(
                may, histograms[child], n_bins, columns, totals[child], count_bits, units, limits,
                gain[child], bin_[child], missing_left[child], left[child],
            )  # fmt: skip
            best_feature[child] = np.argmax(gain[child])
            best[child] = gain[child, best_feature[child]]
    return n_nodes
