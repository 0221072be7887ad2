"""Compiled walk of a single row through all stages, without blocks and masks."""

from __future__ import annotations

import numpy as np

from costframe.core.jit import F8, I8, U1, U4, U8, kernel, kernel_using
from costframe.core.learners import kernels
from costframe.core.learners.kernels import (
    COLUMN_AT,
    COLUMN_BITS,
    NAMED_AT,
    RANK_BITS,
    STEPS_AT,
    STEPS_BITS,
    TREE,
    code_categories,
    code_rows,
)


@kernel
def goes_right(test: np.uint64, code: np.uint64, sets: U8) -> np.uint64:
    """Return 1 if a code goes right at a node, else 0."""
    rank = test & RANK_BITS
    if test >> NAMED_AT != 0:
        return np.uint64((sets[rank + (code >> np.uint64(6))] >> (code & np.uint64(63))) & np.uint64(1))
    return np.uint64(code > rank)


@kernel_using(kernels)
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
    code_rows(X, used, cut_first, cut, column_first, column_missing, codes)
    if category.shape[0] > 0:
        code_categories(X, used, category_first, category, category_column, codes)
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
                    right = goes_right(test, np.uint64(codes[0, (test >> COLUMN_AT) & COLUMN_BITS]), sets)
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
