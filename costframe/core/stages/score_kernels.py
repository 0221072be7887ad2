"""Compiled loops over rows: sums of scores, and marks of the features read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import F8, I4, I8, U4, U8, Codes, kernel
from costframe.core.learners.code_kernels import BLOCK
from costframe.core.learners.leaf_kernels import GateRoom, pass_gates, walk
from costframe.core.learners.row_kernels import weigh_outputs
from costframe.core.learners.tree_table import COLUMN, TREE
from costframe.core.stages.layout import SCORES, SPENDING

if TYPE_CHECKING:
    from costframe.core.stages.layout import ReadingMarks, StageLayout


@kernel
def _begin_sums(sums: F8, intercept: F8) -> None:
    """Set the sums of all rows to the first intercepts."""
    for i in range(sums.shape[0]):
        for k in range(sums.shape[1]):
            sums[i, k] = intercept[k]


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
def _add_and_note(sums: F8, k: int, payload: F8, first: int, at: U4, root: int, read: U8, node_mask: U8) -> None:
    """Do as `_add_leaves` for one target and `_note_path` for one word do, in one loop."""
    own, flat = read.reshape(-1), node_mask.reshape(-1)
    for i in range(sums.shape[0]):
        sums[i, k] += payload[np.uint64(first) + np.uint64(at[i] - np.uint32(root))]
        own[i] |= flat[at[i]]


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
            sums[i, targets[j]] += weigh_outputs(payload, first + j, targets.shape[0], opaque[block[i]], column, width)


@kernel
def _gather_codes(own: Codes, codes: Codes, columns: I8, block: I8) -> None:
    """Copy the codes of a block's rows, for these columns."""
    for column in columns:
        for i in range(block.shape[0]):
            own[column, i] = codes[column, block[i]]


@kernel
def _note_path(read: U8, masks: U8, block: I8, at: U4, node_mask: U8, parent: I8, feature: I4) -> None:
    """Mark the features on the path to each row's leaf: in a block's marks, or without masks of nodes node by node."""
    if node_mask.shape[0] == 0:
        for i in range(block.shape[0]):
            node = np.int64(at[i])
            while parent[node] != node:
                node = parent[node]
                masks[block[i], feature[node] >> 6] |= np.uint64(1) << np.uint64(feature[node] & 63)
    elif read.shape[1] == 1:
        own, flat = read.reshape(-1), node_mask.reshape(-1)
        for i in range(block.shape[0]):
            own[i] |= flat[at[i]]
    else:
        for i in range(block.shape[0]):
            for w in range(read.shape[1]):
                read[i, w] |= node_mask[at[i], w]


@kernel
def _merge_reading(masks: U8, block: I8, read: U8) -> None:
    """Add a block's marks, if there are any, to those of its rows."""
    for i in range(min(block.shape[0], read.shape[0])):
        for w in range(masks.shape[1]):
            masks[block[i], w] |= read[i, w]


@kernel
def note_all(masks: U8, rows: I8, read: I8) -> None:
    """Mark some features as read by all `rows`."""
    mask = np.zeros(masks.shape[1], np.uint64)
    for f in read:
        mask[f >> 6] |= np.uint64(1) << np.uint64(f & 63)
    for row in rows:
        for w in range(masks.shape[1]):
            masks[row, w] |= mask[w]


@kernel
def _note_spending(spent: F8, block: I8, node_spent: F8, at: U4, uses: float, by_leaf: bool) -> None:
    """Add the price of the comparisons and the number of features read, for all rows."""
    for i in range(block.shape[0]):
        spent[block[i], 0] += node_spent[at[i], 0] if by_leaf else 0.0
        spent[block[i], 1] += node_spent[at[i], 1] if by_leaf else uses


@kernel
def score_rows(
    X: F8,
    codes: Codes,
    rows: I8,
    layout: StageLayout,
    stage: int,
    opaque: F8,
    scores: F8,
    marks: ReadingMarks,
    masks: U8,
    spent: F8,
) -> None:
    """Score `rows` of X, ascending, at a stage; scores[i] is for rows[i], masks and spent are for X's rows.

    `marks.notes` selects further records: masks |= features read by trees on their paths; spent[:, 0] += prices of
    comparisons, spent[:, 1] += pairs (learner, feature read), the latter two for learners that no earlier stage
    evaluated.
    """
    kind, place, payload, nodes = layout.kind, layout.place, layout.payload, layout.nodes
    gates = nodes.gates
    columns = layout.stage_column[layout.stage_column_first[stage] : layout.stage_column_first[stage + 1]]
    at, room = np.empty(BLOCK, np.uint32), GateRoom(np.empty((8, BLOCK), np.uint8), np.empty(BLOCK, np.uint32))
    read = np.zeros((BLOCK if marks.node_mask.shape[0] > 0 else 0, masks.shape[1]), np.uint64)
    by_path = marks.notes != SCORES and marks.by_path
    one_word = by_path and read.shape[0] > 0 and masks.shape[1] == 1
    own = np.empty((codes.shape[0], BLOCK if rows.shape[0] < codes.shape[1] else 0), codes.dtype)
    for start in range(0, rows.shape[0], BLOCK):
        count = min(BLOCK, rows.shape[0] - start)
        block, sums = rows[start : start + count], scores[start : start + count]
        coded, begin = codes, start
        if rows.shape[0] < codes.shape[1]:
            coded, begin = own, 0
            _gather_codes(own, codes, columns, block)
        read[:] = 0
        _begin_sums(sums, layout.intercept[stage])
        for use in range(layout.stage_first[stage], layout.stage_first[stage + 1]):
            targets = layout.target[layout.target_first[use] : layout.target_first[use + 1]]
            first = layout.payload_first[use]
            if kind[use] == TREE:
                if gates.n_words[layout.tree[use]] > 0:
                    pass_gates(at, room, coded, begin, count, gates, layout.tree[use])
                else:
                    walk(at, coded, begin, count, nodes, layout.tree[use])
                if one_word and targets.shape[0] == 1:
                    _add_and_note(sums, targets[0], payload, first, at, place[use], read, marks.node_mask)
                else:
                    _add_leaves(sums, targets, payload, first, at, place[use])
                    if by_path:
                        _note_path(read, masks, block, at, marks.node_mask, nodes.parent, nodes.feature)
            elif kind[use] == COLUMN:
                _add_column(sums, targets, payload, first, X, block, place[use], layout.fill[use])
            else:
                _add_opaque(sums, targets, payload, first, opaque, block, place[use], layout.width[use])
            if marks.notes == SPENDING and layout.fresh[use]:
                _note_spending(spent, block, marks.node_spent, at, marks.use_spent[use], kind[use] == TREE)
        _merge_reading(masks, block, read)
