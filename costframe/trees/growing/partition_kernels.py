"""Moving rows to their children, and writing down where they end."""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["add_outputs", "label_rows", "leaf_of", "partition_rows", "route_rows", "sum_leaves"]


@kernel
def partition_rows(
    column: NDArray[np.uint8], goes_left: NDArray[np.bool_], rows: NDArray[np.int32], right: NDArray[np.int32]
) -> int:
    """Move the rows that go left to the front of `rows`, the others to `right`, in order, and return how many go left.

    Parameters
    ----------
    column : uint8 (n,)
        Bins of all rows in the feature that is tested.
    goes_left : bool (256,)
        By bin.
    rows : int32 (m,)
        Rows to part; its front is written.
    right : int32 (m,)
        Written.
    """
    n_left, n_right = 0, 0
    for at in range(rows.shape[0]):
        row = rows[at]
        to_left = goes_left[column[row]]
        rows[n_left] = row  # both writes always: a branch would be mispredicted half of the time
        right[n_right] = row
        n_left += int(to_left)
        n_right += int(not to_left)
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
    goes_left: NDArray[np.bool_],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    leaf_of_row: NDArray[np.int32],
) -> None:
    """Send the rows whose leaf is still negative through the finished tree.

    Parameters
    ----------
    bins : uint8 (n, d)
        Rows.
    feature, left, right : int32 (nodes,)
        The tree; a feature of -1 marks leaves.
    goes_left : bool (nodes, 256)
        By node and bin.
    leaf_of_row : int32 (n,)
        Written where negative.
    """
    for row in range(bins.shape[0]):
        if leaf_of_row[row] >= 0:
            continue
        node = 0
        while feature[node] >= 0:
            node = left[node] if goes_left[node, bins[row, feature[node]]] else right[node]
        leaf_of_row[row] = node


@kernel
def leaf_of(bins: NDArray[np.uint8], nodes: NDArray[np.int64], row: int) -> int:
    """Return the node that a row ends at, of a tree as `grow_kernels.copy_tree` writes it."""
    node = 0
    while nodes[node, 0] >= 0:
        cell = np.int64(bins[row, nodes[node, 0]])
        left = nodes[node, 2] == 1 if cell == 255 else cell <= nodes[node, 1]
        node = int(nodes[node, 3] if left else nodes[node, 4])
    return node
