"""Boosted regression of many numbers at once: each tree splits by one mixture of them, and its leaves hold all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel, kernel_using
from costframe.trees.growing import grow_kernels, partition_kernels
from costframe.trees.growing.grow_kernels import copy_tree, grow
from costframe.trees.growing.partition_kernels import leaf_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.growing.prices import PriceState
    from costframe.trees.growing.room import Room, Task

__all__ = ["boost_many"]

_BITS = 53
_using = kernel_using(grow_kernels, partition_kernels)


@kernel
def _mixture(residual: NDArray[np.float64], rows: NDArray[np.int32], weight: NDArray[np.float64],
             mix: NDArray[np.float64], mixed: NDArray[np.float64]) -> None:  # fmt: skip
    """Turn `mix`, (T,), a step towards the residuals' principal direction, and write weight * (residual @ mix)."""
    for row in rows:
        total = 0.0
        for t in range(mix.shape[0]):
            total += residual[row, t] * mix[t]
        mixed[row] = weight[row] * total
    mix[:] = 0.0
    for row in rows:
        for t in range(mix.shape[0]):
            mix[t] += residual[row, t] * mixed[row]
    size = math.sqrt((mix * mix).sum())
    if size > 0.0:
        mix /= size
    for row in rows:
        total = 0.0
        for t in range(mix.shape[0]):
            total += residual[row, t] * mix[t]
        mixed[row] = weight[row] * np.float32(total)  # so that sums are exact


@kernel
def _fill_leaves(
    rows: NDArray[np.int32],
    nodes: NDArray[np.int64],
    spans: NDArray[np.int64],
    count: int,
    weight: NDArray[np.float64],
    l2: float,
    residual: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    """Write the weighted means of the residuals at leaves, shrunk by l2, and zeros at inner nodes."""
    for node in range(count):
        values[node] = 0.0
        if nodes[node, 0] >= 0:
            continue
        mass = l2
        for at in range(spans[node, 0], spans[node, 1]):
            row = rows[at]
            mass += weight[row]
            for t in range(residual.shape[1]):
                values[node, t] += weight[row] * residual[row, t]
        values[node] /= mass


@kernel
def _pack(rows: NDArray[np.int32], mixed: NDArray[np.float64], weight: NDArray[np.float64], heavy: float,
          counts: NDArray[np.int64], count_bits: int, words: NDArray[np.int64]) -> float:  # fmt: skip
    """Write words of gradients -mixed and hessians weight, and return the scale of the former; 0 if all are zero."""
    size = 0.0
    for row in rows:
        size += abs(mixed[row])
    if size == 0.0:
        return 0.0
    scale = math.ldexp(1.0, min(_BITS, 62 - count_bits) - 1 - math.frexp(size)[1])
    for row in rows:
        words[row, 0] = (np.int64(np.rint(-mixed[row] * scale)) << count_bits) + counts[row]
        if words.shape[1] == 2:
            words[row, 1] = np.int64(np.rint(weight[row] * heavy))
    return scale


@_using
def boost_many(
    task: Task,
    room: Room,
    p: PriceState,
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
    """Boost by squared loss, and return the number of trees.

    Parameters
    ----------
    task, room, p, weight, counts, inside, outside, step
        As for `rounds_kernels.add_rounds`.
    residual : float64 (n, T)
        Targets; what is left of them is written.
    nodes, values, sizes : int64 (R, 2 L - 1, 5), float64 (R, 2 L - 1, T), int64 (R,)
        Written: trees, the outputs of their leaves, and their numbers of nodes.
    """
    n, n_targets = residual.shape
    mixed, rows, mix = np.zeros(n), inside.copy(), np.ones(n_targets)
    gains, spans = np.empty(nodes.shape[1]), np.empty((nodes.shape[1], 2), np.int64)
    heavy = math.ldexp(1.0, _BITS - 1 - math.frexp(max(weight.sum(), 1e-300))[1])
    for number in range(nodes.shape[0]):
        _mixture(residual, inside, weight, mix, mixed)
        scale = _pack(inside, mixed, weight, heavy, counts, task.count_bits, task.words)
        if scale == 0.0:
            return number
        task.units[0], task.units[1] = 1 / scale, 1 / heavy
        rows[:] = inside
        room.state[0] = 0
        grow(task, room, rows, p)
        count = copy_tree(room, nodes[number], gains, spans)
        if count == 1:
            return number
        sizes[number] = count
        _fill_leaves(rows, nodes[number], spans, count, weight, task.limits[0], residual, values[number])
        for side in (inside, outside):
            for row in side:
                node = leaf_of(task.bins, nodes[number], row)
                for t in range(n_targets):
                    residual[row, t] -= step * values[number, node, t]
    return len(nodes)
