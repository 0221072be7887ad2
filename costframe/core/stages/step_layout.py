"""A stage tree laid out for rows whose values arrive bit by bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from costframe import engine
from costframe.core.learners.node_layout import path_counts
from costframe.core.learners.row_nodes import FEATURE
from costframe.core.stages.run_stages import learner_reads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.stages.layout import StageLayout


LEARNER, KIND, WIDTH, READ, READ_END, PLACE, PAYLOAD, TARGET, TARGET_END = range(9)  # columns of `StepLayout.use`
KNOWN, USED = np.uint8(1), np.uint8(2)  # marks of a feature: it has a value, and a learner has read it
WEIGHT, COMPARISONS, USES, N_USED = 0, 1, 2, 3  # places in a row's account
N_ACCOUNT = 4
CALLED = 1  # place of an opaque learner whose outputs are there


class StepLayout(NamedTuple):
    """A stage tree for steps of a row, in the order of the kernel's arguments.

    Features are numbered among the U that the tree uses.
    """

    word: NDArray[np.int64]  # (nodes,); see `row_nodes`
    reads: NDArray[np.int64]  # (nodes,): features tested here or below, as bits of their number modulo 64
    threshold: NDArray[np.float64]  # as in `RowLayout`, like the next two
    span: NDArray[np.int64]
    category: NDArray[np.float64]
    # (L, 9): number of the learner; kind; outputs; first feature that it reads, and last + 1; place; first of payload;
    # first target, and last + 1
    use: NDArray[np.int64]
    use_value: NDArray[np.float64]  # (L, 2): e_t in its unit; fill
    read: NDArray[np.int64]
    target: NDArray[np.int64]
    payload: NDArray[np.float64]
    stage: NDArray[np.int64]  # as in `RowLayout`, like the next one
    stage_value: NDArray[np.float64]
    n_learners: int
    depth: int  # of the deepest tree


class StepState(NamedTuple):
    """State of a row, in few arrays, for each costs time at the door of the kernel; it has its parts in this order.

    They are for the U features that the tree uses, for S learners, K outputs, and all outputs of opaque learners.
    """

    numbers: NDArray[np.float64]  # value of each feature; account; scores of the last stage; outputs of opaque learners
    # node of each learner, ~node at its end; features needed (U,), of which the first are valid; stage
    places: NDArray[np.int64]
    marks: NDArray[np.uint8]  # of each feature

    def copy(self) -> StepState:
        """Return an independent copy."""
        return StepState(self.numbers.copy(), self.places.copy(), self.marks.copy())


def lay_out_steps(bank: WeakLearnerBank, layout: StageLayout, weights: NDArray[np.float64]) -> StepLayout:
    """Lay out a stage tree for steps, once a model; `weights` are e_t in their unit."""
    nodes, row = layout.nodes, layout.row
    word, reads = row.word & ~FEATURE | np.maximum(nodes.feature, 0), np.zeros(len(row.word), np.int64)
    engine.look_below(path_counts(nodes.parent, nodes.feature, len(layout.used)), word, reads)
    first, read = learner_reads(bank, layout)
    every, number = np.unique(layout.learner, return_inverse=True)
    use = np.stack([number, layout.kind, layout.width, first[:-1], first[1:]], axis=1)
    return StepLayout(
        word=word,
        reads=reads,
        threshold=row.threshold,
        span=row.span,
        category=row.category,
        use=np.hstack([use, row.use[:, 1:]]).astype(np.int64),
        use_value=np.column_stack([weights[layout.learner], layout.fill]),
        read=read,
        target=row.target,
        payload=row.payload,
        stage=row.stage,
        stage_value=row.stage_value,
        n_learners=len(every),
        depth=int(nodes.depth.max(initial=0)),
    )
