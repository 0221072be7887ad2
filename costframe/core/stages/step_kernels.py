"""Compiled steps of one row through a stage tree, as far as its values are known."""

from costframe.core.jit import F8, I8, U1, kernel
from costframe.core.learners.row_kernels import child
from costframe.core.learners.row_nodes import FEATURE, FRESH_AT, STEPS_AT
from costframe.core.learners.tree_table import OPAQUE, TREE
from costframe.core.stages.ahead_kernels import add_outputs, find_needs
from costframe.core.stages.step_layout import (
    CALLED,
    COMPARISONS,
    KIND,
    KNOWN,
    LEARNER,
    N_ACCOUNT,
    N_USED,
    READ,
    READ_END,
    USED,
    USES,
    WEIGHT,
)


@kernel
def _knows_all(begin: int, end: int, marks: U1, read: I8) -> bool:
    """Return whether all features that a learner reads have values."""
    for u in read[begin:end]:  # noqa: SIM110 - a kernel has no generators
        if marks[u] & KNOWN == 0:
            return False
    return True


@kernel
def _use_all(begin: int, end: int, account: F8, marks: U1, read: I8) -> None:
    """Record that a learner reads all its features."""
    for u in read[begin:end]:
        account[N_USED] += marks[u] & USED == 0
        marks[u] |= USED
    account[USES] += end - begin


@kernel
def run_stage(  # noqa: C901 - one loop: a call with this many arrays would take as long as the work
    first: int, last: int, x: F8, account: F8, at: I8, marks: U1, word: I8, threshold: F8, span: I8, category: F8,
    uses: I8, use_value: F8, read: I8, split: F8, by_path: bool, spends: bool,
) -> int:  # fmt: skip
    """Evaluate the learners of a stage, those of the uses from `first` on, as far as values are known.

    Return the number of learners that wait for a value, or -1 - use for the use of an opaque learner to call.
    """
    waiting = 0
    for use in range(first, last):
        learner, kind = uses[use, LEARNER], uses[use, KIND]
        v = at[learner]
        if v < 0:
            continue
        if not (kind == TREE and by_path):
            begin, end, call = uses[use, READ], uses[use, READ_END], kind == OPAQUE and v != CALLED
            if not _knows_all(begin, end, marks, read):
                waiting += 1
                continue
            if call:
                return -1 - use
            if spends:
                _use_all(begin, end, account, marks, read)
        if kind == TREE:
            test = word[v]
            while test >> STEPS_AT != 0 and marks[test & FEATURE] & KNOWN != 0:
                u = test & FEATURE
                if spends:
                    if by_path and test >> FRESH_AT & 1 != 0:
                        account[USES] += 1.0
                        account[N_USED] += marks[u] & USED == 0
                        marks[u] |= USED
                    account[COMPARISONS] += split[u]
                v = child(v, test, x[u], threshold, span, category)
                test = word[v]
            if test >> STEPS_AT != 0:
                at[learner] = v
                waiting += 1
                continue
        at[learner] = ~v
        account[WEIGHT] += use_value[use, 0]
    return waiting


@kernel
def step_row(
    supplied: F8, numbers: F8, places: I8, marks: U1, word: I8, reads: I8, threshold: F8, span: I8, category: F8,
    uses: I8, use_value: F8, read: I8, target: I8, payload: F8, stages: I8, stage_value: F8, n_learners: int,
    depth: int, split: F8, by_path: bool, spends: bool,
) -> int:  # fmt: skip
    """Take the values of the features needed, and go on until others are needed, or the row ends.

    The account has comparisons and uses only if the row `spends` on them. Return the number of features needed, or
    -1 - use for the use of an opaque learner to call. The row's state is in the parts of `numbers`, `places` and
    `marks`, see `step_layout.StepState`, and the next arguments are those of a `StepLayout`.
    """
    n_used, n_outputs = marks.shape[0], stage_value.shape[1] - 1
    x, account, rest = numbers[:n_used], numbers[n_used : n_used + N_ACCOUNT], numbers[n_used + N_ACCOUNT :]
    scores, opaque = rest[:n_outputs], rest[n_outputs:]
    at, needed, stage = places[:n_learners], places[n_learners:-1], places[-1]
    for i in range(supplied.shape[0]):
        x[needed[i]] = supplied[i]
        marks[needed[i]] |= KNOWN
    while True:
        first, last = stages[stage, 0], stages[stage, 1]
        waiting = run_stage(
            first, last, x, account, at, marks, word, threshold, span, category, uses, use_value, read, split,
            by_path, spends,
        )  # fmt: skip
        if waiting != 0:
            break
        for k in range(n_outputs):
            scores[k] = stage_value[stage, 1 + k]
        add_outputs(first, last, at, x, opaque, uses, use_value, read, target, payload, scores)
        if stages[stage, 2] < 0:
            break
        stage = stages[stage, 3] if scores[0] > stage_value[stage, 0] else stages[stage, 2]
    places[-1] = stage
    if waiting <= 0:
        return waiting
    return find_needs(
        stage, needed, x, opaque, at, marks, word, reads, threshold, span, category, uses, use_value, read, target,
        payload, stages, stage_value, depth, by_path,
    )  # fmt: skip
