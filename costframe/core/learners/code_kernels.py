"""Compiled coding of values: the number of a feature's cuts below each value, in blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import F8, I4, I8, Codes, kernel

if TYPE_CHECKING:
    from costframe.core.learners.node_layout import NodeLayout

BLOCK = 512


@kernel
def _count_below(below: I4, value: F8, count: int, cut: F8, size: int) -> None:
    """Raise below[i] by the number of cuts from there on, at most `size`, that are below value[i]; none are for NaN."""
    while size > 1:
        half = size >> 1
        for i in range(count):
            below[i] += np.int32(half) * np.int32(cut[below[i] + half - 1] < value[i])
        size -= half
    if size == 1:
        for i in range(count):
            below[i] += np.int32(cut[below[i]] < value[i])


@kernel
def _look_up(below: I4, value: F8, count: int, low: float, scale: float, bucket: I4) -> None:
    """Set below[i] to the entry of value[i] in a table of equal steps from `low` on; NaN has the first."""
    begin, steps, last = float(low), float(scale), float(bucket.shape[0] - 1)  # NumPy's own would warn of infinity
    for i in range(count):
        at = (float(value[i]) - begin) * steps
        at = at if at > 0.0 else 0.0  # noqa: FURB136 - NaN becomes zero
        below[i] = bucket[np.uint64(at if at < last else last)]  # noqa: FURB136


@kernel
def code_rows(X: F8, used: I8, nodes: NodeLayout, codes: Codes) -> None:
    """Set the codes of all rows, (code columns, rows), as `NodeLayout` defines them."""
    value, below = np.empty(BLOCK, np.float64), np.empty(BLOCK, np.int32)
    first, missing, categories = nodes.column_first, nodes.column_missing, nodes.category_column
    n_cuts = missing.shape[0] - nodes.category_first.shape[0] + 1  # code columns of comparisons
    for start in range(0, X.shape[0], BLOCK):
        count = min(BLOCK, X.shape[0] - start)
        for u in range(used.shape[0]):
            if first[u] == first[u + 1] and categories[u] == categories[u + 1]:
                continue
            for i in range(count):
                value[i] = X[start + i, used[u]]
            if first[u] < first[u + 1]:
                bucket = nodes.bucket[nodes.bucket_first[u] : nodes.bucket_first[u + 1]]
                _look_up(below, value, count, nodes.low[u], nodes.scale[u], bucket)
                cut = nodes.cut[nodes.cut_first[u] : nodes.cut_first[u + 1]]
                _count_below(below, value, count, cut, nodes.window[u])
            for column in range(first[u], first[u + 1]):
                code, lacking = codes[column, start : start + count], missing[column]
                for i in range(count):
                    code[i] = lacking if np.isnan(value[i]) else below[i] + 1
            for column in range(categories[u], categories[u + 1]):
                at = column - n_cuts
                known = nodes.category[nodes.category_first[at] : nodes.category_first[at + 1]]
                below[:] = 0
                _count_below(below, value, count, known, known.shape[0])
                for i in range(count):
                    found = below[i] < known.shape[0] and known[below[i]] == value[i]
                    codes[column, start + i] = below[i] if found else known.shape[0]
