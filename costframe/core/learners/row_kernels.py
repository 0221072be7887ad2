"""Compiled walk of a single row through all stages, without blocks and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import F8, U4, U8, kernel, kernel_using
from costframe.core.learners import kernels
from costframe.core.learners.kernels import (
    COLUMN_AT,
    COLUMN_BITS,
    NAMED_AT,
    RANK_BITS,
    STEPS_AT,
    STEPS_BITS,
    TREE,
)

if TYPE_CHECKING:
    from costframe.core.stages.layout import StageLayout


@kernel
def goes_right(test: np.uint64, code: np.uint64, sets: U8) -> np.uint64:
    """Return 1 if a code goes right at a node, else 0."""
    rank = test & RANK_BITS
    if test >> NAMED_AT != 0:
        return np.uint64((sets[rank + (code >> np.uint64(6))] >> (code & np.uint64(63))) & np.uint64(1))
    return np.uint64(code > rank)


@kernel_using(kernels)
def walk_row(X: F8, codes: U4, layout: StageLayout, scores: F8) -> int:
    """Walk the single row of X through all stages, without opaque learners; set scores[0] and return the exit."""
    word, sets, place = layout.nodes.word, layout.nodes.sets, layout.place
    stage = 0
    while True:
        scores[0] = layout.intercept[stage]
        for use in range(layout.stage_first[stage], layout.stage_first[stage + 1]):
            first, begin = layout.payload_first[use], layout.target_first[use]
            targets, value = layout.target_first[use + 1] - begin, 1.0
            if layout.kind[use] == TREE:
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
                    value = layout.fill[use]
            for j in range(targets):
                scores[0, layout.target[begin + j]] += layout.payload[first + j] * value
        if layout.below[stage] < 0:
            return stage
        stage = layout.above[stage] if scores[0, 0] > layout.threshold[stage] else layout.below[stage]
