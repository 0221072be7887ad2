"""Compiled walk of rows under limits; `stages.walk.StageWalker` is its slow, obvious twin, to the last bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from costframe.core.jit import B1, F8, I8, U1, U8, Codes, kernel
from costframe.core.learners.node_layout import COLUMN_AT, COLUMN_BITS, NAMED_AT, RANK_BITS, STEPS_AT, STEPS_BITS
from costframe.core.learners.row_kernels import weigh_outputs
from costframe.core.learners.tree_table import COLUMN, TREE
from costframe.core.prices.needs_kernels import ascend, change_needed

if TYPE_CHECKING:
    from costframe.core.prices.needs import Needs
    from costframe.core.stages.capped_layout import CappedLayout, CappedRows
    from costframe.core.stages.layout import StageLayout

NEW, FINISHED, GIVEN_UP = 0, 1, 2  # states of a learner
# states of a resource; a pending one is in a sum that may stay unpaid
UNPAID, PAID, PENDING, LOOKED_AT = 0, 1, 2, 3
SPENT, WEIGHT, COMPARISONS, USES = 0, 1, 2, 3  # places in a row's account


class Bill(NamedTuple):
    """Prices, and the features that each use of a learner reads."""

    cost: F8  # (U,), as the next three
    split: F8
    comparisons: F8  # `split` in units of comparisons
    barred: B1
    needs: Needs
    resource_cost: F8
    reuse: float
    own: F8  # (L,): price of evaluating the learner
    evaluation: F8  # (L,): e_t in its unit
    read_first: I8
    read: I8


class Row(NamedTuple):
    """One row: its purchases, and its place in the stage tree."""

    limit: float
    x: F8
    codes: Codes
    opaque: F8
    mask: U8  # features bought
    bought: B1  # (U,), as the next two
    used: B1
    seen: I8  # (U,): the last use that read each
    paid: U1  # of each resource
    found: I8  # resources on the way, as many as there are
    state: U1  # of each learner
    left: I8  # the node at which each tree was given up
    account: F8  # see SPENT


@kernel
def _goes_right(test: np.uint64, code: np.uint64, sets: U8) -> np.uint64:
    """Return 1 if a code goes right at a node, else 0."""
    rank = test & RANK_BITS
    if test >> NAMED_AT != 0:
        return np.uint64((sets[rank + (code >> np.uint64(6))] >> (code & np.uint64(63))) & np.uint64(1))
    return np.uint64(code > rank)


@kernel
def _price_of(u: int, bill: Bill, row: Row) -> float:
    """Return the price of a feature not yet bought, with the resources that it needs first."""
    due = float(bill.cost[u])
    if bill.needs.first[u] < bill.needs.first[u + 1]:
        count = change_needed(u, bill.needs, row.paid, UNPAID, LOOKED_AT, row.found, 0)
        ascend(row.found, count, row.paid, LOOKED_AT)
        for r in row.found[:count]:
            due += bill.resource_cost[r]
            row.paid[r] = UNPAID
    return due


@kernel
def _set_resources(u: int, bill: Bill, row: Row, before: int, after: int) -> None:
    """Change the state of a feature's resources from `before` to `after`."""
    change_needed(u, bill.needs, row.paid, before, after, row.found, 0)


@kernel
def _buy(u: int, bill: Bill, row: Row) -> None:
    """Record that the row has bought a feature."""
    row.bought[u] = True
    row.mask[u >> 6] |= np.uint64(1) << np.uint64(u & 63)
    _set_resources(u, bill, row, UNPAID, PAID)


@kernel
def _buy_all(use: int, own: float, bill: Bill, row: Row) -> bool:
    """Buy all features that a learner reads, or none; return False if it must be given up."""
    total, barred = 0.0, False
    reads = bill.read[bill.read_first[use] : bill.read_first[use + 1]]
    for u in reads:
        due = 0.0
        if not row.bought[u]:
            due = _price_of(u, bill, row)
            _set_resources(u, bill, row, UNPAID, PENDING)
        if row.used[u]:
            due += bill.reuse
        total += due
        barred |= bill.barred[u]
    possible = not barred and bool(row.account[SPENT] + total + own <= row.limit)
    for u in reads:
        _set_resources(u, bill, row, PENDING, UNPAID)
    if possible:
        for u in reads:
            _buy(u, bill, row)
            row.used[u] = True
            row.seen[u] = use
        row.account[SPENT] += total
        row.account[USES] += reads.shape[0]
    return possible


@kernel
def _evaluate_stage(  # noqa: C901 - one loop, as its docstring says
    begin: int, end: int, model: CappedLayout, bill: Bill, row: Row, by_path: bool
) -> None:
    """Evaluate the learners of a stage in turn, or give them up.

    It walks trees itself: a call with this many arrays would take as long as the walk.
    """
    nodes, kind, place, slots = model.layout.nodes, model.layout.kind, model.layout.place, model.slot
    word, feature, sets = nodes.word, nodes.feature, nodes.sets
    bought, used, seen, account, limit, codes = row.bought, row.used, row.seen, row.account, row.limit, row.codes
    split, comparisons, barred, own, reuse = bill.split, bill.comparisons, bill.barred, bill.own, bill.reuse
    for use in range(begin, end):
        slot = slots[use]
        if row.state[slot] != NEW:
            continue
        node = place[use]
        done = account[SPENT] + own[use] <= limit
        if done and not (kind[use] == TREE and by_path):
            done = _buy_all(use, own[use], bill, row)
        if done and kind[use] == TREE:
            test = word[node]
            while test >> STEPS_AT != 0:
                u, due = feature[node], 0.0
                fresh = seen[u] != use
                if not bought[u]:
                    due = _price_of(u, bill, row)
                if fresh and used[u]:
                    due += reuse
                done = not (fresh and barred[u]) and account[SPENT] + (due + split[u]) + own[use] <= limit
                if not done:
                    break
                if not bought[u]:
                    _buy(u, bill, row)
                used[u], seen[u] = True, use
                account[SPENT] += due
                account[SPENT] += split[u]
                account[COMPARISONS] += comparisons[u]
                account[USES] += 1.0 if fresh else 0.0
                right = _goes_right(test, np.uint64(codes[(test >> COLUMN_AT) & COLUMN_BITS]), sets)
                node += np.int64(((test >> STEPS_AT) & STEPS_BITS) + right)
                test = word[node]
        row.left[slot], row.state[slot] = node, FINISHED if done else GIVEN_UP
        if done:
            account[WEIGHT] += bill.evaluation[use]
            account[SPENT] += own[use]


@kernel
def _add_opaque(use: int, layout: StageLayout, outputs: F8, scores: F8) -> None:
    """Add the weighted outputs of an opaque learner, summed by target before they are added."""
    targets = layout.target[layout.target_first[use] : layout.target_first[use + 1]]
    first, begin, width = layout.payload_first[use], layout.place[use], layout.width[use]
    for j in range(targets.shape[0]):
        scores[targets[j]] += weigh_outputs(layout.payload, first + j, targets.shape[0], outputs, begin, width)


@kernel
def _score_stage(begin: int, end: int, model: CappedLayout, row: Row, scores: F8, expects: bool) -> int:
    """Add each learner's outputs, or expected outputs, to its targets; return the number of finished learners."""
    layout, kind, place = model.layout, model.layout.kind, model.layout.place
    target, target_first, payload = layout.target, layout.target_first, layout.payload
    finished = 0
    for use in range(begin, end):
        slot = model.slot[use]
        done = row.state[slot] == FINISHED
        finished += 1 if done else 0
        if not (done or expects):
            continue
        if kind[use] > COLUMN:
            _add_opaque(use, layout, row.opaque if done else model.expected_opaque, scores)
            continue
        first, n_targets = layout.payload_first[use], target_first[use + 1] - target_first[use]
        value = 1.0
        if kind[use] == TREE:
            first += (row.left[slot] - place[use]) * n_targets
        elif done:
            value = row.x[place[use]]
            if np.isnan(value):
                value = layout.fill[use]
        else:
            value = model.expected[use]
        for j in range(n_targets):
            scores[target[target_first[use] + j]] += payload[first + j] * value
    return finished


@kernel
def walk_capped(
    X: F8,
    codes: Codes,
    opaque: F8,
    limit: F8,
    found: CappedRows,
    model: CappedLayout,
    bill: Bill,
    by_path: bool,
    expects: bool,
) -> None:
    """Walk rows through all stages under their limits.

    If the model `expects` outputs of learners given up, a row ends at the stage where it gives up the first; else these
    learners add nothing, and the row goes on.
    """
    layout, n_used = model.layout, bill.cost.shape[0]
    n_learners = model.slot.max() + 1 if model.slot.shape[0] else 0
    bought, used, seen = np.empty(n_used, np.bool_), np.empty(n_used, np.bool_), np.empty(n_used, np.int64)
    n_resources, account = bill.resource_cost.shape[0], np.empty(4)
    paid, resources = np.empty(n_resources, np.uint8), np.empty(n_resources, np.int64)
    state, left = np.empty(n_learners, np.uint8), np.empty(n_learners, np.int64)
    for i in range(X.shape[0]):
        bought[:] = used[:] = False
        seen[:] = -1
        paid[:] = UNPAID
        state[:] = NEW
        account[:] = 0.0
        row = Row(
            limit[i],
            X[i],
            codes[i],
            opaque[i],
            found.masks[i],
            bought,
            used,
            seen,
            paid,
            resources,
            state,
            left,
            account,
        )
        stage, scores = 0, found.scores[i]
        while True:
            begin, end = layout.stage_first[stage], layout.stage_first[stage + 1]
            scores[:] = layout.intercept[stage]
            _evaluate_stage(begin, end, model, bill, row, by_path)
            finished = _score_stage(begin, end, model, row, scores, expects)
            found.cut[i] |= finished < end - begin
            if layout.below[stage] < 0 or (expects and found.cut[i]):
                break
            found.route_scores[i] = scores[0]
            stage = layout.above[stage] if scores[0] > layout.threshold[stage] else layout.below[stage]
        found.exits[i] = stage
        found.share[i] = finished / (end - begin) if end > begin else 1.0
        found.spent[i] = account[WEIGHT:]
