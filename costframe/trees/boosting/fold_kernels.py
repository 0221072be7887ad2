"""Boosting without prices in one compiled call: rounds of a loss, and regressions of many numbers at once."""

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

__all__ = ["add_rounds", "boost_many"]


@kernel
def _grow_on(
    task: Task,
    room: Room,
    free: PriceState,
    rows: NDArray[np.int32],
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64],
    counts: NDArray[np.int64],
    nodes: NDArray[np.int64],
) -> tuple[int, int]:
    """Grow a tree, write its nodes (2 L - 1, 5); return their number, and the exponent of the gradients' unit."""
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
    return count, exponent


@kernel
def _copy(source: NDArray[np.int32], target: NDArray[np.int32]) -> None:
    """Copy all items."""
    for at in range(source.shape[0]):
        target[at] = source[at]


@kernel
def _divide(values: NDArray[np.float64], divisor: float) -> None:
    """Divide all items, in place."""
    for at in range(values.shape[0]):
        values[at] /= divisor


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
        derive(kind, y, scores, gradients, hessians)
        for k in range(n_outputs):
            g, h, output = gradients[k], hessians[k], values[number, k]
            for row in range(n):
                g[row] *= weight[row]
                h[row] *= weight[row]
            _copy(inside, rows)
            count, exponent = _grow_on(task, room, free, rows, g, h, counts, nodes[number, k])
            sizes[number, k], output[:count] = count, 0.0
            for slot in range(room.state[LEAVES]):
                mine = rows[room.place[slot, BEGIN] : room.place[slot, BEGIN] + room.place[slot, COUNT]]
                g_sum, h_sum = 0.0, task.limits[0]
                for row in mine:
                    g_sum += g[row]
                    h_sum += h[row]
                value = min(max(-g_sum / h_sum, -largest), largest) if h_sum > 0 else 0.0
                output[room.place[slot, NODE]] = value
                for row in mine:
                    scores[row, k] += step * value
            for row in outside:
                scores[row, k] += step * output[leaf_of(task.bins, room.nodes, row)]
            _note_gains(nodes[number, k], room.gained, count, math.ldexp(1.0, 2 * exponent), gain)
        lost[number] = sum_losses(kind, y, weight, scores, outside)
        for at in range(outside.shape[0]):
            for k in range(n_outputs):
                kept[number, at, k] = scores[outside[at], k]


@kernel
def _mixture(residual: NDArray[np.float64], rows: NDArray[np.int32], weight: NDArray[np.float64],
             mix: NDArray[np.float64], mixed: NDArray[np.float64]) -> None:  # fmt: skip
    """Turn `mix`, (T,), a step towards the residuals' principal direction, and write -weight * (residual @ mix)."""
    for row in rows:
        total = 0.0
        for t in range(mix.shape[0]):
            total += residual[row, t] * mix[t]
        mixed[row] = weight[row] * total
    mix[:] = 0.0
    for row in rows:
        for t in range(mix.shape[0]):
            mix[t] += residual[row, t] * mixed[row]
    square = 0.0
    for t in range(mix.shape[0]):
        square += mix[t] * mix[t]
    size = math.sqrt(square)
    if size > 0.0:
        _divide(mix, size)
    for row in rows:
        total = 0.0
        for t in range(mix.shape[0]):
            total += residual[row, t] * mix[t]
        mixed[row] = -weight[row] * np.float32(total)  # for exact sums


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
        Targets; overwritten by the residuals.
    nodes, values, sizes : int64 (R, 2 L - 1, 5), float64 (R, 2 L - 1, T), int64 (R,)
        Written: trees, their leaves' weighted means of residuals, shrunk by l2, and their numbers of nodes.
    """
    n, n_targets = residual.shape
    mixed, rows, mix = np.zeros(n), inside.copy(), np.ones(n_targets)
    for number in range(nodes.shape[0]):
        _mixture(residual, inside, weight, mix, mixed)
        _copy(inside, rows)
        count, _ = _grow_on(task, room, free, rows, mixed, weight, counts, nodes[number])
        if count == 1:
            return number
        sizes[number], output = count, values[number]
        output[:count] = 0.0
        for slot in range(room.state[LEAVES]):
            mass, node, begin = task.limits[0], room.place[slot, NODE], room.place[slot, BEGIN]
            mine = rows[begin : begin + room.place[slot, COUNT]]
            for row in mine:
                mass += weight[row]
                for t in range(n_targets):
                    output[node, t] += weight[row] * residual[row, t]
            _divide(output[node], mass)
            for row in mine:
                for t in range(n_targets):
                    residual[row, t] -= step * output[node, t]
        for row in outside:
            node = leaf_of(task.bins, room.nodes, row)
            for t in range(n_targets):
                residual[row, t] -= step * output[node, t]
    return len(nodes)
