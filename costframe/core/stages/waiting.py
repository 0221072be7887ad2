"""Which share of a stage's weight waits for each feature of one row, or was given up for want of it."""

from __future__ import annotations

from struct import unpack_from

import numpy as np

from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.tree_table import TREE
from costframe.core.stages.layout import KNOWN
from costframe.core.stages.step import StageStepper


def waiting_shares(row: StageStepper) -> dict[int, float]:
    """Return the share of the weight of the row's stage that waits for each column it needs; see `use_weights`."""
    uses, at, by_path = _uses(row)
    return _shares(row, uses, at, at >= 0, by_path=by_path)


def given_up_shares(row: StageStepper) -> dict[int, float]:
    """Return the share of the weight of the row's stage that a row under limits gave up at each column."""
    (uses, at, by_path), walk = _uses(row), row.walk
    marks = walk.arrays(row.state)[2][len(walk.used) : len(walk.used) + walk.n_learners]
    return _shares(row, uses, ~at, marks[walk.layout.slots[1][uses]] > 0, by_path=by_path)


def _uses(row: StageStepper) -> tuple[slice, I8, bool]:
    """Return the uses of the row's stage, the place of the learner of each, and whether trees go split by split."""
    walk = row.walk
    stage, by_path = unpack_from("2q", row.state, walk.stage)
    places = walk.arrays(row.state)[1][: walk.n_learners]
    uses = slice(*walk.layout.stage_first[stage : stage + 2].tolist())
    return uses, places[walk.layout.slots[1][uses]], bool(by_path)


def _shares(row: StageStepper, uses: slice, node: I8, some: B1, *, by_path: bool) -> dict[int, float]:
    """Sum the weights of some uses by the columns that they wait for at nodes, as shares of those of all uses."""
    walk, layout = row.walk, row.walk.layout
    weights = layout.use_weights[uses]
    total = float(weights.sum())
    splits = some & (layout.kind[uses] == TREE) if by_path else np.zeros_like(some)
    tests, split_weights = layout.nodes.feature[node[splits]], weights[splits]
    inner = tests >= 0
    sums = np.bincount(tests[inner], split_weights[inner], len(walk.used)).astype(np.float64)  # of none it has integers
    if (others := uses.start + np.flatnonzero(some & ~splits)).size:
        known = walk.arrays(row.state)[2][: len(walk.used)] & KNOWN > 0
        _add_others(sums, layout.reads, others, layout.use_weights, known)
    return {walk.used[u]: float(sums[u] / total) for u in np.flatnonzero(sums).tolist()} if total > 0 else {}


def _add_others(sums: F8, reads: tuple[I8, I8], uses: I8, weights: F8, known: B1) -> None:
    """Add the weights of learners that need all their features at once."""
    first, read = reads
    for use in uses.tolist():
        features = read[first[use] : first[use + 1]]
        sums[features[~known[features]]] += weights[use]
