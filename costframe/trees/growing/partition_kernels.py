"""Moving rows to their children, and writing down where they end."""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["add_outputs", "label_rows", "partition_rows", "route_rows", "sum_leaves"]


@kernel
def partition_rows(
    column: NDArray[np.uint8],
    bin_: int,
    missing_left: bool,
    rows: NDArray[np.int32],
    right: NDArray[np.int32],
) -> int:
    """Move the rows that go left to the front of `rows`, the others to `right`, in order, and return how many go left.

    Parameters
    ----------
    column : uint8 (n,)
        Bins of all rows in the feature that is tested.
    bin_, missing_left : int, bool
        A row goes left if its bin is at most `bin_`, or missing (255) and `missing_left`.
    rows : int32 (m,)
        Rows to part; its front is written.
    right : int32 (m,)
        Written.
    """
    lowest_missing = 255 if missing_left else 256
    n_left, n_right = 0, 0
    for at in range(rows.shape[0]):
        row = rows[at]
        cell = np.int64(column[row])
        goes_left = (cell <= bin_) | (cell >= lowest_missing)
        rows[n_left] = row  # both writes always: a branch would be mispredicted half of the time
        right[n_right] = row
        n_left += int(goes_left)
        n_right += int(not goes_left)
    return n_left


@kernel
def label_rows(
    rows: NDArray[np.int32],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    node: NDArray[np.int32],
    leaf_of_row: NDArray[np.int32],
) -> None:
    """Write the leaf of every row.

    Parameters
    ----------
    rows : int32 (m,)
        Rows, those of a leaf together.
    begin, end, node : int64, int64, int32 (leaves,)
        Where each leaf's rows lie, and its number in the tree.
    leaf_of_row : int32 (n,)
        Written at `rows`.
    """
    for leaf in range(begin.shape[0]):
        for at in range(begin[leaf], end[leaf]):
            leaf_of_row[rows[at]] = node[leaf]


@kernel
def sum_leaves(
    leaf_of_row: NDArray[np.int32],
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Write each leaf's sums of gradients and hessians.

    Every fourth row is added to a sum of its own, for sums of neighbors in the same leaf would wait for each other.

    Parameters
    ----------
    leaf_of_row : int32 (n,)
        Rows whose leaf is negative are left out.
    gradients : float64 (n,)
    hessians : float64 (n,) or (0,)
        None: one each.
    sums : float64 (nodes, 2)
        Written.
    """
    lanes = np.zeros((4, sums.shape[0], 2))
    for row in range(leaf_of_row.shape[0]):
        leaf, lane = leaf_of_row[row], row & 3
        if leaf >= 0:
            lanes[lane, leaf, 0] += gradients[row]
            lanes[lane, leaf, 1] += hessians[row] if hessians.shape[0] > 0 else 1.0
    for leaf in range(sums.shape[0]):
        for word in range(2):
            sums[leaf, word] = (lanes[0, leaf, word] + lanes[1, leaf, word]) + (
                lanes[2, leaf, word] + lanes[3, leaf, word]
            )


@kernel
def add_outputs(
    outputs: NDArray[np.float64], leaf_of_row: NDArray[np.int32], step: float, scores: NDArray[np.float64]
) -> None:
    """Add `step` times the output of each row's leaf to its score.

    Parameters
    ----------
    outputs : float64 (nodes,)
    leaf_of_row : int32 (n,)
    step : float
    scores : float64 (n,)
        Written.
    """
    for row in range(scores.shape[0]):
        scores[row] += step * outputs[leaf_of_row[row]]


@kernel
def route_rows(
    bins: NDArray[np.uint8],
    feature: NDArray[np.int32],
    bin_: NDArray[np.uint8],
    missing_left: NDArray[np.bool_],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    leaf_of_row: NDArray[np.int32],
) -> None:
    """Send the rows whose leaf is still negative through the finished tree.

    Parameters
    ----------
    bins : uint8 (n, d)
        Rows.
    feature, bin_, missing_left, left, right : (nodes,)
        The tree; a feature of -1 marks leaves.
    leaf_of_row : int32 (n,)
        Written where negative.
    """
    for row in range(bins.shape[0]):
        if leaf_of_row[row] >= 0:
            continue
        node = 0
        while feature[node] >= 0:
            cell = bins[row, feature[node]]
            goes_left = missing_left[node] if cell == 255 else cell <= bin_[node]
            node = left[node] if goes_left else right[node]
        leaf_of_row[row] = node
