"""Several rounds of boosting without prices in one compiled call: gradients, trees, scores and held-out losses."""

import math

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel, kernel_using
from costframe.trees.growing import histogram_kernels, partition_kernels, split_kernels, unpriced_kernels
from costframe.trees.growing.unpriced_kernels import grow_unpriced, leaf_of, room_for

__all__ = ["LOGISTIC", "SOFTMAX", "SQUARED", "add_rounds", "sum_losses"]

SQUARED, LOGISTIC, SOFTMAX = 0, 1, 2
_LEAST_HESSIAN = 1e-16
_using = kernel_using(histogram_kernels, partition_kernels, split_kernels, unpriced_kernels)
_LIMIT_BITS, _EXACT_BITS = 62, 53  # as in `packing.pack`


@kernel
def _derive(
    kind: int,
    y: NDArray[np.float64],
    scores: NDArray[np.float64],
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64],
) -> None:
    """Write both derivatives of each row's loss by each score, (K, n), without weights.

    With the digits of single precision, so that their sums are exact, and a weight of two is a row given twice.
    """
    n_outputs, unit = scores.shape[1], 1.0
    if kind == SQUARED:  # labels have any size
        largest = 0.0
        for row in range(y.shape[0]):
            largest = max(largest, abs(scores[row, 0] - y[row]))
        unit = math.ldexp(1.0, max(math.frexp(largest)[1], -1000))
    for row in range(y.shape[0]):
        if kind == SQUARED:
            gradients[0, row] = np.float64(np.float32((scores[row, 0] - y[row]) / unit)) * unit
            hessians[0, row] = 1.0
        elif kind == LOGISTIC:
            p = 1.0 / (1.0 + math.exp(-scores[row, 0]))
            gradients[0, row], hessians[0, row] = np.float32(p - y[row]), np.float32(max(p * (1.0 - p), _LEAST_HESSIAN))
        else:
            top = scores[row, 0]
            for k in range(1, n_outputs):
                top = max(top, scores[row, k])
            total = 0.0
            for k in range(n_outputs):
                gradients[k, row] = math.exp(scores[row, k] - top)
                total += gradients[k, row]
            for k in range(n_outputs):
                p = gradients[k, row] / total
                gradients[k, row] = np.float32(p - (1.0 if y[row] == k else 0.0))
                hessians[k, row] = np.float32(max(p * (1.0 - p), _LEAST_HESSIAN))


@kernel
def sum_losses(kind: int, y: NDArray[np.float64], weight: NDArray[np.float64], scores: NDArray[np.float64],
            rows: NDArray[np.int32]) -> float:  # fmt: skip
    """Sum of the losses of some rows, times their weights."""
    total = 0.0
    for row in rows:
        if kind == SQUARED:
            lost = 0.5 * (scores[row, 0] - y[row]) ** 2
        elif kind == LOGISTIC:
            margin = scores[row, 0] if y[row] == 1.0 else -scores[row, 0]
            lost = math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)
        else:
            top = scores[row, 0]
            for k in range(1, scores.shape[1]):
                top = max(top, scores[row, k])
            powers = 0.0
            for k in range(scores.shape[1]):
                powers += math.exp(scores[row, k] - top)
            lost = top + math.log(powers) - scores[row, int(y[row])]
        total += weight[row] * lost
    return total


@kernel
def _scale(values: NDArray[np.float64], bits: int) -> float:
    """Return the largest power of two that keeps every sum of rounded values below 2^bits; 1 if all are zero."""
    total = 0.0
    for value in values:
        total += abs(value)
    if total == 0.0:
        return 1.0
    room = math.ldexp(1.0, bits) - values.shape[0] / 2
    share, exponent = math.frexp(total)
    return math.ldexp(1.0, math.frexp(room / share)[1] - 1 - exponent)


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
    bins: NDArray[np.uint8],
    bin_columns: NDArray[np.uint8],
    columns: NDArray[np.int64],
    n_bins: NDArray[np.int64],
    kind: int,
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    counts: NDArray[np.int64],
    inside: NDArray[np.int32],
    outside: NDArray[np.int32],
    limits: NDArray[np.float64],
    max_leaves: int,
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
    bins, bin_columns : uint8 (n, d), uint8 (d, n)
    columns, n_bins : int64 (k,)
        Columns that may be split on, and their bins besides the missing one.
    kind : int
        SQUARED, LOGISTIC or SOFTMAX.
    y, weight : float64 (n,)
        Labels (class codes) and weights.
    counts : int64 (n,)
        How many rows each one is for the fewest rows of a leaf.
    inside, outside : int32
        Rows to grow on, and rows to judge by.
    limits : float64 (4,)
        As for `find_splits`, and the largest output of a leaf.
    max_leaves : int
    step : float
    scores : float64 (n, K)
        Of all rows; written.
    nodes, values, sizes : int64 (R, K, 2 L - 1, 5), float64 (R, K, 2 L - 1), int64 (R, K)
        Written: trees, as `grow_unpriced` gives them, their leaves' outputs, and their numbers of nodes.
    lost : float64 (R,)
        Written: sum of the losses outside after each round.
    kept : float64 (R, len(outside), K)
        Written: scores outside after each round.
    gain : float64 (d, d)
        What splits gained is added, by pair of features.
    """
    n, n_outputs = scores.shape
    gradients, hessians = np.empty((n_outputs, n)), np.empty((n_outputs, n))
    words, rows = np.empty((n, 1 if kind == SQUARED and (weight == 1.0).all() else 2), np.int64), inside.copy()
    histograms = room_for(max_leaves, n_bins, words.shape[1])
    gains, spans, units = np.empty(2 * max_leaves - 1), np.empty((2 * max_leaves - 1, 2), np.int64), np.empty(2)
    count_bits, total = 0, counts.sum()
    while total >> count_bits:
        count_bits += 1
    bits = min(_EXACT_BITS, _LIMIT_BITS - count_bits)
    for number in range(nodes.shape[0]):
        _derive(kind, y, scores, gradients, hessians)
        for k in range(n_outputs):
            g, h, tree = gradients[k], hessians[k], nodes[number, k]
            for row in range(n):
                g[row] *= weight[row]
                h[row] *= weight[row]
            scale, hessian_scale = _scale(g, bits), _scale(h, _EXACT_BITS)
            for row in range(n):
                words[row, 0] = (np.int64(np.rint(g[row] * scale)) << count_bits) + counts[row]
                if words.shape[1] == 2:
                    words[row, 1] = np.int64(np.rint(h[row] * hessian_scale))
            exponent = bits - math.frexp(scale)[1] + 1
            units[0], units[1] = math.ldexp(1 / scale, -exponent), 1 / hessian_scale
            rows[:] = inside
            count = grow_unpriced(
                bins, bin_columns, words, rows, columns, n_bins, count_bits, units, limits, n, histograms, tree, gains,
                spans,
            )  # fmt: skip
            sizes[number, k] = count
            _leaf_values(rows, tree, spans, count, g, h, limits[0], limits[3], values[number, k])
            _score_rows(bins, tree, values[number, k], spans, count, rows, outside, step, scores[:, k])
            _note_gains(tree, gains, count, math.ldexp(1.0, 2 * exponent), gain)
        lost[number] = sum_losses(kind, y, weight, scores, outside)
        for at in range(outside.shape[0]):
            kept[number, at] = scores[outside[at]]
