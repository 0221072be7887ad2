"""The compiled walk of rows under limits; `capped_walk.CappedWalker` is its slow, obvious equal, to the last bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from costframe.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    B1 = NDArray[np.bool_]
    F8 = NDArray[np.float64]
    I4 = NDArray[np.int32]
    I8 = NDArray[np.int64]
    U1 = NDArray[np.uint8]
    U4 = NDArray[np.uint32]
    U8 = NDArray[np.uint64]

__all__ = ["Bill", "Model", "Table", "walk_capped"]

TREE, COLUMN = 0, 1
NAMED_AT, STEPS_AT, COLUMN_AT = np.uint64(63), np.uint64(40), np.uint64(24)  # parts of a node's word
STEPS_BITS, COLUMN_BITS, RANK_BITS = np.uint64(0x7FFFFF), np.uint64(0xFFFF), np.uint64(0xFFFFFF)
NEW, FINISHED, GIVEN_UP = 0, 1, 2  # what became of a learner
SPENT, WEIGHT, COMPARISONS, USES = 0, 1, 2, 3  # places in a row's account


class Model(NamedTuple):
    """A stage tree as its layout has it; L uses of learners, U features."""

    word: U8
    sets: U8
    feature: I4  # of each node, among those used; -1 at leaves
    stage_first: I8
    slot: I8  # (L,): a number for each learner
    kind: U1
    place: I8
    width: I4
    fill: F8
    expected: F8  # (L,): a column's, where it is given up
    expected_opaque: F8
    target_first: I8
    target: I8
    payload_first: I8
    payload: F8  # with that of inner nodes, where learners given up count with what is expected of them
    intercept: F8
    threshold: F8
    below: I8
    above: I8


class Bill(NamedTuple):
    """Prices, and what each use of a learner reads."""

    cost: F8  # (U,), as the next two
    split: F8
    barred: B1
    need_first: I8
    need: I8
    resource_cost: F8
    reuse: float
    own: F8  # (L,): price of the learner
    evaluation: F8  # (L,)
    read_first: I8
    read: I8


class Table(NamedTuple):
    """Rows, their limits, and what is found out; see `CappedRows`."""

    X: F8
    codes: U4
    opaque: F8
    limit: F8
    exits: I8
    cut: B1
    share: F8
    scores: F8
    route_scores: F8
    masks: U8
    spent: F8


class _Row(NamedTuple):
    """What one row has bought, and how far it has come."""

    bought: B1  # (U,)
    used: B1  # (U,)
    seen: I8  # (U,): the last use that read it
    paid: B1  # (R,)
    pending: B1  # (R,): in the price of features before, but not paid yet
    state: U1  # (learners,)
    node: I8  # (learners,): where a tree was left
    account: F8  # see SPENT


@kernel
def _goes_right(test: np.uint64, code: np.uint64, sets: U8) -> np.uint64:
    """Return 1 if a code goes right at a node, else 0."""
    rank = test & RANK_BITS
    if test >> NAMED_AT != 0:
        return np.uint64((sets[rank + (code >> np.uint64(6))] >> (code & np.uint64(63))) & np.uint64(1))
    return np.uint64(code > rank)


@kernel
def _price_of(u: int, bill: Bill, row: _Row) -> float:
    """Return what the first reading of a feature costs a learner, with resources and reuse."""
    due = 0.0
    if not row.bought[u]:
        due = bill.cost[u]
        for at in range(bill.need_first[u], bill.need_first[u + 1]):
            need = bill.need[at]
            if not row.paid[need] and not row.pending[need]:
                due += bill.resource_cost[need]
    if row.used[u]:
        due += bill.reuse
    return due


@kernel
def _take(u: int, use: int, bill: Bill, row: _Row, mask: U8) -> None:
    """Note that a use reads a feature, which is paid."""
    for at in range(bill.need_first[u], bill.need_first[u + 1]):
        row.paid[bill.need[at]] = True
    row.bought[u] = row.used[u] = True
    row.seen[u] = use
    row.account[USES] += 1.0
    mask[u >> 6] |= np.uint64(1) << np.uint64(u & 63)


@kernel
def _can_pay(use: int, due: float, bill: Bill, row: _Row, limit: float) -> bool:
    """Whether a learner can go on, its own price kept back."""
    return row.account[SPENT] + due + bill.own[use] <= limit


@kernel
def _buy_all(use: int, bill: Bill, row: _Row, limit: float, mask: U8) -> bool:
    """Buy all that a learner reads, or nothing; False if it is to be given up."""
    total, barred = 0.0, False
    for at in range(bill.read_first[use], bill.read_first[use + 1]):
        u = bill.read[at]
        barred |= bill.barred[u]
        total += _price_of(u, bill, row)
        if not row.bought[u]:
            for need in range(bill.need_first[u], bill.need_first[u + 1]):
                row.pending[bill.need[need]] = True
    row.pending[:] = False
    if barred or not _can_pay(use, total, bill, row, limit):
        return False
    row.account[SPENT] += total
    for at in range(bill.read_first[use], bill.read_first[use + 1]):
        _take(bill.read[at], use, bill, row, mask)
    return True


@kernel
def _walk_tree(use: int, model: Model, bill: Bill, row: _Row, codes: U4, limit: float, mask: U8) -> bool:
    """Take a row through a tree, buying what it has not; False if it is to be given up at the node it is left at."""
    slot = model.slot[use]
    node = np.uint64(model.place[use])
    test = model.word[node]
    while test >> STEPS_AT != 0:
        u = model.feature[node]
        due, fresh = 0.0, row.seen[u] != use
        if fresh:
            due = _price_of(u, bill, row)
        if (fresh and bill.barred[u]) or not _can_pay(use, due + bill.split[u], bill, row, limit):
            row.node[slot] = np.int64(node)
            return False
        if fresh:
            row.account[SPENT] += due
            _take(u, use, bill, row, mask)
        row.account[SPENT] += bill.split[u]
        row.account[COMPARISONS] += bill.split[u]
        right = _goes_right(test, np.uint64(codes[(test >> COLUMN_AT) & COLUMN_BITS]), model.sets)
        node += ((test >> STEPS_AT) & STEPS_BITS) + right
        test = model.word[node]
    row.node[slot] = np.int64(node)
    return True


@kernel
def _evaluate(
    use: int, model: Model, bill: Bill, row: _Row, codes: U4, limit: float, mask: U8, by_path: bool
) -> None:
    """Evaluate a learner, or give it up."""
    slot, is_tree = model.slot[use], model.kind[use] == TREE
    row.node[slot] = model.place[use]
    done = True
    if not (is_tree and by_path):
        done = _buy_all(use, bill, row, limit, mask)
    if done and is_tree:
        done = _walk_tree(use, model, bill, row, codes, limit, mask)
    row.state[slot] = FINISHED if done else GIVEN_UP
    if done:
        row.account[WEIGHT] += bill.evaluation[use]
        row.account[SPENT] += bill.own[use]


@kernel
def _add_opaque(use: int, model: Model, outputs: F8, scores: F8) -> None:
    """Add the weighted outputs of an opaque learner, summed by target before they are added."""
    targets = model.target_first[use + 1] - model.target_first[use]
    for j in range(targets):
        total, begun = 0.0, False
        for o in range(model.width[use]):
            weight = model.payload[model.payload_first[use] + o * targets + j]
            if weight != 0.0:
                term = weight * outputs[model.place[use] + o]
                total = total + term if begun else term
                begun = True
        scores[model.target[model.target_first[use] + j]] += total


@kernel
def _add(use: int, model: Model, row: _Row, x: F8, opaque: F8, scores: F8) -> None:
    """Add what a learner gives to each target, or what is expected of one that was given up."""
    slot, first = model.slot[use], model.payload_first[use]
    finished = row.state[slot] == FINISHED
    if model.kind[use] > COLUMN:
        _add_opaque(use, model, opaque if finished else model.expected_opaque, scores)
        return
    targets = model.target_first[use + 1] - model.target_first[use]
    value = 1.0
    if model.kind[use] == TREE:
        first += (row.node[slot] - model.place[use]) * targets
    else:
        value = x[model.place[use]]
        if np.isnan(value):
            value = model.fill[use]
        if not finished:
            value = model.expected[use]
    for j in range(targets):
        scores[model.target[model.target_first[use] + j]] += model.payload[first + j] * value


@kernel
def walk_capped(table: Table, model: Model, bill: Bill, by_path: bool, expects: bool) -> None:
    """Walk rows through all stages under their limits.

    Where the model `expects` outputs of learners that were given up, a row ends at the stage where it gave up the
    first; else these add nothing, and it goes on.
    """
    n_used, n_learners = bill.cost.shape[0], model.slot.max() + 1 if model.slot.shape[0] else 0
    n_resources = bill.resource_cost.shape[0]
    row = _Row(
        np.zeros(n_used, np.bool_), np.zeros(n_used, np.bool_), np.full(n_used, -1), np.zeros(n_resources, np.bool_),
        np.zeros(n_resources, np.bool_), np.zeros(n_learners, np.uint8), np.zeros(n_learners, np.int64), np.zeros(4),
    )  # fmt: skip
    for i in range(table.X.shape[0]):
        row.bought[:] = row.used[:] = row.paid[:] = False
        row.seen[:] = -1
        row.state[:] = NEW
        row.account[:] = 0.0
        stage, scores = 0, table.scores[i]
        while True:
            scores[:] = model.intercept[stage]
            finished, uses = 0, model.stage_first[stage + 1] - model.stage_first[stage]
            for use in range(model.stage_first[stage], model.stage_first[stage + 1]):
                slot = model.slot[use]
                if row.state[slot] == NEW:
                    _evaluate(use, model, bill, row, table.codes[i], table.limit[i], table.masks[i], by_path)
                if row.state[slot] == FINISHED:
                    finished += 1
                if row.state[slot] == FINISHED or expects:
                    _add(use, model, row, table.X[i], table.opaque[i], scores)
            table.cut[i] |= finished < uses
            if model.below[stage] < 0 or (expects and table.cut[i]):
                break
            table.route_scores[i] = scores[0]
            stage = model.above[stage] if scores[0] > model.threshold[stage] else model.below[stage]
        table.exits[i] = stage
        table.share[i] = finished / uses if uses > 0 else 1.0
        for k in range(3):
            table.spent[i, k] = row.account[1 + k]
