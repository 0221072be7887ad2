"""Loops over rows: packing of gradients, partition and routing of rows, sums by leaf."""

import math

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel
from costframe.trees.growing.room import NODE_SET

__all__ = ["leaf_of", "list_bins", "pack_rows", "partition_rows", "route_rows", "scale_for", "sum_leaves", "sum_words"]


@kernel
def scale_for(values: NDArray[np.float64], bits: int) -> float:
    """Return the largest power of two that keeps every sum of rounded values below 2^bits, within the range of doubles.

    It is 1 if all values are zero, NaN if their sum is not finite.
    """
    a = b = c = d = 0.0  # four independent lanes
    whole = values.shape[0] // 4 * 4
    for at in range(0, whole, 4):
        a += abs(values[at])
        b += abs(values[at + 1])
        c += abs(values[at + 2])
        d += abs(values[at + 3])
    for at in range(whole, values.shape[0]):
        a += abs(values[at])
    total = (a + b) + (c + d)
    if total == 0.0:
        return 1.0
    if not math.isfinite(total):
        return math.nan
    room = math.ldexp(1.0, bits) - values.shape[0] / 2  # rounding moves each value by half a unit at most
    share, exponent = math.frexp(total)
    return math.ldexp(1.0, min(max(math.frexp(room / share)[1] - 1 - exponent, -1022), 1023))


@kernel
def pack_rows(
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64],
    counts: NDArray[np.int64],
    scale: float,
    hessian_scale: float,
    count_bits: int,
    words: NDArray[np.int64],
) -> None:
    """Write one or two words per row.

    Parameters
    ----------
    gradients, hessians : float64 (n,)
        Hessians are read if there are two words.
    counts : int64 (n,) or (0,)
        Count of each row; (0,) for ones.
    scale, hessian_scale : float
        One over the units of gradients and hessians.
    count_bits : int
        Low bits of a first word, which hold the count.
    words : int64 (n, 1 or 2)
        Written.
    """
    for row in range(gradients.shape[0]):
        count = counts[row] if counts.shape[0] > 0 else 1
        words[row, 0] = (np.int64(np.rint(gradients[row] * scale)) << count_bits) + count
        if words.shape[1] == 2:
            words[row, 1] = np.int64(np.rint(hessians[row] * hessian_scale))


@kernel
def sum_words(words: NDArray[np.int64], rows: NDArray[np.int32]) -> tuple[int, int]:
    """Sum the first words of some rows, and the second words if there are two."""
    first, second = 0, 0
    for row in rows:
        first += words[row, 0]
        if words.shape[1] == 2:
            second += words[row, 1]
    return first, second


@kernel
def list_bins(bin_: int, missing_left: bool, bins: NDArray[np.int64]) -> None:
    """Write the set of bins that go left of a threshold, as bits, int64 (4,)."""
    for word in range(4):
        count = int(min(max(bin_ + 1 - 64 * word, 0), 64))
        bins[word] = -1 if count == 64 else (1 << count) - 1
    if missing_left:
        bins[3] |= np.int64(1) << 63


@kernel
def partition_rows(
    column: NDArray[np.uint8],
    left_bins: NDArray[np.int64],
    goes_left: NDArray[np.bool_],
    rows: NDArray[np.int32],
    scratch: NDArray[np.int32],
) -> int:
    """Move the rows that go left to the front, the others behind them, in order; return the number that go left.

    Parameters
    ----------
    column : uint8 (n,)
        Bins of all rows in the tested feature.
    left_bins : int64 (4,)
        The set of bins that go left, as bits.
    rows : int32 (m,)
        Written.
    goes_left, scratch : bool (256,), int32 (m,)
        Written.
    """
    for word in range(4):
        bits, first = left_bins[word], 64 * word
        for bit in range(64):
            goes_left[first + bit] = (bits >> bit) & 1 != 0
    n_left, n_right = 0, 0
    for at in range(rows.shape[0]):
        row = rows[at]
        to_left = goes_left[column[row]]
        rows[n_left] = row  # writes both always: a branch would be mispredicted half of the time
        scratch[n_right] = row
        n_left += int(to_left)
        n_right += int(not to_left)
    rows[n_left:] = scratch[:n_right]
    return n_left


@kernel
def leaf_of(bins: NDArray[np.uint8], nodes: NDArray[np.int64], row: int) -> int:
    """Return the leaf of a row in a tree of `Room.nodes`."""
    node = 0
    while nodes[node, 0] >= 0:
        cell = np.int64(bins[row, nodes[node, 0]])
        left = (nodes[node, NODE_SET + (cell >> 6)] >> (cell & 63)) & 1
        node = int(nodes[node, 4 - left])
    return node


@kernel
def route_rows(bins: NDArray[np.uint8], nodes: NDArray[np.int64], leaf_of_row: NDArray[np.int32]) -> None:
    """Write the leaf, int32 (n,), of the rows whose leaf is still negative."""
    for row in range(bins.shape[0]):
        if leaf_of_row[row] < 0:
            leaf_of_row[row] = leaf_of(bins, nodes, row)


@kernel
def sum_leaves(
    leaf_of_row: NDArray[np.int32],
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Write each leaf's sums of gradients and hessians.

    Four sums take every fourth row each: one sum would wait between neighbors in the same leaf.

    Parameters
    ----------
    leaf_of_row : int32 (n,)
        It leaves out rows with a negative leaf.
    gradients : float64 (n,)
    hessians : float64 (n,) or (0,)
        (0,) for ones.
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
