"""Compiled look ahead of a row on its way through a stage tree: the features that it certainly needs.

Calls in loops pass few arrays: one with a whole layout would take as long as the work.
"""

import numpy as np

from costframe.core.jit import F8, I8, U1, U8, kernel
from costframe.core.learners.row_kernels import child, weigh_outputs
from costframe.core.learners.row_nodes import FEATURE, NEARER_AT, STEPS_AT
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.stages.step_layout import (
    KIND,
    KNOWN,
    LEARNER,
    PAYLOAD,
    PLACE,
    READ,
    READ_END,
    TARGET,
    TARGET_END,
    WIDTH,
)


@kernel
def _walk_on(v: int, x: F8, marks: U1, word: I8, threshold: F8, span: I8, category: F8) -> int:
    """Return the leaf, or the first node with an unknown feature, from a node on."""
    test = word[v]
    while test >> STEPS_AT != 0 and marks[test & FEATURE] & KNOWN != 0:
        v = child(v, test, x[test & FEATURE], threshold, span, category)
        test = word[v]
    return v


@kernel
def _is_any(numbers: U8) -> bool:
    """Return whether a set has members."""
    for word in numbers:  # noqa: SIM110 - a kernel has no generators, and np.any needs modules that take long to import
        if word != 0:
            return True
    return False


@kernel
def _find_certain(
    v: int, want: int, only: int, x: F8, marks: U1, word: I8, reads: I8, threshold: F8, span: I8, category: F8,
    stack: I8,
) -> int:  # fmt: skip
    """Return the bits of `want` that stand for an unknown feature, `only` if it is one, on every path from a node on.

    Bits stand for numbers modulo 64.
    """
    stack[0], stack[1], size = v, 0, 1  # nodes, each with the bits on the path before it
    while size > 0 and want != 0:
        size -= 1
        v, path = _walk_on(stack[2 * size], x, marks, word, threshold, span, category), stack[2 * size + 1]
        if reads[v] & want & ~path == 0:  # at a leaf, or below a path that is complete
            want &= path
            continue
        test = word[v]
        if only < 0 or test & FEATURE == only:
            path |= np.int64(1) << (test & 63)
        left, nearer = v + (test >> STEPS_AT), test >> NEARER_AT & 1
        stack[2 * size], stack[2 * size + 1] = left + 1 - nearer, path
        stack[2 * size + 2], stack[2 * size + 3] = left + nearer, path  # a short path first: it leaves fewer bits
        size += 2
    return want


@kernel
def _has(numbers: U8, u: int) -> bool:
    return bool(numbers[u >> 6] >> np.uint64(u & 63) & np.uint64(1) != 0)


@kernel
def _add_tested(
    v: int, certain: int, found: U8, x: F8, marks: U1, word: I8, reads: I8, threshold: F8, span: I8, category: F8,
    stack: I8,
) -> None:  # fmt: skip
    """Add the unknown features on every path from a node on: those on the shortest path whose bit is `certain`."""
    below = _walk_on(v, x, marks, word, threshold, span, category)
    while reads[below] & certain != 0:
        test = word[below]
        u, bit = test & FEATURE, certain & np.int64(1) << (test & 63)
        if bit != 0 and not _has(found, u):
            bit = _find_certain(v, bit, u, x, marks, word, reads, threshold, span, category, stack)
            found[u >> 6] |= np.uint64(bit)
        nearer = below + (test >> STEPS_AT) + (test >> NEARER_AT & 1)
        below = _walk_on(nearer, x, marks, word, threshold, span, category)


@kernel
def _bits_left(found: U8, marks: U1) -> np.int64:
    """Return the bits of features neither known nor found, all bits if some features share one."""
    left = ~np.int64(0)
    if found.shape[0] == 1:
        for u in range(marks.shape[0]):
            if marks[u] & KNOWN != 0 or _has(found, u):
                left &= ~(np.int64(1) << u)
    return left


@kernel
def _add_needs(
    begin: int, end: int, found: U8, x: F8, at: I8, marks: U1, word: I8, reads: I8, threshold: F8, span: I8,
    category: F8, uses: I8, read: I8, by_path: bool, stack: I8,
) -> None:  # fmt: skip
    """Add the unknown features that learners, those of the uses from `begin` on, certainly read."""
    alone, rest = found.shape[0] == 1, _bits_left(found, marks)
    for use in range(begin, end):
        v = at[uses[use, LEARNER]]
        if v >= 0 and uses[use, KIND] == TREE and by_path:
            certain = reads[v] & rest
            if certain != 0:
                certain = _find_certain(v, certain, -1, x, marks, word, reads, threshold, span, category, stack)
            if not alone:
                _add_tested(v, certain, found, x, marks, word, reads, threshold, span, category, stack)
            elif certain != 0:
                found[0] |= np.uint64(certain)
                rest &= ~certain
        elif v >= 0:
            for i in range(uses[use, READ], uses[use, READ_END]):
                u = read[i]
                if marks[u] & KNOWN == 0:
                    found[u >> 6] |= np.uint64(1) << np.uint64(u & 63)
                    rest &= ~(np.int64(1) << u) if alone else rest


@kernel
def add_outputs(
    begin: int, end: int, at: I8, x: F8, opaque: F8, uses: I8, use_value: F8, read: I8, target: I8, payload: F8,
    scores: F8,
) -> None:  # fmt: skip
    """Add the weighted outputs of learners, which are at their ends, to their targets; see `StepState`.

    The outputs of an opaque learner are summed by target before.
    """
    for use in range(begin, end):
        place, first, start, kind = uses[use, PLACE], uses[use, PAYLOAD], uses[use, TARGET], uses[use, KIND]
        n_targets, value = uses[use, TARGET_END] - start, 1.0
        if kind == TREE:
            first += (~at[uses[use, LEARNER]] - place) * n_targets
        elif kind == COLUMN:
            value = x[read[uses[use, READ]]]
            if np.isnan(value):
                value = use_value[use, 1]
        for j in range(n_targets):
            if kind == OPAQUE:
                total = weigh_outputs(payload, first + j, n_targets, opaque, place, uses[use, WIDTH])
            else:
                total = payload[first + j] * value
            scores[target[start + j]] += total


@kernel
def _finish(
    begin: int, end: int, at: I8, x: F8, marks: U1, word: I8, threshold: F8, span: I8, category: F8, uses: I8, read: I8,
    ends: I8,
) -> bool:  # fmt: skip
    """Set `ends` to the ends of learners if known values decide them all; no opaque learner is called."""
    for use in range(begin, end):
        learner, kind = uses[use, LEARNER], uses[use, KIND]
        v = at[learner]
        ends[learner] = v
        if v >= 0:
            if kind == OPAQUE or (kind == COLUMN and marks[read[uses[use, READ]]] & KNOWN == 0):
                return False
            if kind == TREE:
                v = _walk_on(v, x, marks, word, threshold, span, category)
                ends[learner] = ~v
                if word[v] >> STEPS_AT != 0:
                    return False
    return True


@kernel
def find_needs(
    first: int, needed: I8, x: F8, opaque: F8, at: I8, marks: U1, word: I8, reads: I8, threshold: F8, span: I8,
    category: F8, uses: I8, use_value: F8, read: I8, target: I8, payload: F8, stages: I8, stage_value: F8, depth: int,
    by_path: bool,
) -> int:  # fmt: skip
    """Set `needed` to the features that every path from a stage on reads, ascending; return their number.

    A stage needs what its learners read, and what both ways behind it need.
    """
    n_words, room = (marks.shape[0] + 63) >> 6, np.empty(2 * depth + 4, np.int64)
    n_stages = 1 if stages[first, 2] < 0 else stages.shape[0] - first
    found, way = np.empty((n_stages, n_words), np.uint64), np.empty((n_stages, 2), np.int64)
    done = np.zeros(n_stages, np.uint8)  # 1: it waits for a way behind it
    stack, scores, size = np.empty(n_stages, np.int64), np.empty(1), 1
    ends = np.empty(at.shape[0] if n_stages > 1 else 0, np.int64)
    stack[0] = 0
    while size > 0:  # not recursive: a chain may have thousands of stages
        i = stack[size - 1]
        begin, end, is_route = stages[first + i, 0], stages[first + i, 1], stages[first + i, 2] >= 0
        if done[i] == 0:
            done[i], found[i] = 1, 0
            way[i, 0], way[i, 1] = stages[first + i, 2] - first, stages[first + i, 3] - first
            if is_route and _finish(begin, end, at, x, marks, word, threshold, span, category, uses, read, ends):
                scores[0] = stage_value[first + i, 1]
                add_outputs(begin, end, ends, x, opaque, uses, use_value, read, target, payload, scores)
                way[i] = way[i, np.int64(scores[0] > stage_value[first + i, 0])]
        if is_route:
            below, above = way[i, 0], way[i, 1]
            if done[below] < 2:
                stack[size] = below
                size += 1
                continue
            if done[above] < 2 and _is_any(found[below]):
                stack[size] = above
                size += 1
                continue
            if done[above] == 2:
                found[i] = found[below] & found[above]
        _add_needs(
            begin, end, found[i], x, at, marks, word, reads, threshold, span, category, uses, read, by_path, room
        )
        done[i] = 2
        size -= 1
    count = 0
    for u in range(marks.shape[0]):
        if _has(found[0], u):
            needed[count] = u
            count += 1
    return count
