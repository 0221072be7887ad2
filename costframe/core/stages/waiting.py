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
    return _shares(row, uses, at, uses[at[uses] >= 0], by_path=by_path)


def given_up_shares(row: StageStepper) -> dict[int, float]:
    """Return the share of the weight of the row's stage that a row under limits gave up at each column."""
    (uses, at, by_path), walk = _uses(row), row.walk
    marks = walk.arrays(row.state)[2][len(walk.used) : len(walk.used) + walk.n_learners]
    gone = uses[marks[walk.layout.slots[1][uses]] > 0]
    return _shares(row, uses, ~at, gone, by_path=by_path)


def _uses(row: StageStepper) -> tuple[I8, I8, bool]:
    """Return the uses of the row's stage, the place of each use's learner, and whether trees go split by split."""
    walk = row.walk
    stage, by_path = unpack_from("2q", row.state, walk.stage)
    places = walk.arrays(row.state)[1][: walk.n_learners]
    begin, end = walk.layout.stage_first[stage : stage + 2]
    return np.arange(begin, end), places[walk.layout.slots[1]], bool(by_path)


def _shares(row: StageStepper, uses: I8, node: I8, some: I8, *, by_path: bool) -> dict[int, float]:
    """Sum the weights of some uses by the columns that they wait for at nodes, as shares of those of all uses."""
    walk, layout = row.walk, row.walk.layout
    weights = layout.use_weights
    total, sums = float(weights[uses].sum()), np.zeros(len(walk.used))
    splits = (layout.kind[some] == TREE) & by_path
    trees, others = some[splits], some[~splits]
    tests = layout.nodes.feature[node[trees]]
    np.add.at(sums, tests[tests >= 0], weights[trees][tests >= 0])
    known = walk.arrays(row.state)[2][: len(walk.used)] & KNOWN > 0
    _add_others(sums, layout.reads, others, weights, known)
    return {walk.used[u]: float(sums[u] / total) for u in np.flatnonzero(sums).tolist()} if total > 0 else {}


def _add_others(sums: F8, reads: tuple[I8, I8], uses: I8, weights: F8, known: B1) -> None:
    """Add the weights of learners that need all their features at once."""
    first, read = reads
    for use in uses.tolist():
        features = read[first[use] : first[use + 1]]
        sums[features[~known[features]]] += weights[use]
