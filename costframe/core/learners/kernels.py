"""Compiled loops over rows: traversal of trees, sums of scores, marks of the features read, outputs of learners.

Loops work on blocks of rows whose values fit the nearest cache. Within a block they walk a tree level by level for all
rows at once: no branch depends on the data, so the processor works on many rows while each waits for memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import F8, I4, I8, U4, U8, kernel

if TYPE_CHECKING:
    from costframe.core.learners.node_layout import NodeLayout
    from costframe.core.stages.layout import StageLayout
    from costframe.core.stages.run_stages import ReadingMarks

Codes = NDArray[np.unsignedinteger]
BLOCK = 64
STEADY = 5  # levels to walk before testing whether every row is at a leaf
TREE, COLUMN = 0, 1
SCORES, READS, SPENDING = 0, 1, 2  # records of score_rows: scores only; features read too; comparisons and uses too
NAMED_AT, STEPS_AT, COLUMN_AT = np.uint64(63), np.uint64(40), np.uint64(24)  # parts of a node's word
STEPS_BITS, COLUMN_BITS, RANK_BITS = np.uint64(0x7FFFFF), np.uint64(0xFFFF), np.uint64(0xFFFFFF)


@kernel
def _count_below(below: I4, value: F8, count: int, cut: F8) -> None:
    """Set below[i] to the number of cuts below value[i], zero for NaN: one binary search for a whole block."""
    size = cut.shape[0]
    for i in range(count):
        below[i] = 0
    while size > 1:
        half = size >> 1
        for i in range(count):
            below[i] += np.int32(half) * np.int32(cut[below[i] + half - 1] < value[i])
        size -= half
    if size == 1:
        for i in range(count):
            below[i] += np.int32(cut[below[i]] < value[i])


@kernel
def code_rows(X: F8, used: I8, nodes: NodeLayout, codes: U4) -> None:
    """Set the codes of all rows, as `NodeLayout` defines them."""
    value, below = np.empty(BLOCK, np.float64), np.empty(BLOCK, np.int32)
    first, missing, categories = nodes.column_first, nodes.column_missing, nodes.category_column
    for start in range(0, X.shape[0], BLOCK):
        count = min(BLOCK, X.shape[0] - start)
        for u in range(used.shape[0]):
            if first[u] == first[u + 1] and categories[u] < 0:
                continue
            for i in range(count):
                value[i] = X[start + i, used[u]]
            if first[u] < first[u + 1]:
                _count_below(below, value, count, nodes.cut[nodes.cut_first[u] : nodes.cut_first[u + 1]])
            for column in range(first[u], first[u + 1]):
                for i in range(count):
                    codes[start + i, column] = missing[column] if np.isnan(value[i]) else below[i] + 1
            if categories[u] < 0:
                continue
            known = nodes.category[nodes.category_first[u] : nodes.category_first[u + 1]]
            _count_below(below, value, count, known)
            for i in range(count):
                found = below[i] < known.shape[0] and known[below[i]] == value[i]
                codes[start + i, categories[u]] = below[i] if found else known.shape[0]


@kernel
def note_paths(parent: I8, feature: I4, split: F8, masks: U8, spent: F8) -> None:
    """Set the features tested on the path to each node, as bits, and the price of the comparisons."""
    for node in range(parent.shape[0]):
        if parent[node] != node:
            f = feature[parent[node]]
            masks[node] = masks[parent[node]]
            masks[node, f >> 6] |= np.uint64(1) << np.uint64(f & 63)
            spent[node] = spent[parent[node]] + split[f]


@kernel
def _walk_tree(at: U4, codes: U4, row: U8, count: int, root: int, depth: int, word: U8) -> None:
    """Walk a block's rows, whose codes begin at row[i], from the root to a leaf, level by level; at a leaf they stay.

    All indices are unsigned: a signed one costs a test for negative numbers.
    """
    for i in range(count):
        at[i] = root
    for level in range(depth):
        moved = np.uint32(0)
        for i in range(np.uint64(count)):
            node = at[i]
            test = word[node]
            code = codes[row[i] + ((test >> COLUMN_AT) & COLUMN_BITS)]
            right = np.uint32(code > np.uint32(test & RANK_BITS))
            below = np.uint32(node + np.uint32(test >> STEPS_AT) + right)
            moved |= below ^ node
            at[i] = below
        if moved == 0 and level >= STEADY:
            break


@kernel
def _walk_tree_by_category(at: U4, codes: U4, row: U8, count: int, root: int, depth: int, word: U8, sets: U8) -> None:
    """Walk like `_walk_tree` through a tree with nodes that look up the code's bit in `sets`, which is not empty."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    for i in range(count):
        at[i] = root
    for level in range(depth):
        moved = np.uint32(0)
        for i in range(np.uint64(count)):
            node = at[i]
            test = word[node]
            named, rank = test >> NAMED_AT, test & RANK_BITS
            code = np.uint64(codes[row[i] + ((test >> COLUMN_AT) & COLUMN_BITS)])
            bit = (sets[named * (rank + (code >> six))] >> (code & low)) & one  # other nodes read the first word
            right = (bit & named) | (np.uint64(code > rank) & (named ^ one))
            below = np.uint32(node + np.uint32((test >> STEPS_AT) & STEPS_BITS) + np.uint32(right))
            moved |= below ^ node
            at[i] = below
        if moved == 0 and level >= STEADY:
            break


@kernel
def _add_leaves(sums: F8, targets: I8, payload: F8, first: int, at: U4, root: int) -> None:
    """Add the outputs of each row's leaf to each target."""
    if targets.shape[0] == 1:
        k = targets[0]
        for i in range(sums.shape[0]):
            sums[i, k] += payload[np.uint64(first) + np.uint64(at[i] - np.uint32(root))]
        return
    if targets.shape[0] == sums.shape[1]:  # all of them, in order
        n_targets = np.uint64(targets.shape[0])
        for i in range(sums.shape[0]):
            leaf = np.uint64(first) + np.uint64(at[i] - np.uint32(root)) * n_targets
            for j in range(n_targets):
                sums[i, j] += payload[leaf + j]
        return
    for i in range(sums.shape[0]):
        for j in range(targets.shape[0]):
            sums[i, targets[j]] += payload[first + (np.int64(at[i]) - root) * targets.shape[0] + j]


@kernel
def _add_column(sums: F8, targets: I8, payload: F8, first: int, X: F8, block: I8, column: int, fill: float) -> None:
    """Add weight * value to each target; the fill value replaces NaN."""
    for i in range(sums.shape[0]):
        value = X[block[i], column]
        if np.isnan(value):
            value = fill
        for j in range(targets.shape[0]):
            sums[i, targets[j]] += payload[first + j] * value


@kernel
def _add_opaque(sums: F8, targets: I8, payload: F8, first: int, opaque: F8, block: I8, column: int, width: int) -> None:
    """Add the weighted outputs of an opaque learner, summed by target before they are added."""
    for i in range(sums.shape[0]):
        for j in range(targets.shape[0]):
            total, begun = 0.0, False
            for o in range(width):
                weight = payload[first + o * targets.shape[0] + j]
                if weight != 0.0:
                    term = weight * opaque[block[i], column + o]
                    total = total + term if begun else term
                    begun = True
            sums[i, targets[j]] += total


@kernel
def _note_reading(masks: U8, block: I8, node_mask: U8, at: U4, read: U8, by_leaf: bool) -> None:
    """Mark the features read on the path to each row's leaf, or all that a learner reads."""
    for i in range(block.shape[0]):
        for w in range(masks.shape[1]):
            masks[block[i], w] |= node_mask[at[i], w] if by_leaf else read[w]


@kernel
def _note_spending(spent: F8, block: I8, node_spent: F8, at: U4, uses: float, by_leaf: bool) -> None:
    """Add the price of the comparisons and the number of features read, for all rows."""
    for i in range(block.shape[0]):
        spent[block[i], 0] += node_spent[at[i], 0] if by_leaf else 0.0
        spent[block[i], 1] += node_spent[at[i], 1] if by_leaf else uses


@kernel
def score_rows(
    X: F8,
    codes: U4,
    rows: I8,
    layout: StageLayout,
    stage: int,
    opaque: F8,
    scores: F8,
    marks: ReadingMarks,
    masks: U8,
    spent: F8,
) -> None:
    """Score `rows` of X at a stage; scores[i] is for rows[i], masks and spent are for X's rows.

    `marks.notes` selects further records: masks |= features read; spent[:, 0] += prices of comparisons, spent[:, 1] +=
    pairs (learner, feature read), the latter two for learners that no earlier stage evaluated.
    """
    word, sets, kind, place, payload = layout.nodes.word, layout.nodes.sets, layout.kind, layout.place, layout.payload
    at, code_at, flat = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint64), codes.reshape(-1)
    for start in range(0, rows.shape[0], BLOCK):
        count = min(BLOCK, rows.shape[0] - start)
        block, sums = rows[start : start + count], scores[start : start + count]
        for i in range(count):
            code_at[i] = block[i] * codes.shape[1]
            for k in range(scores.shape[1]):
                sums[i, k] = layout.intercept[stage, k]
        for use in range(layout.stage_first[stage], layout.stage_first[stage + 1]):
            targets = layout.target[layout.target_first[use] : layout.target_first[use + 1]]
            first = layout.payload_first[use]
            if kind[use] == TREE:
                if layout.by_category[use]:
                    _walk_tree_by_category(at, flat, code_at, count, place[use], layout.depth[use], word, sets)
                else:
                    _walk_tree(at, flat, code_at, count, place[use], layout.depth[use], word)
                _add_leaves(sums, targets, payload, first, at, place[use])
            elif kind[use] == COLUMN:
                _add_column(sums, targets, payload, first, X, block, place[use], layout.fill[use])
            else:
                _add_opaque(sums, targets, payload, first, opaque, block, place[use], layout.width[use])
            if marks.notes == SCORES:
                continue
            _note_reading(masks, block, marks.node_mask, at, marks.use_mask[use], kind[use] == TREE)
            if marks.notes == SPENDING and layout.fresh[use]:
                _note_spending(spent, block, marks.node_spent, at, marks.use_spent[use], kind[use] == TREE)


@kernel
def walk_leaves(codes: U4, nodes: NodeLayout, leaves: I4) -> None:
    """Set leaves[i, t] to the node at which row i ends in tree t."""
    root, depth, word = nodes.root, nodes.depth, nodes.word
    at, code_at, flat = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint64), codes.reshape(-1)
    for start in range(0, codes.shape[0], BLOCK):
        count = min(BLOCK, codes.shape[0] - start)
        for i in range(count):
            code_at[i] = (start + i) * codes.shape[1]
        for tree in range(root.shape[0]):
            if nodes.by_category[tree]:
                _walk_tree_by_category(at, flat, code_at, count, root[tree], depth[tree], word, nodes.sets)
            else:
                _walk_tree(at, flat, code_at, count, root[tree], depth[tree], word)
            for i in range(count):
                leaves[start + i, tree] = at[i]


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
