"""Compiled coding of values: the number of a feature's cuts below each value, in blocks of rows; outputs by code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import F8, I4, I8, U4, Codes, kernel
from costframe.core.learners.readings import PLAIN
from costframe.core.learners.row_kernels import read_cell

if TYPE_CHECKING:
    from costframe.core.learners.cuts import Cuts
    from costframe.core.learners.node_layout import NodeLayout

BLOCK = 512


@kernel
def _count_next(below: U4, value: F8, count: int, cut: F8, size: int) -> None:
    """Raise below[i] by the number of cuts from there on, at most `size`, that are below value[i]; none are for NaN."""
    window, one = np.uint64(size), np.uint64(1)  # places without a sign, so that none is taken from the end
    while window > one:
        half = window >> one
        for i in range(count):
            below[i] += np.uint32(half) * np.uint32(cut[np.uint64(below[i]) + half - one] < value[i])
        window -= half
    if window == one:
        for i in range(count):
            below[i] += np.uint32(cut[np.uint64(below[i])] < value[i])


@kernel
def count_below(below: U4, value: F8, count: int, cuts: Cuts, feature: int) -> None:
    """Set below[i] to the number of a feature's cuts below value[i], 0 for NaN: a look-up leaves few to the search."""
    cut = cuts.cut[cuts.first[feature] : cuts.first[feature + 1]]
    certain = cuts.certain[cuts.first_step[feature] : cuts.first_step[feature + 1]]
    low, scale = float(cuts.low[feature]), float(cuts.scale[feature])  # NumPy's own would warn of infinity
    last = float(certain.shape[0] - 1)
    for i in range(count):
        at = (float(value[i]) - low) * scale
        at = at if at > 0.0 else 0.0  # noqa: FURB136 - NaN becomes zero
        below[i] = certain[np.uint64(at if at < last else last)]  # noqa: FURB136
    _count_next(below, value, count, cut, cuts.window[feature])


@kernel
def _code_numbers(value: F8, below: U4, count: int, missing: int, reading: int, code: Codes) -> None:
    """Set code[i] for a value with below[i] cuts below it, or that of a missing one."""
    for i in range(count):
        code[i] = missing if np.isnan(value[i]) else below[i] + 1
    if reading != PLAIN:
        for i in range(count):
            code[i] = missing if np.isnan(read_cell(value[i], reading)) else code[i]


@kernel
def _code_categories(value: F8, below: U4, count: int, known: F8, reading: int, code: Codes) -> None:
    """Set code[i] to the rank of value[i] among the known categories, of which the last may be NaN, or their number."""
    if reading != PLAIN:
        value = value.copy()
        for i in range(count):
            value[i] = read_cell(value[i], reading)
    below[:] = 0
    _count_next(below, value, count, known, known.shape[0])
    last = known.shape[0] - 1
    missing = last if np.isnan(known[last]) else last + 1
    for i in range(count):
        found = below[i] <= last and known[below[i]] == value[i]
        code[i] = below[i] if found else missing if np.isnan(value[i]) else last + 1


@kernel
def code_rows(X: F8, used: I8, nodes: NodeLayout, codes: Codes) -> None:
    """Set the codes of all rows, (code columns, rows), as `NodeLayout` defines them."""
    value, below = np.empty(BLOCK, np.float64), np.empty(BLOCK, np.uint32)
    first, missing, categories = nodes.column_first, nodes.column_missing, nodes.category_column
    reading = nodes.column_reading
    n_cuts = missing.shape[0] - nodes.category_first.shape[0] + 1  # code columns of comparisons
    for start in range(0, X.shape[0], BLOCK):
        count = min(BLOCK, X.shape[0] - start)
        for u in range(used.shape[0]):
            if first[u] == first[u + 1] and categories[u] == categories[u + 1]:
                continue
            for i in range(count):
                value[i] = X[start + i, used[u]]
            if first[u] < first[u + 1]:
                count_below(below, value, count, nodes.cuts, u)
            for column in range(first[u], first[u + 1]):
                code = codes[column, start : start + count]
                _code_numbers(value, below, count, missing[column], reading[column], code)
            for column in range(categories[u], categories[u + 1]):
                at = column - n_cuts
                known = nodes.category[nodes.category_first[at] : nodes.category_first[at + 1]]
                _code_categories(value, below, count, known, reading[column], codes[column, start : start + count])


@kernel
def write_outputs(codes: Codes, dense: F8, source: I4, values: F8, rows: I8, factor: F8, out: F8) -> None:
    """Set out[i, j] to factor[i] h, h = values[j, codes[r, source[j]]], or dense[r, -1 - source[j]] + values[j, 0].

    The row r is rows[i]; the second form of h is for source < 0.
    """
    for i in range(out.shape[0]):
        row = rows[i]
        times = factor[i]
        for j in range(out.shape[1]):
            column = source[j]
            if column >= 0:
                out[i, j] = times * values[j, codes[row, column]]
            else:
                out[i, j] = times * (dense[row, -1 - column] + values[j, 0])
