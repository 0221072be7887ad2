"""Boosted regression of many numbers at once: each tree splits by one mixture of them, and its leaves hold all."""

import math

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel
from costframe.trees.unpriced_kernels import grow_unpriced

__all__ = ["boost_many"]

_BITS = 53


@kernel
def _mixture(residual: NDArray[np.float64], rows: NDArray[np.int32], weight: NDArray[np.float64],
             mix: NDArray[np.float64], mixed: NDArray[np.float64]) -> float:  # fmt: skip
    """Turn `mix`, (T,), a step towards the residuals' principal direction, and write residual @ mix; return its size."""
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
    return size


@kernel
def boost_many(
    bins: NDArray[np.uint8],
    bin_columns: NDArray[np.uint8],
    columns: NDArray[np.int64],
    n_bins: NDArray[np.int64],
    weight: NDArray[np.float64],
    counts: NDArray[np.int64],
    inside: NDArray[np.int32],
    outside: NDArray[np.int32],
    limits: NDArray[np.float64],
    step: float,
    residual: NDArray[np.float64],
    nodes: NDArray[np.int64],
    values: NDArray[np.float64],
    sizes: NDArray[np.int64],
) -> int:
    """Boost by squared loss, and return the number of trees.

    Parameters
    ----------
    bins, bin_columns, columns, n_bins, weight, counts, inside, outside, limits, step
        As for `rounds_kernels.add_rounds`.
    residual : float64 (n, T)
        Targets; what is left of them is written.
    nodes, values, sizes : int64 (R, 2 L - 1, 5), float64 (R, 2 L - 1, T), int64 (R,)
        Written: trees, the outputs of their leaves, and their numbers of nodes.
    """
    n, n_targets = residual.shape
    most = (nodes.shape[1] + 1) // 2
    words, mixed, rows = np.empty((n, 2), np.int64), np.zeros(n), inside.copy()
    histograms = np.empty((most, columns.shape[0], 256, 2), np.int64)
    gains, spans, units = np.empty(2 * most - 1), np.empty((2 * most - 1, 2), np.int64), np.empty(2)
    mix = np.ones(n_targets)
    count_bits, total = 0, counts.sum()
    while total >> count_bits:
        count_bits += 1
    bits = min(_BITS, 62 - count_bits)
    heavy = math.ldexp(1.0, _BITS - 1 - math.frexp(max(weight.sum(), 1e-300))[1])
    for number in range(nodes.shape[0]):
        if _mixture(residual, inside, weight, mix, mixed) == 0.0:
            return number
        size = 0.0
        for row in inside:
            size += abs(mixed[row])
        if size == 0.0:
            return number
        scale = math.ldexp(1.0, bits - 1 - math.frexp(size)[1])
        for row in inside:
            words[row, 0] = (np.int64(np.rint(-mixed[row] * scale)) << count_bits) + counts[row]
            words[row, 1] = np.int64(np.rint(weight[row] * heavy))
        units[0], units[1] = 1 / scale, 1 / heavy
        rows[:] = inside
        count = grow_unpriced(
            bins, bin_columns, words, rows, columns, n_bins, count_bits, units, limits, n, histograms, nodes[number],
            gains, spans,
        )  # fmt: skip
        if count == 1:
            return number
        sizes[number] = count
        for node in range(count):
            values[number, node] = 0.0
            if nodes[number, node, 0] >= 0:
                continue
            mass = limits[0]
            for at in range(spans[node, 0], spans[node, 1]):
                row = rows[at]
                mass += weight[row]
                for t in range(n_targets):
                    values[number, node, t] += weight[row] * residual[row, t]
            values[number, node] /= mass
            for at in range(spans[node, 0], spans[node, 1]):
                for t in range(n_targets):
                    residual[rows[at], t] -= step * values[number, node, t]
        for row in outside:
            node = 0
            while nodes[number, node, 0] >= 0:
                cell = np.int64(bins[row, nodes[number, node, 0]])
                left = nodes[number, node, 2] == 1 if cell == 255 else cell <= nodes[number, node, 1]
                node = nodes[number, node, 3] if left else nodes[number, node, 4]
            for t in range(n_targets):
                residual[row, t] -= step * values[number, node, t]
    return nodes.shape[0]
