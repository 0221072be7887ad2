"""Compiled walk of a single row through all stages, without blocks and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    F8 = NDArray[np.float64]
    I8 = NDArray[np.int64]
    U1 = NDArray[np.uint8]
    U4 = NDArray[np.uint32]
    U8 = NDArray[np.uint64]

__all__ = ["walk_row"]

TREE = 0
NAMED_AT, STEPS_AT, COLUMN_AT = np.uint64(63), np.uint64(40), np.uint64(24)  # parts of a node's word
STEPS_BITS, COLUMN_BITS, RANK_BITS = np.uint64(0x7FFFFF), np.uint64(0xFFFF), np.uint64(0xFFFFFF)


@kernel
def _below(value: float, cut: F8) -> int:
    """Return the number of cuts below a value, zero for NaN."""
    begin, size = 0, cut.shape[0]
    while size > 0:
        half = size >> 1
        above = cut[begin + half] < value
        begin += half + 1 if above else 0
        size = size - half - 1 if above else half
    return begin


@kernel
def _code_row(row: F8, used: I8, cut_first: I8, cut: F8, column_first: I8, column_missing: U4, codes: U4) -> None:
    """Set the codes of one row; see `kernels.code_rows`."""
    for u in range(used.shape[0]):
        if column_first[u] == column_first[u + 1]:
            continue
        value = row[used[u]]
        code = _below(value, cut[cut_first[u] : cut_first[u + 1]]) + 1
        for column in range(column_first[u], column_first[u + 1]):
            codes[column] = column_missing[column] if np.isnan(value) else code


@kernel
def _code_categories(row: F8, used: I8, category_first: I8, category: F8, column: I8, codes: U4) -> None:
    """Set the codes of one row by category; see `kernels.code_categories`."""
    for u in range(used.shape[0]):
        if column[u] < 0:
            continue
        known = category[category_first[u] : category_first[u + 1]]
        below = _below(row[used[u]], known)
        found = below < known.shape[0] and known[below] == row[used[u]]
        codes[column[u]] = below if found else known.shape[0]


@kernel
def _goes_right(test: np.uint64, code: np.uint64, sets: U8) -> np.uint64:
    """Return 1 if a code goes right at a node, else 0."""
    rank = test & RANK_BITS
    if test >> NAMED_AT != 0:
        return np.uint64((sets[rank + (code >> np.uint64(6))] >> (code & np.uint64(63))) & np.uint64(1))
    return np.uint64(code > rank)


@kernel
def walk_row(
    X: F8,
    used: I8,
    cut_first: I8,
    cut: F8,
    column_first: I8,
    column_missing: U4,
    category_first: I8,
    category: F8,
    category_column: I8,
    sets: U8,
    word: U8,
    stage_first: I8,
    kind: U1,
    place: I8,
    fill: F8,
    target_first: I8,
    target: I8,
    payload_first: I8,
    payload: F8,
    intercept: F8,
    threshold: F8,
    below: I8,
    above: I8,
    scores: F8,
) -> int:
    """Walk the single row of X through all stages, without opaque learners; set scores[0] and return the exit."""
    codes = np.empty((1, column_missing.shape[0]), np.uint32)
    _code_row(X[0], used, cut_first, cut, column_first, column_missing, codes[0])
    if category.shape[0] > 0:
        _code_categories(X[0], used, category_first, category, category_column, codes[0])
    stage = 0
    while True:
        for k in range(intercept.shape[1]):
            scores[0, k] = intercept[stage, k]
        for use in range(stage_first[stage], stage_first[stage + 1]):
            first, targets = payload_first[use], target_first[use + 1] - target_first[use]
            value = 1.0
            if kind[use] == TREE:
                node = np.uint64(place[use])
                test = word[node]
                while test >> STEPS_AT != 0:
                    right = _goes_right(test, np.uint64(codes[0, (test >> COLUMN_AT) & COLUMN_BITS]), sets)
                    node += ((test >> STEPS_AT) & STEPS_BITS) + right
                    test = word[node]
                first += (np.int64(node) - place[use]) * targets
            else:
                value = X[0, place[use]]
                if np.isnan(value):
                    value = fill[use]
            for j in range(targets):
                scores[0, target[target_first[use] + j]] += payload[first + j] * value
        if below[stage] < 0:
            return stage
        stage = above[stage] if scores[0, 0] > threshold[stage] else below[stage]
