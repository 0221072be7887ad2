"""What a row that ends when it is certain still leaves open: how far its score may move, and by which features."""

from __future__ import annotations

import numpy as np

from costframe.core.arrays import F8, I8
from costframe.core.learners.tree_table import TREE
from costframe.core.stages.layout import KNOWN, N_ACCOUNT
from costframe.core.stages.step import StageStepper


def open_uses(row: StageStepper) -> I8:
    """Return the uses of learners that the row has not finished."""
    walk = row.walk
    return np.flatnonzero(walk.arrays(row.state)[1][: walk.n_learners][walk.layout.slots[1]] >= 0)


def has_bounds(row: StageStepper) -> bool:
    """Return whether only trees wait: what columns and opaque learners add has no bounds."""
    return bool((row.walk.layout.kind[open_uses(row)] == TREE).all())


def pulls(row: StageStepper) -> dict[int, float]:
    """Return how much the trees that wait for each column leave open, as engine/certain.h counts it."""
    walk, layout = row.walk, row.walk.layout
    _, places, marks = walk.arrays(row.state)
    _, _, low, high = _bounds(row)
    decides = marks[len(walk.used) : len(walk.used) + layout.n_outputs] > 0
    at, sums = places[layout.slots[1]], np.zeros(len(walk.used))
    use = np.repeat(np.arange(len(at)), np.diff(layout.target_first))  # of each pair of a learner and an output
    some = (at[use] >= 0) & decides[layout.target] & (high != low)
    np.add.at(sums, layout.nodes.feature[at[use[some]]], high[some] - low[some])
    return {walk.used[u]: float(sums[u]) for u in np.flatnonzero(sums).tolist()}


def open_columns(row: StageStepper) -> tuple[int, ...]:
    """Return the columns without values that unfinished learners may read."""
    walk, (first, read) = row.walk, row.walk.layout.reads
    parts = [read[first[use] : first[use + 1]] for use in open_uses(row).tolist()]
    known = walk.arrays(row.state)[2] & KNOWN > 0
    return tuple(walk.used[u] for u in np.unique(np.concatenate(parts)).tolist() if not known[u]) if parts else ()


def widest_move(row: StageStepper) -> float:
    """Return how far the rest may move a score from that given, at most."""
    walk = row.walk
    given = np.frombuffer(row.state, np.float64, walk.layout.n_outputs, walk.scores)
    least, most, _, _ = _bounds(row)
    return float(np.maximum(most - given, given - least).max())


def _bounds(row: StageStepper) -> tuple[F8, F8, F8, F8]:
    """Return the bounds of the scores, (K,) each, and of what each learner adds to each output, (P,) each."""
    layout = row.walk.layout
    own = row.walk.arrays(row.state)[0][len(row.walk.used) + N_ACCOUNT + layout.n_outputs + layout.n_opaque :]
    n_outputs, n_pairs = layout.n_outputs, len(layout.target)
    ends = np.cumsum([n_outputs, n_outputs, n_pairs, n_pairs])
    least, most, low, high, _ = np.split(own, ends)
    return least, most, low, high
