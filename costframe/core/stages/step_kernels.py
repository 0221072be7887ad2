"""Compiled steps of one row through a stage tree, as far as its values are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costframe.core.jit import F8, I8, U1, kernel_using
from costframe.core.learners import row_kernels
from costframe.core.learners.row_kernels import child
from costframe.core.learners.tree_table import OPAQUE, TREE
from costframe.core.stages import ahead_kernels, step_layout
from costframe.core.stages.ahead_kernels import add_output, find_needs
from costframe.core.stages.step_layout import (
    CALLED,
    COMPARISONS,
    FEATURE,
    FRESH,
    KIND,
    KNOWN,
    LEARNER,
    N_ACCOUNT,
    N_USED,
    READ,
    READ_END,
    STEPS,
    USED,
    USES,
    WEIGHT,
)

if TYPE_CHECKING:
    from costframe.core.stages.step_layout import StepLayout

_using = kernel_using(ahead_kernels, row_kernels, step_layout)


@_using
def _knows_all(begin: int, end: int, marks: U1, read: I8) -> bool:
    """Return whether all features that a learner reads have values."""
    for u in read[begin:end]:  # noqa: SIM110 - a kernel has no generators
        if marks[u] & KNOWN == 0:
            return False
    return True


@_using
def _use_all(begin: int, end: int, account: F8, marks: U1, read: I8) -> None:
    """Record that a learner reads all its features."""
    for u in read[begin:end]:
        account[N_USED] += marks[u] & USED == 0
        marks[u] |= USED
    account[USES] += end - begin


@_using
def _run_stage(  # noqa: C901 - one loop: a call with this many arrays would take as long as the work
    stage: int, x: F8, account: F8, at: I8, marks: U1, layout: StepLayout, split: F8, by_path: bool, spends: bool
) -> int:
    """Evaluate the learners of a stage as far as values are known.

    Return the number of learners that wait for a value, or -1 - use for the use of an opaque learner to call.
    """
    node, threshold, category, uses = layout.node, layout.threshold, layout.category, layout.use
    waiting = 0
    for use in range(layout.stage[stage, 0], layout.stage[stage, 1]):
        learner, kind = uses[use, LEARNER], uses[use, KIND]
        v = at[learner]
        if v < 0:
            continue
        tests = kind == TREE
        if not (tests and by_path):
            begin, end, call = uses[use, READ], uses[use, READ_END], kind == OPAQUE and v != CALLED
            if not _knows_all(begin, end, marks, layout.read):
                waiting += 1
                continue
            if call:
                return -1 - use
            if spends:
                _use_all(begin, end, account, marks, layout.read)
        while tests and node[v, STEPS] != 0 and marks[node[v, FEATURE]] & KNOWN != 0:
            u = node[v, FEATURE]
            if spends:
                if by_path and node[v, FRESH] != 0:
                    account[USES] += 1.0
                    account[N_USED] += marks[u] & USED == 0
                    marks[u] |= USED
                account[COMPARISONS] += split[u]
            v = child(v, x[u], node, threshold, category)
        if tests and node[v, STEPS] != 0:
            at[learner] = v
            waiting += 1
        else:
            at[learner] = ~v
            account[WEIGHT] += layout.use_value[use, 0]
    return waiting


@_using
def step_row(
    supplied: F8, numbers: F8, places: I8, marks: U1, layout: StepLayout, split: F8, by_path: bool, spends: bool
) -> int:
    """Take the values of the features needed, and go on until others are needed, or the row ends.

    The account has comparisons and uses only if the row `spends` on them. Return the number of features needed, or
    -1 - use for the use of an opaque learner to call. The row's state is in the parts of `numbers`, `places` and
    `marks`; see `step.StepState`.
    """
    n_used, n_outputs = marks.shape[0], layout.stage_value.shape[1] - 1
    x, account, rest = numbers[:n_used], numbers[n_used : n_used + N_ACCOUNT], numbers[n_used + N_ACCOUNT :]
    scores, opaque = rest[:n_outputs], rest[n_outputs:]
    at, needed = places[: layout.n_learners], places[layout.n_learners : -1]
    stage = places[-1]
    for i in range(supplied.shape[0]):
        x[needed[i]] = supplied[i]
        marks[needed[i]] |= KNOWN
    while True:
        waiting = _run_stage(stage, x, account, at, marks, layout, split, by_path, spends)
        if waiting != 0:
            break
        scores[:] = layout.stage_value[stage, 1:]
        for use in range(layout.stage[stage, 0], layout.stage[stage, 1]):
            add_output(use, ~at[layout.use[use, LEARNER]], x, opaque, layout, scores)
        if layout.stage[stage, 2] < 0:
            break
        stage = layout.stage[stage, 3] if scores[0] > layout.stage_value[stage, 0] else layout.stage[stage, 2]
    places[-1] = stage
    return waiting if waiting <= 0 else find_needs(stage, needed, x, opaque, at, marks, layout, by_path)
