"""Several rounds of boosting without prices in one compiled call: gradients, trees, scores and held-out losses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel, kernel_using
from costframe.trees.boosting import loss_kernels
from costframe.trees.boosting.loss_kernels import derive, sum_losses
from costframe.trees.growing import grow_kernels, packing_kernels, partition_kernels
from costframe.trees.growing.grow_kernels import copy_tree, grow
from costframe.trees.growing.packing_kernels import scale_for
from costframe.trees.growing.partition_kernels import leaf_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.growing.prices import PriceState
    from costframe.trees.growing.room import Room, Task

__all__ = ["add_rounds"]

_LIMIT_BITS, _EXACT_BITS = 62, 53  # as in `packing.pack`
_using = kernel_using(grow_kernels, loss_kernels, packing_kernels, partition_kernels)


@kernel
def _leaf_values(
    rows: NDArray[np.int32],
    nodes: NDArray[np.int64],
    spans: NDArray[np.int64],
    count: int,
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64],
    l2: float,
    largest: float,
    values: NDArray[np.float64],
) -> None:
    """Write -G/(H + l2) at leaves, but nothing beyond `largest`, and 0 at inner nodes."""
    for node in range(count):
        values[node] = 0.0
        if nodes[node, 0] < 0:
            g, h = 0.0, l2
            for at in range(spans[node, 0], spans[node, 1]):
                g += gradients[rows[at]]
                h += hessians[rows[at]]
            values[node] = min(max(-g / h, -largest), largest) if h > 0 else 0.0


@_using
def _score_rows(
    bins: NDArray[np.uint8],
    nodes: NDArray[np.int64],
    values: NDArray[np.float64],
    spans: NDArray[np.int64],
    count: int,
    rows: NDArray[np.int32],
    others: NDArray[np.int32],
    step: float,
    scores: NDArray[np.float64],
) -> None:
    """Add step times the tree's value to the scores, (n,), of the rows it was grown on and of others."""
    for node in range(count):
        if nodes[node, 0] < 0:
            value = step * values[node]
            for at in range(spans[node, 0], spans[node, 1]):
                scores[rows[at]] += value
    for row in others:
        scores[row] += step * values[leaf_of(bins, nodes, row)]


@kernel
def _note_gains(nodes: NDArray[np.int64], gains: NDArray[np.float64], count: int, unit: float,
                table: NDArray[np.float64]) -> None:  # fmt: skip
    """Add what each split gains to its feature's, and to that of each pair with a feature tested above it."""
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


@_using
def add_rounds(
    task: Task,
    room: Room,
    p: PriceState,
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
    task, room, p : Task, Room, PriceState
        How to grow a tree, with room for its leaves; words and units are written for each.
    kind : int
        SQUARED, LOGISTIC or SOFTMAX.
    y, weight : float64 (n,)
        Labels (class codes) and weights.
    counts : int64 (n,)
        How many rows each one is for the fewest rows of a leaf.
    inside, outside : int32
        Rows to grow on, and rows to judge by.
    largest : float
        Output of a leaf, at most.
    step : float
    scores : float64 (n, K)
        Of all rows; written.
    nodes, values, sizes : int64 (R, K, 2 L - 1, 5), float64 (R, K, 2 L - 1), int64 (R, K)
        Written: trees, as `copy_tree` gives them, their leaves' outputs, and their numbers of nodes.
    lost : float64 (R,)
        Written: sum of the losses outside after each round.
    kept : float64 (R, len(outside), K)
        Written: scores outside after each round.
    gain : float64 (d, d)
        What splits gained is added, by pair of features.
    """
    n, n_outputs = scores.shape
    gradients, hessians, rows = np.empty((n_outputs, n)), np.empty((n_outputs, n)), inside.copy()
    gains, spans = np.empty(nodes.shape[2]), np.empty((nodes.shape[2], 2), np.int64)
    words, count_bits, units = task.words, task.count_bits, task.units
    bits = min(_EXACT_BITS, _LIMIT_BITS - count_bits)
    for number in range(nodes.shape[0]):
        derive(kind, y, scores, gradients, hessians)
        for k in range(n_outputs):
            g, h, tree = gradients[k], hessians[k], nodes[number, k]
            for row in range(n):
                g[row] *= weight[row]
                h[row] *= weight[row]
            scale, hessian_scale = scale_for(g, bits), scale_for(h, _EXACT_BITS)
            for row in range(n):
                words[row, 0] = (np.int64(np.rint(g[row] * scale)) << count_bits) + counts[row]
                if words.shape[1] == 2:
                    words[row, 1] = np.int64(np.rint(h[row] * hessian_scale))
            exponent = bits - math.frexp(scale)[1] + 1
            units[0], units[1] = math.ldexp(1 / scale, -exponent), 1 / hessian_scale
            rows[:] = inside
            room.state[0] = 0
            grow(task, room, rows, p)
            count = copy_tree(room, tree, gains, spans)
            sizes[number, k] = count
            _leaf_values(rows, tree, spans, count, g, h, task.limits[0], largest, values[number, k])
            _score_rows(task.bins, tree, values[number, k], spans, count, rows, outside, step, scores[:, k])
            _note_gains(tree, gains, count, math.ldexp(1.0, 2 * exponent), gain)
        lost[number] = sum_losses(kind, y, weight, scores, outside)
        for at in range(outside.shape[0]):
            kept[number, at] = scores[outside[at]]
