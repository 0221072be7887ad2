"""A stage tree laid out for rows whose values arrive bit by bit."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from attrs import frozen

from costframe import engine
from costframe.core.learners import node_layout
from costframe.core.learners.node_layout import path_counts
from costframe.core.learners.row_nodes import MISSING_LEFT_AT, NAMED_AT, READING_AT, STEPS_AT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.node_layout import NodeLayout
    from costframe.core.learners.tree_table import TreeTable
    from costframe.core.stages.layout import StageLayout


KNOWN = np.uint8(1)  # mark of a feature that has a value
WEIGHT, COMPARISONS, USES, N_USED = 0, 1, 2, 3  # places in a row's account
N_ACCOUNT = 4
CALLED = 1  # place of an opaque learner whose outputs are there


@frozen(eq=False, slots=False)
class StepLayout:
    """A stage tree for steps of a row; features are numbered among the U that the tree uses."""

    used: NDArray[np.int64]  # (U,) columns
    word: NDArray[np.int64]  # (nodes,); see engine/step.h
    reads: NDArray[np.int64]  # (nodes,): features tested here or below, as bits of their number modulo 64
    threshold: NDArray[np.float64]  # (nodes,)
    span: NDArray[np.int64]  # (nodes, 2): first category, and last + 1; no rows if no node tests for categories
    category: NDArray[np.float64]
    # (L, 9): number of the learner; kind; outputs; first feature that it reads, and last + 1; place; first of payload;
    # first target, and last + 1
    use: NDArray[np.int64]
    use_value: NDArray[np.float64]  # (L, 2): e_t in its unit; fill
    read: NDArray[np.int64]
    target: NDArray[np.int64]
    payload: NDArray[np.float64]
    stage: NDArray[np.int64]  # (stages, 4): first use, and last + 1; below; above
    stage_value: NDArray[np.float64]  # (stages, 1 + K): threshold, intercept
    n_learners: int
    depth: int  # of the deepest tree

    @cached_property
    def packed(self) -> engine.Record:
        """The layout as the engine takes it."""
        return engine.Steps.of(self)


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


def lay_out_steps(layout: StageLayout) -> StepLayout:
    """Lay out a stage tree for steps, once a model."""
    nodes, (word, span) = layout.nodes, _describe_nodes(layout.nodes, layout.trees)
    reads = np.zeros(len(word), np.int64)
    engine.look_below(path_counts(nodes.parent, nodes.feature, len(layout.used)), word, reads)
    first, read = layout.reads()
    every, number = np.unique(layout.learner, return_inverse=True)
    targets = layout.target_first[:-1], layout.target_first[1:]
    use = (number, layout.kind, layout.width, first[:-1], first[1:], layout.place, layout.payload_first, *targets)
    ways = layout.stage_first[:-1], layout.stage_first[1:], layout.below, layout.above
    return StepLayout(
        used=layout.used,
        word=word,
        reads=reads,
        threshold=layout.trees.threshold[nodes.origin],
        span=span,
        category=layout.trees.categories,
        use=np.stack(use, axis=1).astype(np.int64),
        use_value=np.column_stack([layout.weights[1][layout.learner], layout.fill]),
        read=read,
        target=layout.target,
        payload=layout.payload,
        stage=np.stack(ways, axis=1),
        stage_value=np.column_stack([layout.threshold, layout.intercept]),
        n_learners=len(every),
        depth=int(nodes.depth.max(initial=0)),
    )


def _describe_nodes(nodes: NodeLayout, trees: TreeTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the word of each node, without bits for look-ahead, and its span of categories."""
    at, first = nodes.origin, trees.category_first
    steps = (nodes.word >> node_layout.STEPS_AT & node_layout.STEPS_BITS).astype(np.int64)
    named, missing_left = trees.category_count[at] > 0, trees.missing_left[at].astype(np.int64)
    word = steps << STEPS_AT | named.astype(np.int64) << NAMED_AT | missing_left << MISSING_LEFT_AT
    word |= trees.reading[at].astype(np.int64) << READING_AT | np.maximum(nodes.feature, 0)
    return word, np.stack([first[at], first[at + 1]], axis=1) if named.any() else np.empty((0, 2), np.int64)
