"""Compiled look ahead of a row on its way through a stage tree: the features that it certainly needs.

Calls pass few arrays: one with a whole layout would take as long as the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import F8, I8, U1, U8, kernel_using
from costframe.core.learners import row_kernels
from costframe.core.learners.row_kernels import child
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.stages import step_layout
from costframe.core.stages.step_layout import (
    FEATURE,
    FRESH,
    KIND,
    KNOWN,
    LEARNER,
    NEARER,
    PAYLOAD,
    PLACE,
    READ,
    READ_END,
    READS,
    STEPS,
    TARGET,
    TARGET_END,
    WIDTH,
)

if TYPE_CHECKING:
    from costframe.core.stages.step_layout import StepLayout

_DISTINCT = 64  # features that have a bit each in a word; of more, some share one
_using = kernel_using(row_kernels, step_layout)


@_using
def look_below(counts: I8, node: I8) -> None:
    """Set the last columns of `StepLayout.node` from the number of features tested on the way to each node."""
    shortest = np.zeros(node.shape[0], np.int64)
    for v in range(node.shape[0] - 1, -1, -1):  # children come after their parents
        if node[v, STEPS] != 0:
            left = v + node[v, STEPS]
            nearer = np.int64(shortest[left + 1] < shortest[left])
            shortest[v] = 1 + shortest[left + nearer]
            node[v, FRESH], node[v, NEARER] = counts[left] - counts[v], nearer
            node[v, READS] = np.int64(1) << (node[v, FEATURE] & 63) | node[left, READS] | node[left + 1, READS]


@_using
def _walk_on(v: int, x: F8, marks: U1, node: I8, threshold: F8, category: F8) -> int:
    """Return the leaf, or the first node with an unknown feature, from a node on."""
    while node[v, STEPS] != 0 and marks[node[v, FEATURE]] & KNOWN != 0:
        v = child(v, x[node[v, FEATURE]], node, threshold, category)
    return v


@_using
def _is_certain(u: int, x: F8, marks: U1, node: I8, threshold: F8, category: F8, stack: I8) -> bool:
    """Return whether every path from the first two nodes of a stack on tests an unknown feature."""
    bit, size = np.int64(1) << (u & 63), 2
    while size > 0:
        size -= 1
        v = _walk_on(stack[size], x, marks, node, threshold, category)
        if node[v, READS] & bit == 0:  # a leaf, or not tested below
            return False
        if node[v, FEATURE] != u:
            stack[size], stack[size + 1] = v + node[v, STEPS], v + node[v, STEPS] + 1
            size += 2
    return True


@_using
def _has(numbers: U8, u: int) -> bool:
    return bool(numbers[u >> 6] >> np.uint64(u & 63) & np.uint64(1) != 0)


@_using
def _add(numbers: U8, u: int, rest: np.int64) -> np.int64:
    """Add a number to a set; return the other bits of `rest`, unless numbers share a bit."""
    numbers[u >> 6] |= np.uint64(1) << np.uint64(u & 63)
    return rest & ~(np.int64(1) << u) if numbers.shape[0] == 1 else rest


@_using
def _add_tested(
    v: int, found: U8, rest: np.int64, x: F8, marks: U1, node: I8, threshold: F8, category: F8, stack: I8
) -> np.int64:
    """Add the unknown features tested on every path from a node on: each is tested on the shortest path, too.

    Bits of `rest` stand for features neither known nor found; return those that still do.
    """
    v = _walk_on(v, x, marks, node, threshold, category)
    if node[v, READS] & rest == 0:
        return rest
    rest = _add(found, node[v, FEATURE], rest)
    if node[v, READS] & rest == 0:
        return rest
    left = _walk_on(v + node[v, STEPS], x, marks, node, threshold, category)
    right = _walk_on(v + node[v, STEPS] + 1, x, marks, node, threshold, category)
    both = node[left, READS] & node[right, READS]
    below = right if node[v, NEARER] else left
    while node[below, READS] & both & rest != 0:
        u = node[below, FEATURE]
        if both & rest & np.int64(1) << (u & 63) != 0 and not _has(found, u):
            stack[0], stack[1] = left, right
            if _is_certain(u, x, marks, node, threshold, category, stack):
                rest = _add(found, u, rest)
        below = _walk_on(below + node[below, STEPS] + node[below, NEARER], x, marks, node, threshold, category)
    return rest


@_using
def _add_needs(stage: int, found: U8, x: F8, at: I8, marks: U1, layout: StepLayout, by_path: bool, stack: I8) -> None:
    """Add the unknown features that the learners of a stage certainly read."""
    node, threshold, category, uses, read = layout.node, layout.threshold, layout.category, layout.use, layout.read
    rest = ~np.int64(0)
    if found.shape[0] == 1:
        for u in range(marks.shape[0]):
            if marks[u] & KNOWN != 0 or _has(found, u):
                rest &= ~(np.int64(1) << u)
    for use in range(layout.stage[stage, 0], layout.stage[stage, 1]):
        v = at[uses[use, LEARNER]]
        if v >= 0 and uses[use, KIND] == TREE and by_path:
            rest = _add_tested(v, found, rest, x, marks, node, threshold, category, stack)
        elif v >= 0:
            for u in read[uses[use, READ] : uses[use, READ_END]]:
                if marks[u] & KNOWN == 0:
                    rest = _add(found, u, rest)


@_using
def add_output(use: int, leaf: int, x: F8, opaque: F8, layout: StepLayout, scores: F8) -> None:
    """Add the weighted outputs of a learner to its targets; those of an opaque one are summed by target before."""
    uses, target, payload = layout.use, layout.target, layout.payload
    place, first, begin, kind = uses[use, PLACE], uses[use, PAYLOAD], uses[use, TARGET], uses[use, KIND]
    n_targets, value = uses[use, TARGET_END] - begin, 1.0
    if kind == TREE:
        first += (leaf - place) * n_targets
    elif kind == COLUMN:
        value = x[layout.read[uses[use, READ]]]
        if np.isnan(value):
            value = layout.use_value[use, 1]
    for j in range(n_targets):
        if kind != OPAQUE:
            scores[target[begin + j]] += payload[first + j] * value
            continue
        total, begun = 0.0, False
        for o in range(uses[use, WIDTH]):
            weight = payload[first + o * n_targets + j]
            if weight != 0.0:
                term = weight * opaque[place + o]
                total = total + term if begun else term
                begun = True
        scores[target[begin + j]] += total


@_using
def _next_stage(stage: int, x: F8, opaque: F8, at: I8, marks: U1, layout: StepLayout, scores: F8) -> int:
    """Return the stage that a route leads to if known values decide it, else -1; no opaque learner is called."""
    node = layout.node
    scores[0] = layout.stage_value[stage, 1]
    for use in range(layout.stage[stage, 0], layout.stage[stage, 1]):
        v, kind = at[layout.use[use, LEARNER]], layout.use[use, KIND]
        leaf = ~v
        if v >= 0:
            if kind == OPAQUE or (kind == COLUMN and marks[layout.read[layout.use[use, READ]]] & KNOWN == 0):
                return -1
            if kind == TREE:
                leaf = _walk_on(v, x, marks, node, layout.threshold, layout.category)
                if node[leaf, STEPS] != 0:
                    return -1
        add_output(use, leaf, x, opaque, layout, scores)
    return int(layout.stage[stage, 3] if scores[0] > layout.stage_value[stage, 0] else layout.stage[stage, 2])


@_using
def find_needs(first: int, needed: I8, x: F8, opaque: F8, at: I8, marks: U1, layout: StepLayout, by_path: bool) -> int:
    """Set `needed` to the features that every path from a stage on reads, ascending; return their number.

    A stage needs what its learners read, and what both ways behind it need.
    """
    n_words, room = (marks.shape[0] + 63) >> 6, np.empty(layout.depth + 2, np.int64)
    n_stages = 1 if layout.stage[first, 2] < 0 else layout.stage.shape[0] - first
    found, way = np.empty((n_stages, n_words), np.uint64), np.empty((n_stages, 2), np.int64)
    done = np.zeros(n_stages, np.uint8)  # 1: it waits for a way behind it
    stack, scores, size = np.empty(n_stages, np.int64), np.empty(1), 1
    stack[0] = 0
    while size > 0:  # not recursive: a chain may have thousands of stages
        i = stack[size - 1]
        is_route = layout.stage[first + i, 2] >= 0
        if done[i] == 0:
            done[i], found[i] = 1, 0
            decided = _next_stage(first + i, x, opaque, at, marks, layout, scores) if is_route else -1
            way[i] = layout.stage[first + i, 2:4] - first
            if decided >= 0:
                way[i] = decided - first
        if is_route:
            below, above = way[i]
            if done[below] < 2:
                stack[size] = below
                size += 1
                continue
            if done[above] < 2 and np.any(found[below] != 0):
                stack[size] = above
                size += 1
                continue
            if done[above] == 2:
                found[i] = found[below] & found[above]
        _add_needs(first + i, found[i], x, at, marks, layout, by_path, room)
        done[i] = 2
        size -= 1
    count = 0
    for u in range(marks.shape[0]):
        if _has(found[0], u):
            needed[count] = u
            count += 1
    return count
