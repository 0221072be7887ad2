"""Boosting without prices in one compiled call; sums are of whole numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel
from costframe.trees.binning.scaling import EXACT_BITS, WORD_BITS
from costframe.trees.boosting.loss_kernels import derive, sum_losses
from costframe.trees.growing.grow_kernels import grow
from costframe.trees.growing.room import BEGIN, COUNT, LEAVES, NODE
from costframe.trees.growing.row_kernels import leaf_of, pack_rows, scale_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.growing.prices import PriceState
    from costframe.trees.growing.room import Room, Task

__all__ = ["add_rounds", "copy_rows", "grow_on"]


@kernel
def grow_on(
    task: Task,
    room: Room,
    free: PriceState,
    rows: NDArray[np.int32],
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64],
    counts: NDArray[np.int64],
    nodes: NDArray[np.int64],
) -> tuple[int, int, float, float]:
    """Grow a tree, and write its nodes (2 L - 1, 5).

    Return their number, the exponent of the gradients' unit, and powers of two that make gradients and hessians whole
    numbers with more digits than packed ones; no sum reaches 2^62.
    """
    bits = min(EXACT_BITS, WORD_BITS - task.count_bits)
    scale, hessian_scale = scale_for(gradients, bits, task.address), scale_for(hessians, EXACT_BITS, task.address)
    pack_rows(gradients, hessians, counts, scale, hessian_scale, task.count_bits, task.words)
    exponent = bits - math.frexp(scale)[1] + 1
    task.units[0], task.units[1] = math.ldexp(1 / scale, -exponent), 1 / hessian_scale
    room.state[LEAVES] = 0
    grow(task, room, rows, free)  # with room for all leaves, on one thread
    count = 2 * room.state[LEAVES] - 1
    for node in range(count):
        for k in range(nodes.shape[1]):
            nodes[node, k] = room.nodes[node, k]
    return count, exponent, _refine(scale, 61 - bits), _refine(hessian_scale, 61 - EXACT_BITS)


@kernel
def _refine(scale: float, bits: int) -> float:
    """Multiply a power of two by another, within the range of doubles."""
    return math.ldexp(1.0, min(math.frexp(scale)[1] - 1 + bits, 1023))


@kernel
def copy_rows(source: NDArray[np.int32], target: NDArray[np.int32]) -> None:
    """Copy all rows."""
    for at in range(source.shape[0]):
        target[at] = source[at]


@kernel
def _note_gains(nodes: NDArray[np.int64], gains: NDArray[np.float64], count: int, unit: float,
                table: NDArray[np.float64]) -> None:  # fmt: skip
    """Add the gain of each split to its feature, and to each pair of it with a feature tested above."""
    parent = np.full(count, -1, np.int64)
    for node in range(count):
        feature = nodes[node, 0]
        if feature < 0:
            continue
        parent[nodes[node, 3]] = parent[nodes[node, 4]] = node
        gain, above = gains[node] * unit, parent[node]
        table[feature, feature] += gain
        while above >= 0:
            other = nodes[above, 0]
            if other != feature:
                table[feature, other] += gain
                table[other, feature] += gain
            above = parent[above]


@kernel
def _put_outputs(
    task: Task,
    room: Room,
    rows: NDArray[np.int32],
    g: NDArray[np.float64],
    h: NDArray[np.float64],
    scale: float,
    hessian_scale: float,
    largest: float,
    output: NDArray[np.float64],
) -> None:
    """Write the outputs of a tree's leaves, -G/(H + l2) within `largest`, with sums of whole numbers."""
    sums = np.zeros(2 * room.state[LEAVES], np.int64)
    for slot in range(room.state[LEAVES]):
        g_sum, h_sum = np.int64(0), np.int64(0)
        for row in rows[room.place[slot, BEGIN] : room.place[slot, BEGIN] + room.place[slot, COUNT]]:
            g_sum += np.int64(np.rint(g[row] * scale))
            h_sum += np.int64(np.rint(h[row] * hessian_scale))
        sums[2 * slot], sums[2 * slot + 1] = g_sum, h_sum
    for slot in range(room.state[LEAVES]):
        mass = task.limits[0] + sums[2 * slot + 1] / hessian_scale
        value = -(sums[2 * slot] / scale) / mass if mass > 0 else 0.0
        output[room.place[slot, NODE]] = min(max(value, -largest), largest)


@kernel
def add_rounds(
    task: Task,
    room: Room,
    free: PriceState,
    kind: int,
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    counts: NDArray[np.int64],
    inside: NDArray[np.int32],
    outside: NDArray[np.int32],
    largest: float,
    step: float,
    scores: NDArray[np.float64],
    nodes: NDArray[np.int64],
    values: NDArray[np.float64],
    sizes: NDArray[np.int64],
    lost: NDArray[np.float64],
    kept: NDArray[np.float64],
    gain: NDArray[np.float64],
) -> None:
    """Add rounds of boosting.

    Parameters
    ----------
    task, room, free : Task, Room, PriceState
        The task, room for all leaves, and no prices; words and units are written for each tree.
    kind : int
        SQUARED, LOGISTIC or SOFTMAX.
    y, weight : float64 (n,)
        Labels (class codes) and weights.
    counts : int64 (n,)
        Rows that each row counts as in the fewest rows of a leaf.
    inside, outside : int32
        Rows for growing, and held-out rows.
    largest : float
        Largest output of a leaf.
    step : float
    scores : float64 (n, K)
        Of all rows; written.
    nodes, values, sizes : int64 (R, K, 2 L - 1, 5), float64 (R, K, 2 L - 1), int64 (R, K)
        Written: trees, as `Room.nodes`, their leaves' outputs -G/(H + l2), and their numbers of nodes.
    lost : float64 (R,)
        Written: sum of the losses of held-out rows after each round.
    kept : float64 (R, len(outside), K)
        Written: scores of held-out rows after each round.
    gain : float64 (d, d)
        The gains of splits are added, by pair of features.
    """
    n, n_outputs = scores.shape
    gradients, hessians, rows = np.empty((n_outputs, n)), np.empty((n_outputs, n)), inside.copy()
    for number in range(nodes.shape[0]):
        derive(kind, y, scores, gradients, hessians, task.address)
        for k in range(n_outputs):
            g, h, output = gradients[k], hessians[k], values[number, k]
            for row in range(n):
                g[row] *= weight[row]
                h[row] *= weight[row]
            copy_rows(inside, rows)
            count, exponent, scale, hessian_scale = grow_on(task, room, free, rows, g, h, counts, nodes[number, k])
            sizes[number, k], output[:count] = count, 0.0
            _put_outputs(task, room, rows, g, h, scale, hessian_scale, largest, output)
            for slot in range(room.state[LEAVES]):
                value = output[room.place[slot, NODE]]
                for row in rows[room.place[slot, BEGIN] : room.place[slot, BEGIN] + room.place[slot, COUNT]]:
                    scores[row, k] += step * value
            for row in outside:
                scores[row, k] += step * output[leaf_of(task.bins, room.nodes, row)]
            _note_gains(nodes[number, k], room.gained, count, math.ldexp(1.0, 2 * exponent), gain)
        lost[number] = sum_losses(kind, y, weight, scores, outside, task.count_bits, task.address)
        for at in range(outside.shape[0]):
            for k in range(n_outputs):
                kept[number, at, k] = scores[outside[at], k]
