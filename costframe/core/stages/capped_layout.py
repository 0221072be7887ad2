"""A stage tree laid out for walks of rows under limits, and the ends of these rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from costframe.core.learners.bits import word_count
from costframe.core.learners.tree_table import COLUMN, OPAQUE
from costframe.core.stages.layout import lay_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.stages.fallbacks import Fallbacks
    from costframe.core.stages.layout import StageLayout
    from costframe.core.stages.mean_outputs import LeftOutputs
    from costframe.core.stages.stages import Stage


class CappedLayout(NamedTuple):
    """A stage tree, whose payload has expected outputs of inner nodes too, for learners given up."""

    layout: StageLayout
    slot: NDArray[np.int64]  # (L,): a number for each learner
    expected: NDArray[np.float64]  # (L,): expected output of a column given up
    expected_opaque: NDArray[np.float64]


def lay_out_capped(
    bank: WeakLearnerBank, stages: tuple[Stage, ...], layout: StageLayout, known: LeftOutputs | None
) -> CappedLayout:
    """Lay out a stage tree for walks under limits, once a model; `known` are the outputs of learners given up."""
    layout = layout if known is None else lay_out(bank, stages, (known.value, known.values))
    expected, expected_opaque = np.zeros(len(layout.learner)), np.zeros(layout.n_opaque)
    if known is not None:
        for use in np.flatnonzero(layout.kind == COLUMN):
            expected[use] = known.of(int(layout.learner[use]), -1)[0]
        for use in np.flatnonzero(layout.kind == OPAQUE):
            place = int(layout.place[use])
            expected_opaque[place : place + layout.width[use]] = known.of(int(layout.learner[use]), -1)
    slot = np.unique(layout.learner, return_inverse=True)[1].astype(np.int64)
    return CappedLayout(layout, slot, expected, expected_opaque)


class CappedRows(NamedTuple):
    """Ends of rows under limits, and their purchases."""

    exits: NDArray[np.int64]  # (rows,): the answer reached, or the stage at which the row was cut
    cut: NDArray[np.bool_]  # (rows,): whether the row gave up a learner
    share: NDArray[np.float64]  # (rows,): share of the last stage's learners that are finished
    # (rows, K): of the last stage, with expected outputs of learners given up; a route's is in the first column
    scores: NDArray[np.float64]
    route_scores: NDArray[np.float64]  # (rows,): of the route before
    masks: NDArray[np.uint64]  # (rows, W): features acquired, of those that the tree uses
    # (rows, 3): sum of e_t of evaluated learners, price of comparisons, pairs of a learner and a feature that it read
    spent: NDArray[np.float64]

    @classmethod
    def empty(cls, layout: StageLayout, count: int) -> CappedRows:
        """Make empty arrays for `count` rows."""
        return cls(
            np.zeros(count, np.int64),
            np.zeros(count, np.bool_),
            np.ones(count),
            np.zeros((count, layout.n_outputs)),
            np.zeros(count),
            np.zeros((count, word_count(len(layout.used))), np.uint64),
            np.zeros((count, 3)),
        )

    def rows(self, part: slice | NDArray[np.int64]) -> CappedRows:
        """Return some rows; a view for a slice."""
        some: list[Any] = [each[part] for each in self]
        return CappedRows(*some)

    def final_scores(self, layout: StageLayout, fallbacks: Fallbacks | None) -> NDArray[np.float64]:
        """Return the scores of the answers, expected ones for rows that were cut: float64 (rows, K)."""
        rows = np.flatnonzero(self.cut)
        if fallbacks is None or not len(rows):
            return self.scores
        found, exits = self.scores.copy(), self.exits[rows]
        partial = self.scores[rows]
        partial[layout.below[exits] >= 0] = partial[layout.below[exits] >= 0, :1]
        found[rows] = fallbacks.scores(exits, self.share[rows], partial, self.route_scores[rows])
        return found
