"""Regression of many numbers at once in one compiled call; sums are of whole numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel
from costframe.trees.boosting.fold_kernels import copy_rows, grow_on
from costframe.trees.boosting.loss_kernels import whole_scale
from costframe.trees.growing.room import BEGIN, COUNT, LEAVES, NODE
from costframe.trees.growing.row_kernels import largest_of, leaf_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.growing.prices import PriceState
    from costframe.trees.growing.room import Room, Task

__all__ = ["boost_many"]

_WHOLE = 50  # bits of whole numbers to add up
_SHIFT, _SHIFT_BITS = 1.5 * 2.0**52, 0x4338 << 48  # low bits of doubles near it are whole numbers, quick to convert


@kernel
def _divide(values: NDArray[np.float64], divisor: float) -> None:
    """Divide all items, in place."""
    for at in range(values.shape[0]):
        values[at] /= divisor


@kernel
def _mixture(residual: NDArray[np.float64], rows: NDArray[np.int32], weight: NDArray[np.float64], largest: float,
             mix: NDArray[np.float64], mixed: NDArray[np.float64], count_bits: int) -> None:  # fmt: skip
    """Turn `mix`, (T,), a step towards the residuals' principal direction, and write -weight * (residual @ mix).

    No residual is larger than `largest`; the rows are fewer than 2^count_bits.
    """
    n_targets, highest, sums = mix.shape[0], 0.0, np.zeros(mix.shape[0], np.int64)
    for row in rows:
        total = 0.0
        for t in range(n_targets):
            total += residual[row, t] * mix[t]
        mixed[row] = weight[row] * total
        highest = max(highest, abs(mixed[row]))
    scale = _scale(largest * highest, count_bits)
    shifted = np.empty(n_targets)
    bits = shifted.view(np.int64)
    for row in rows:
        factor = mixed[row] * scale
        for t in range(n_targets):  # a kernel for both loops would be twice as slow
            shifted[t] = residual[row, t] * factor + _SHIFT
        for t in range(n_targets):
            sums[t] += bits[t] - _SHIFT_BITS
    square = 0.0
    for t in range(n_targets):
        mix[t] = sums[t] / scale
        square += mix[t] * mix[t]
    size = math.sqrt(square)
    if size > 0.0:
        _divide(mix, size)
    for row in rows:
        total = 0.0
        for t in range(n_targets):
            total += residual[row, t] * mix[t]
        mixed[row] = -weight[row] * np.float32(total)  # for exact sums


@kernel
def _scale(largest: float, count_bits: int) -> float:
    """Return the power of two that makes whole numbers below 2^51; see `whole_scale`."""
    return whole_scale(largest, max(count_bits, 61 - _WHOLE))


@kernel
def _put_means(
    task: Task,
    room: Room,
    rows: NDArray[np.int32],
    weight: NDArray[np.float64],
    residual: NDArray[np.float64],
    scale: float,
    weight_scale: float,
    output: NDArray[np.float64],
) -> float:
    """Write the weighted means of residuals in a tree's leaves, shrunk by l2.

    Return the largest size of a mean.
    """
    n_targets, n_leaves, largest = residual.shape[1], room.state[LEAVES], 0.0
    sums, shifted = np.zeros((n_leaves, n_targets + 1), np.int64), np.empty(n_targets)
    bits = shifted.view(np.int64)
    for slot in range(n_leaves):
        own, mass = sums[slot, :n_targets], np.int64(0)
        for row in rows[room.place[slot, BEGIN] : room.place[slot, BEGIN] + room.place[slot, COUNT]]:
            mass += np.int64(np.rint(weight[row] * weight_scale))
            factor = weight[row] * scale
            for t in range(n_targets):
                shifted[t] = residual[row, t] * factor + _SHIFT
            for t in range(n_targets):
                own[t] += bits[t] - _SHIFT_BITS
        sums[slot, n_targets] = mass
    for slot in range(n_leaves):
        node, weights = room.place[slot, NODE], task.limits[0] + sums[slot, n_targets] / weight_scale
        for t in range(n_targets):
            output[node, t] = sums[slot, t] / scale / weights
            largest = max(largest, abs(output[node, t]))
    return largest


@kernel
def boost_many(
    task: Task,
    room: Room,
    free: PriceState,
    weight: NDArray[np.float64],
    counts: NDArray[np.int64],
    inside: NDArray[np.int32],
    outside: NDArray[np.int32],
    step: float,
    residual: NDArray[np.float64],
    nodes: NDArray[np.int64],
    values: NDArray[np.float64],
    sizes: NDArray[np.int64],
) -> int:
    """Boost by squared loss, and return the number of trees: each splits by one mixture of targets.

    Parameters
    ----------
    task, room, free, weight, counts, inside, outside, step
        As for `add_rounds`.
    residual : float64 (n, T)
        Targets, from -1 to 1; overwritten by the residuals.
    nodes, values, sizes : int64 (R, 2 L - 1, 5), float64 (R, 2 L - 1, T), int64 (R,)
        Written: trees, their leaves' weighted means of residuals, shrunk by l2, and their numbers of nodes.
    """
    n, n_targets = residual.shape
    mixed, rows, mix = np.zeros(n), inside.copy(), np.ones(n_targets)
    largest, heaviest = 1.0, largest_of(weight)
    for number in range(nodes.shape[0]):
        _mixture(residual, inside, weight, largest, mix, mixed, task.count_bits)
        copy_rows(inside, rows)
        count, _, _, weight_scale = grow_on(task, room, free, rows, mixed, weight, counts, nodes[number])
        if count == 1:
            return number
        sizes[number], output = count, values[number]
        output[:count] = 0.0
        scale = _scale(largest * heaviest, task.count_bits)
        largest += step * _put_means(task, room, rows, weight, residual, scale, weight_scale, output)
        for slot in range(room.state[LEAVES]):
            node, begin = room.place[slot, NODE], room.place[slot, BEGIN]
            for row in rows[begin : begin + room.place[slot, COUNT]]:
                for t in range(n_targets):
                    residual[row, t] -= step * output[node, t]
        for row in outside:
            node = leaf_of(task.bins, room.nodes, row)
            for t in range(n_targets):
                residual[row, t] -= step * output[node, t]
    return len(nodes)
