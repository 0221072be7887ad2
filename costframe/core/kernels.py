"""Compiled loops over rows: traverse trees, sum scores, note what was read, price it.

Rows are taken in blocks whose values fit the nearest cache. Within a block a tree is walked level by level for all rows
at once: no branch depends on the data, so the processor works on many rows while each of them waits for memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    F8 = NDArray[np.float64]
    I4 = NDArray[np.int32]
    I8 = NDArray[np.int64]
    U1 = NDArray[np.uint8]
    U8 = NDArray[np.uint64]
    B1 = NDArray[np.bool_]

__all__ = ["SCORES", "SPENDING", "price_rows", "score_rows", "walk_leaves", "walk_row"]

BLOCK = 64
STEADY = 8  # levels walked before asking whether every row has come to a leaf
TREE, COLUMN = 0, 1
SCORES, READS, SPENDING = 0, 1, 2  # what score_rows notes: nothing more, what was read, and comparisons and uses too


@kernel
def _gather(X: F8, rows: I8, start: int, count: int, used: I8, buffer: F8) -> bool:
    """Copy the used values of a block of rows and tell whether any is NaN."""
    has_nan = False
    for i in range(count):
        row = rows[start + i]
        for u in range(used.shape[0]):
            value = X[row, used[u]]
            buffer[i, u] = value
            has_nan |= np.isnan(value)
    return has_nan


@kernel
def _descend(at: I4, buffer: F8, count: int, threshold: F8, link: I4, has_nan: bool) -> int:
    """Take every row of the block one level down; rows at a leaf stay. Returns 0 if none moved."""
    moved = np.int32(0)
    if has_nan:
        for i in range(count):
            node = at[i]
            test = link[node, 0]
            value = buffer[i, test >> 1]
            right = np.int32(not (value <= threshold[node])) & (np.int32(not np.isnan(value)) | (test & np.int32(1)))
            below = np.int32(link[node, 1] + right)
            moved |= below ^ node
            at[i] = below
    else:
        for i in range(count):
            node = at[i]
            below = np.int32(link[node, 1] + np.int32(not (buffer[i, link[node, 0] >> 1] <= threshold[node])))
            moved |= below ^ node
            at[i] = below
    return moved


@kernel
def _walk_tree(at: I4, buffer: F8, count: int, root: int, depth: int, threshold: F8, link: I4, has_nan: bool) -> None:
    """Take every row of the block from the root to its leaf."""
    for i in range(count):
        at[i] = root
    for level in range(depth):
        if _descend(at, buffer, count, threshold, link, has_nan) == 0 and level >= STEADY:
            break


@kernel
def score_rows(
    X: F8,
    rows: I8,
    used: I8,
    threshold: F8,
    link: I4,
    begin: int,
    end: int,
    kind: U1,
    place: I8,
    depth: I4,
    width: I4,
    fill: F8,
    target_first: I8,
    target: I8,
    payload_first: I8,
    payload: F8,
    intercept: F8,
    opaque: F8,
    scores: F8,
    notes: int,
    fresh: B1,
    node_mask: U8,
    use_mask: U8,
    node_spent: F8,
    use_spent: F8,
    masks: U8,
    spent: F8,
) -> None:
    """Score `rows` of X by the uses begin..end, in order: scores[i] belongs to rows[i]; masks and spent to X's rows.

    `notes` says what else is kept: masks |= features read; spent[:, 0] += prices of comparisons made, spent[:, 1] +=
    pairs (learner, feature read), the latter two for learners that no earlier stage evaluated.
    """
    at = np.empty(BLOCK, np.int32)
    buffer = np.zeros((BLOCK, max(1, used.shape[0])), np.float64)
    for start in range(0, rows.shape[0], BLOCK):
        count = min(BLOCK, rows.shape[0] - start)
        has_nan = _gather(X, rows, start, count, used, buffer)
        for i in range(count):
            for k in range(intercept.shape[0]):
                scores[start + i, k] = intercept[k]
        for use in range(begin, end):
            first, targets = payload_first[use], target_first[use + 1] - target_first[use]
            if kind[use] == TREE:
                root = place[use]
                _walk_tree(at, buffer, count, root, depth[use], threshold, link, has_nan)
                if targets == 1:
                    k = target[target_first[use]]
                    for i in range(count):
                        scores[start + i, k] += payload[first + at[i] - root]
                else:
                    for i in range(count):
                        for j in range(targets):
                            k = target[target_first[use] + j]
                            scores[start + i, k] += payload[first + (at[i] - root) * targets + j]
            else:
                for i in range(count):
                    for j in range(targets):
                        k = target[target_first[use] + j]
                        if kind[use] == COLUMN:
                            value = buffer[i, place[use]]
                            if np.isnan(value):
                                value = fill[use]
                            scores[start + i, k] += payload[first + j] * value
                        else:
                            total = 0.0
                            begun = False
                            for o in range(width[use]):
                                weight = payload[first + o * targets + j]
                                if weight != 0.0:
                                    term = weight * opaque[rows[start + i], place[use] + o]
                                    total = total + term if begun else term
                                    begun = True
                            scores[start + i, k] += total
            if notes == SCORES:
                continue
            for i in range(count):
                row = rows[start + i]
                if kind[use] == TREE:
                    for w in range(masks.shape[1]):
                        masks[row, w] |= node_mask[at[i], w]
                else:
                    for w in range(masks.shape[1]):
                        masks[row, w] |= use_mask[use, w]
            if notes == SPENDING and fresh[use]:
                for i in range(count):
                    row = rows[start + i]
                    if kind[use] == TREE:
                        spent[row, 0] += node_spent[at[i], 0]
                        spent[row, 1] += node_spent[at[i], 1]
                    else:
                        spent[row, 1] += use_spent[use]


@kernel
def walk_row(
    X: F8,
    used: I8,
    threshold: F8,
    link: I4,
    stage_first: I8,
    kind: U1,
    place: I8,
    fill: F8,
    target_first: I8,
    target: I8,
    payload_first: I8,
    payload: F8,
    intercept: F8,
    cut: F8,
    below: I8,
    above: I8,
    scores: F8,
) -> int:
    """Walk the single row of X through all stages (without opaque learners); fill scores[0] and return the exit."""
    buffer = np.empty(max(1, used.shape[0]), np.float64)
    for u in range(used.shape[0]):
        buffer[u] = X[0, used[u]]
    stage = 0
    while True:
        for k in range(intercept.shape[1]):
            scores[0, k] = intercept[stage, k]
        for use in range(stage_first[stage], stage_first[stage + 1]):
            first, targets = payload_first[use], target_first[use + 1] - target_first[use]
            value = 1.0
            if kind[use] == TREE:
                node = np.int64(place[use])
                while link[node, 1] != node:
                    test = link[node, 0]
                    x = buffer[test >> 1]
                    right = (not (x <= threshold[node])) and ((not np.isnan(x)) or (test & 1) == 1)
                    node = np.int64(link[node, 1]) + np.int64(right)
                first += (node - place[use]) * targets
            else:
                value = buffer[place[use]]
                if np.isnan(value):
                    value = fill[use]
            for j in range(targets):
                scores[0, target[target_first[use] + j]] += payload[first + j] * value
        if below[stage] < 0:
            return stage
        stage = above[stage] if scores[0, 0] > cut[stage] else below[stage]


@kernel
def walk_leaves(X: F8, used: I8, threshold: F8, link: I4, root: I8, depth: I4, leaves: I4) -> None:
    """Set leaves[i, t] to the node that row i ends at in tree t."""
    at = np.empty(BLOCK, np.int32)
    buffer = np.zeros((BLOCK, max(1, used.shape[0])), np.float64)
    rows = np.arange(X.shape[0])
    for start in range(0, X.shape[0], BLOCK):
        count = min(BLOCK, X.shape[0] - start)
        has_nan = _gather(X, rows, start, count, used, buffer)
        for tree in range(root.shape[0]):
            _walk_tree(at, buffer, count, root[tree], depth[tree], threshold, link, has_nan)
            for i in range(count):
                leaves[start + i, tree] = at[i]


@kernel
def price_rows(
    masks: U8, cost: F8, resource_mask: U8, resource_cost: F8, weight: F8, per_row: F8, features: F8, resources: F8
) -> None:
    """Add to per_row what the marked features and their resources cost; sum the weights of the rows that bought each."""
    for i in range(masks.shape[0]):
        total = 0.0
        for u in range(cost.shape[0]):
            bought = np.float64((masks[i, u >> 6] >> np.uint64(u & 63)) & np.uint64(1))
            total += bought * cost[u]
            features[u] += bought * weight[i]
        for r in range(resource_cost.shape[0]):
            needed = np.uint64(0)
            for w in range(masks.shape[1]):
                needed |= masks[i, w] & resource_mask[r, w]
            if needed != 0:
                total += resource_cost[r]
                resources[r] += weight[i]
        per_row[i] += total
