"""Loops over rows: packing of gradients, partition and routing of rows, sums by leaf; and over finished nodes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.combine_kernels import largest_over_workers, sum_over_workers
from costframe.core.jit import kernel
from costframe.trees.growing.room import BEGIN, COUNT, NODE, NODE_SET

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.cuts import Cuts

__all__ = [
    "describe_nodes",
    "divide_rows",
    "join_rows",
    "label_rows",
    "largest_of",
    "leaf_of",
    "leaf_scale",
    "list_bins",
    "mark_left",
    "pack_rows",
    "route_rows",
    "scale_for",
    "sum_leaves",
    "sum_words",
]


@kernel
def largest_of(values: NDArray[np.float64]) -> float:
    """Return the largest size of a value; NaN if one is NaN."""
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value)) if value == value else math.nan  # noqa: PLR0124
        if largest != largest:  # noqa: PLR0124
            return math.nan
    return largest


@kernel
def scale_for(values: NDArray[np.float64], bits: int, address: int) -> float:
    """Return the largest power of two that keeps every sum of rounded values below 2^bits, within the range of doubles.

    It is 1 if all values are zero, NaN if their sum is not finite. Values are those of all workers; see `Task.address`.
    """
    largest = largest_over_workers(address, largest_of(values))
    if largest == 0.0:
        return 1.0
    if not math.isfinite(largest):
        return math.nan
    highest = math.frexp(largest)[1]
    unit, total = math.ldexp(1.0, min(31 - highest, 1023)), 0  # whole numbers have one sum in any order
    for value in values:
        total += math.ceil(abs(value) * unit)
    whole = np.empty(2, np.int64)
    whole[0], whole[1] = total, values.shape[0]
    sum_over_workers(address, whole)
    share, exponent = math.frexp(float(whole[0]))
    exponent -= min(31 - highest, 1023)
    if exponent > 1024:
        return math.nan
    room = math.ldexp(1.0, bits) - whole[1] / 2  # rounding moves each value by half a unit at most
    return math.ldexp(1.0, min(max(math.frexp(room / share)[1] - 1 - exponent, -1022), 1023))


@kernel
def leaf_scale(values: NDArray[np.float64], address: int) -> float:
    """Return a power of two that makes values whole numbers, nearly all digits kept, whose sums stay below 2^62.

    Values are those of all workers; see `Task.address`.
    """
    largest = largest_over_workers(address, largest_of(values))
    if largest == 0.0:
        return 1.0
    count = np.empty(1, np.int64)
    count[0] = values.shape[0]
    sum_over_workers(address, count)
    highest = math.frexp(largest)[1] + math.frexp(float(count[0]))[1]
    return math.ldexp(1.0, min(61 - highest, 1023))


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
def mark_left(left_bins: NDArray[np.int64], goes_left: NDArray[np.bool_]) -> None:
    """Write whether each bin goes left, bool (256,), from the set of bins that do, as bits, int64 (4,)."""
    for word in range(4):
        bits, first = left_bins[word], 64 * word
        for bit in range(64):
            goes_left[first + bit] = (bits >> bit) & 1 != 0


@kernel
def divide_rows(
    column: NDArray[np.uint8], goes_left: NDArray[np.bool_], rows: NDArray[np.int32], scratch: NDArray[np.int32]
) -> int:
    """Move the rows that go left to the front, and copy the others to `scratch`, in order.

    Parameters
    ----------
    column : uint8 (n,)
        Bins of all rows in the tested feature.
    goes_left : bool (256,)
        Whether each bin goes left.
    rows, scratch : int32 (m,)
        Written.

    Returns
    -------
    int
        The number of rows that go left.
    """
    n_left, n_right = 0, 0
    for at in range(rows.shape[0]):
        row = rows[at]
        to_left = goes_left[column[row]]
        rows[n_left] = row  # writes both always: a branch would be mispredicted half of the time
        scratch[n_right] = row
        n_left += int(to_left)
        n_right += int(not to_left)
    return n_left


@kernel
def join_rows(rows: NDArray[np.int32], scratch: NDArray[np.int32], counts: NDArray[np.int64]) -> int:
    """Join parts of rows that `divide_rows` divided, those to the left first, in order; return how many go left.

    Parameters
    ----------
    rows, scratch : int32 (m,)
        Part k begins at m k // parts in both. `rows` is written.
    counts : int64 (parts,)
        The number of each part's rows that go left.
    """
    n_rows, parts, to = rows.shape[0], counts.shape[0], counts[0]
    for part in range(1, parts):
        first = n_rows * part // parts
        for at in range(first, first + counts[part]):  # never overtakes what it reads
            rows[to] = rows[at]
            to += 1
    n_left = to
    for part in range(parts):
        first, last = n_rows * part // parts, n_rows * (part + 1) // parts
        for at in range(first, last - counts[part]):
            rows[to] = scratch[at]
            to += 1
    return int(n_left)


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
def label_rows(place: NDArray[np.int64], rows: NDArray[np.int32], leaf_of_row: NDArray[np.int32]) -> None:
    """Write the leaf of each of the tree's rows, as permuted by growth; places as in `Room`."""
    for slot in range(place.shape[0]):
        for at in range(place[slot, BEGIN], place[slot, BEGIN] + place[slot, COUNT]):
            leaf_of_row[rows[at]] = place[slot, NODE]


@kernel
def describe_nodes(
    nodes: NDArray[np.int64], thresholds: Cuts, place: NDArray[np.int64], bounds: NDArray[np.float64],
    sums: NDArray[np.float64], l2: float, gradient_unit: float, feature: NDArray[np.int32],
    threshold: NDArray[np.float64], missing_left: NDArray[np.bool_], left: NDArray[np.int32], right: NDArray[np.int32],
    outputs: NDArray[np.float64],
) -> None:  # fmt: skip
    """Write the arrays of `GrownTree` from a room's nodes and places, with `thresholds` of bins.

    Outputs are -G/(H+l2) from the `sums` of each node, float64 (nodes, 2), between `bounds` times the unit.
    """
    for node in range(nodes.shape[0]):
        f = nodes[node, 0]
        feature[node], left[node], right[node] = f, nodes[node, 3], nodes[node, 4]
        missing_left[node] = nodes[node, 2] == 1
        threshold[node] = thresholds.cut[thresholds.first[f] + nodes[node, 1]] if f >= 0 else 0.0
    for slot in range(place.shape[0]):
        node = place[slot, NODE]
        weight = sums[node, 1] + l2
        value = -sums[node, 0] / (weight if weight > 0 else np.inf)
        outputs[node] = min(max(value, gradient_unit * bounds[slot, 0]), gradient_unit * bounds[slot, 1])


@kernel
def sum_leaves(
    leaf_of_row: NDArray[np.int32],
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64],
    scale: float,
    hessian_scale: float,
    sums: NDArray[np.int64],
) -> None:
    """Write each leaf's sums of gradients and hessians, as whole numbers: they do not depend on the order of rows.

    Four sums take every fourth row each: one sum would wait between neighbors in the same leaf.

    Parameters
    ----------
    leaf_of_row : int32 (n,)
        It leaves out rows with a negative leaf.
    gradients : float64 (n,)
    hessians : float64 (n,) or (0,)
        (0,) for ones, which are counted.
    scale, hessian_scale : float
        One over the units of sums; see `leaf_scale`.
    sums : int64 (nodes, 2)
        Written.
    """
    lanes = np.zeros((4, sums.shape[0], 2), np.int64)
    for row in range(leaf_of_row.shape[0]):
        leaf, lane = leaf_of_row[row], row & 3
        if leaf >= 0:
            lanes[lane, leaf, 0] += np.int64(np.rint(gradients[row] * scale))
            lanes[lane, leaf, 1] += np.int64(np.rint(hessians[row] * hessian_scale)) if hessians.shape[0] > 0 else 1
    for leaf in range(sums.shape[0]):
        for word in range(2):
            sums[leaf, word] = (lanes[0, leaf, word] + lanes[1, leaf, word]) + (
                lanes[2, leaf, word] + lanes[3, leaf, word]
            )
