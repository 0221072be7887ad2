"""Compiled walk of a single row through all stages, by its values, without codes, blocks and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import F8, I8, U8, kernel, kernel_using
from costframe.core.learners import node_layout
from costframe.core.learners.node_layout import NAMED_AT, RANK_BITS

if TYPE_CHECKING:
    from costframe.core.stages.row_layout import RowLayout


@kernel_using(node_layout)
def goes_right(test: np.uint64, code: np.uint64, sets: U8) -> np.uint64:
    """Return 1 if a code goes right at a node, else 0."""
    rank = test & RANK_BITS
    if test >> NAMED_AT != 0:
        return np.uint64((sets[rank + (code >> np.uint64(6))] >> (code & np.uint64(63))) & np.uint64(1))
    return np.uint64(code > rank)


@kernel
def child(v: int, value: float, node: I8, threshold: F8, category: F8) -> int:
    """Return the child of an inner node that a value goes to; the arrays are those of a `RowLayout`."""
    missing_left, begin, end = node[v, 2] != 0, node[v, 3], node[v, 4]
    if begin < end:
        rank = begin + np.searchsorted(category[begin:end], value)
        right = (rank < end and category[rank] == value) == missing_left
    else:
        missing = np.isnan(value)
        right = (missing & (not missing_left)) | ((not missing) & (not value <= threshold[v]))  # no branch
    return int(v + node[v, 0] + np.int64(right))


@kernel
def _find_leaf(X: F8, root: int, node: I8, threshold: F8, category: F8) -> int:
    """Return the leaf of the single row of X below a root."""
    at = root
    while node[at, 0] != 0:
        at = child(at, X[0, node[at, 1]], node, threshold, category)
    return at


@kernel
def walk_row(X: F8, layout: RowLayout, scores: F8) -> int:
    """Walk the single row of X through all stages, without opaque learners; set scores[0] and return the exit."""
    node, threshold, category, uses = layout.node, layout.threshold, layout.category, layout.use
    target, payload, stage = layout.target, layout.payload, 0
    while True:
        scores[0] = layout.stage_value[stage, 1:]
        for use in range(layout.stage[stage, 0], layout.stage[stage, 1]):
            place, first, begin = uses[use, 1], uses[use, 2], uses[use, 3]
            value, targets = 1.0, uses[use, 4] - begin
            if uses[use, 0] != 0:
                first += (_find_leaf(X, place, node, threshold, category) - place) * targets
            else:
                value = X[0, place]
                if np.isnan(value):
                    value = layout.fill[use]
            for j in range(targets):
                scores[0, target[begin + j]] += payload[first + j] * value
        below, above = layout.stage[stage, 2], layout.stage[stage, 3]
        if below < 0:
            return stage
        stage = above if scores[0, 0] > layout.stage_value[stage, 0] else below
