"""Compiled steps of a row through an additive model until its answer is certain.

A score is a sum of floats in the order of the learners, and rounding is monotone: the same sum of lower bounds of the
learners' outputs is at most the score, to the last bit, and that of upper bounds is at least the score.

The *pull* of a feature is how much the trees that wait for it leave open: the distance of their bounds, over the
outputs on which the goal depends. The row acquires the feature with the largest pull^1.5 / price, the price with all
resources that are not paid yet. On tables of `benchmarks/certain.py` pull / price and pull^2 / price saved less, and so
did a price that divides each resource among all features that wait for it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from costframe.core.jit import B1, F8, I8, U1, kernel
from costframe.core.learners.row_kernels import child, weigh_outputs
from costframe.core.learners.row_nodes import FEATURE, STEPS_AT
from costframe.core.learners.tree_table import OPAQUE, TREE
from costframe.core.prices.needs_kernels import change_needed
from costframe.core.stages.certain_layout import CLOSE, CUT, LARGEST, LOOKED_AT, PAID, UNPAID
from costframe.core.stages.step_kernels import run_stage
from costframe.core.stages.step_layout import (
    CALLED,
    KIND,
    KNOWN,
    LEARNER,
    PAYLOAD,
    PLACE,
    READ,
    READ_END,
    TARGET,
    TARGET_END,
    WIDTH,
)

if TYPE_CHECKING:
    from costframe.core.prices.needs import Needs
    from costframe.core.stages.certain_layout import Certain, CertainRows, Goal, RowPrices
    from costframe.core.stages.step_layout import StepLayout

NEVER = np.iinfo(np.int64).min
WANTED = 128  # a mark of a feature, while needs are listed


class CertainRow(NamedTuple):
    """One row on its way, for U features that the model uses, L learners, K outputs, R resources.

    There are P pairs of a learner and an output that it adds to.
    """

    x: F8  # (U,)
    marks: U1  # (U,)
    at: I8  # (L,): node of each tree, ~node at its end; negative at the end of other learners
    bounded: I8  # (L,): like `at`, when the learner's bounds were set
    account: F8
    opaque: F8  # outputs of opaque learners
    low: F8  # (P,): bounds of what each learner adds to each output
    high: F8
    scores: F8  # (K,): the score given, and its bounds
    least: F8
    most: F8
    open: B1  # (K,): outputs on which the goal still depends
    paid: U1  # (R,)
    needed: I8  # (U,), of which the first are valid
    pull: F8  # (U,)
    found: I8  # (R,): resources on the way


@kernel
def begin_row(model: Certain, row: CertainRow) -> None:
    """Make a row without values; the outputs of opaque learners are as they are."""
    uses = model.steps.use
    row.marks[:], row.account[:], row.paid[:] = 0, 0.0, UNPAID
    row.low[:], row.high[:] = -np.inf, np.inf
    for use in range(uses.shape[0]):
        row.at[uses[use, LEARNER]] = uses[use, PLACE] if uses[use, KIND] == TREE else CALLED
    row.bounded[:] = NEVER


@kernel
def raise_bounds(word: I8, uses: I8, lowest: F8, highest: F8) -> None:
    """Set the bounds of inner nodes from those of the leaves below them; they have the places of a payload."""
    for use in range(uses.shape[0]):
        if uses[use, KIND] == TREE:
            n_targets, v = uses[use, TARGET_END] - uses[use, TARGET], uses[use, PLACE]
            first, end = uses[use, PAYLOAD] - v * n_targets, v + 1
            while v < end:  # the nodes of a tree are side by side
                if word[v] >> STEPS_AT != 0:
                    end = max(end, v + (word[v] >> STEPS_AT) + 2)
                v += 1
            for v in range(end - 1, uses[use, PLACE] - 1, -1):  # children come after their parents
                left = first + (v + (word[v] >> STEPS_AT)) * n_targets
                if word[v] >> STEPS_AT != 0:
                    for j in range(n_targets):
                        at, right = first + v * n_targets + j, left + n_targets + j
                        lowest[at] = min(lowest[left + j], lowest[right])
                        highest[at] = max(highest[left + j], highest[right])


@kernel
def bound_tree(
    v: int, first: int, x: F8, marks: U1, known: np.int64, word: I8, reads: I8, threshold: F8, span: I8, category: F8,
    lowest: F8, highest: F8, begin: int, end: int, low: F8, high: F8, stack: I8,
) -> None:  # fmt: skip
    """Set a tree's bounds, from `begin` to `end` in `low` and `high`, over the leaves below a node that are left open.

    `known` has the bits of known features, by their numbers modulo 64; `first` is the place of node 0 in `lowest`.
    """
    low[begin:end], high[begin:end] = np.inf, -np.inf
    stack[0], size, n_targets = v, 1, end - begin
    while size > 0:
        size -= 1
        v = stack[size]
        while reads[v] & known != 0:  # below other nodes nothing is known, so the prepared bounds hold
            test = word[v]
            if marks[test & FEATURE] & KNOWN != 0:
                v = child(v, test, x[test & FEATURE], threshold, span, category)
            else:
                v += test >> STEPS_AT
                stack[size] = v + 1
                size += 1
        at = first + v * n_targets - begin
        for p in range(begin, end):
            low[p] = min(low[p], lowest[at + p])
            high[p] = max(high[p], highest[at + p])


@kernel
def _bound_untreed(use: int, steps: StepLayout, x: F8, opaque: F8, low: F8) -> None:
    """Set the bounds of a column or an opaque learner at its end to its outputs; see `add_outputs`."""
    uses, payload = steps.use, steps.payload
    first, begin, end = uses[use, PAYLOAD], uses[use, TARGET], uses[use, TARGET_END]
    if uses[use, KIND] == OPAQUE:
        place, width = uses[use, PLACE], uses[use, WIDTH]
        for j in range(end - begin):
            low[begin + j] = weigh_outputs(payload, first + j, end - begin, opaque, place, width)
        return
    value = x[steps.read[uses[use, READ]]]
    if np.isnan(value):
        value = steps.use_value[use, 1]
    for j in range(end - begin):
        low[begin + j] = payload[first + j] * value


@kernel
def _bound_learners(fresh: np.int64, model: Certain, row: CertainRow) -> None:
    """Set the bounds of all learners, after features came whose bits, by their numbers modulo 64, are `fresh`."""
    steps, stack, known = model.steps, np.empty(model.steps.depth + 2, np.int64), np.int64(0)
    uses, word, reads, threshold, span, category = (
        steps.use, steps.word, steps.reads, steps.threshold, steps.span, steps.category,
    )  # fmt: skip
    lowest, highest, x, marks, at, bounded = model.lowest, model.highest, row.x, row.marks, row.at, row.bounded
    low, high, payload = row.low, row.high, steps.payload
    for u in range(marks.shape[0]):
        known |= np.int64(marks[u] & KNOWN) << (u & 63)
    for use in range(uses.shape[0]):
        learner, begin, end = uses[use, LEARNER], uses[use, TARGET], uses[use, TARGET_END]
        v = at[learner]
        if v == bounded[learner] and (v < 0 or reads[v] & fresh == 0):
            continue
        bounded[learner] = v
        is_tree, first = uses[use, KIND] == TREE, uses[use, PAYLOAD] - uses[use, PLACE] * (end - begin)
        if v < 0 and is_tree:
            low[begin:end] = payload[first + ~v * (end - begin) : first + (~v + 1) * (end - begin)]
        elif v < 0:
            _bound_untreed(use, steps, x, row.opaque, low)
        if v < 0:
            high[begin:end] = low[begin:end]
        elif is_tree:
            bound_tree(
                v, first, x, marks, known, word, reads, threshold, span, category, lowest, highest, begin, end, low,
                high, stack,
            )  # fmt: skip


@kernel
def _add_bounds(target: I8, intercept: F8, row: CertainRow) -> bool:
    """Set the scores and their bounds, in the order of the learners; return whether the bounds leave one score only."""
    scores, least, most, lows, highs = row.scores, row.least, row.most, row.low, row.high
    scores[:], least[:], most[:] = intercept, intercept, intercept
    for p in range(target.shape[0]):
        k, low, high = target[p], lows[p], highs[p]
        least[k] += low
        most[k] += high
        scores[k] += low if low == high else min(max(0.5 * low + 0.5 * high, low), high)
    for k in range(intercept.shape[0]):
        if least[k] != most[k] or (least[k] == 0.0 and math.copysign(1.0, intercept[k]) < 0.0):
            return False  # a sum that begins with -0.0 may end at either zero
    return True


@kernel
def _as_compared(score: float, goal: Goal) -> float:
    """Return a score as predictions of classes are compared; it is monotone."""
    score /= goal.divisor
    return 1.0 / (1.0 + math.exp(-score)) if goal.by_sigmoid else score


@kernel
def _find_open(goal: Goal, row: CertainRow) -> bool:
    """Set the outputs on which the goal still depends; return whether there are any."""
    scores, least, most, best, any_open = row.scores, row.least, row.most, 0, False
    for k in range(scores.shape[0]):
        best = k if scores[k] > scores[best] else best
    finite = most[best] / goal.divisor < np.inf  # the link softmax has no largest of infinite scores
    for k in range(scores.shape[0]):
        if goal.kind == CLOSE:
            score, low, high = scores[k] / goal.divisor, least[k] / goal.divisor, most[k] / goal.divisor
            done = goal.margin > 0.0 and max(high - score, score - low) <= goal.margin
        elif goal.kind == CUT:
            done = least[k] / goal.divisor > goal.above or most[k] / goal.divisor <= goal.below
        else:
            lead = _as_compared(least[best], goal) - _as_compared(most[k], goal)
            done = k == best or (finite and (lead > goal.margin or (lead == goal.margin == 0.0 and best < k)))
        row.open[k] = not done
        any_open |= not done
    row.open[best] |= any_open and goal.kind == LARGEST
    return any_open


@kernel
def list_needs(uses: I8, read: I8, at: I8, marks: U1, needed: I8) -> int:
    """Set the features that columns and opaque learners wait for, ascending; return their number.

    Their outputs have no bounds, so all these features are certainly needed.
    """
    count = 0
    for use in range(uses.shape[0]):
        if uses[use, KIND] != TREE and at[uses[use, LEARNER]] >= 0:
            for u in read[uses[use, READ] : uses[use, READ_END]]:
                if marks[u] & KNOWN == 0:
                    marks[u] |= WANTED
    for u in range(marks.shape[0]):
        if marks[u] & WANTED != 0:
            marks[u] ^= WANTED
            needed[count] = u
            count += 1
    return count


@kernel
def _pull_features(model: Certain, row: CertainRow) -> bool:
    """Set the pull of each feature; return whether any has one."""
    uses, target, word, found = model.steps.use, model.steps.target, model.steps.word, False
    at, low, high, is_open, pull = row.at, row.low, row.high, row.open, row.pull
    pull[:] = 0.0
    for use in range(uses.shape[0]):
        v = at[uses[use, LEARNER]]
        if v < 0:
            continue
        for p in range(uses[use, TARGET], uses[use, TARGET_END]):
            if is_open[target[p]] and high[p] != low[p]:
                pull[word[v] & FEATURE] += high[p] - low[p]
                found = True
    return found


@kernel
def _wait_for_all(model: Certain, row: CertainRow) -> None:
    """Give all features that trees wait for a pull: the goal depends on no distance of bounds, but on rounding."""
    steps = model.steps
    for use in range(steps.use.shape[0]):
        v = row.at[steps.use[use, LEARNER]]
        if v >= 0:
            row.pull[steps.word[v] & FEATURE] += 1.0


@kernel
def _list_unpaid(u: int, needs: Needs, paid: U1, found: I8) -> int:
    """Set `found` to the resources that a feature needs and that are not paid; return their number."""
    count = change_needed(u, needs, paid, UNPAID, LOOKED_AT, found, 0)
    for r in found[:count]:
        paid[r] = UNPAID
    return count


@kernel
def _list_free(best: int, cost: F8, needs: Needs, resource_cost: F8, pull: F8, paid: U1, found: I8, needed: I8) -> int:
    """Set the features needed to `best`, -1 for none, and those with a pull that are free; return their number."""
    count, first = 0, needs.first
    for u in range(pull.shape[0]):
        is_free = pull[u] != 0.0 and cost[u] == 0.0
        if is_free and first[u] < first[u + 1]:
            for r in found[: _list_unpaid(u, needs, paid, found)]:
                is_free &= resource_cost[r] == 0.0
        if is_free or u == best:
            needed[count] = u
            count += 1
    return count


@kernel
def _find_best(cost: F8, needs: Needs, resource_cost: F8, pull: F8, paid: U1, found: I8) -> int:
    """Return the feature with the largest pull for its price, that of the resources that it needs first included."""
    best, most, first = -1, 0.0, needs.first
    for u in range(pull.shape[0]):
        if pull[u] != 0.0:
            price = cost[u]
            if first[u] < first[u + 1]:
                for r in found[: _list_unpaid(u, needs, paid, found)]:
                    price += resource_cost[r]
            worth = pull[u] * math.sqrt(pull[u]) / price
            if best < 0 or worth > most:
                best, most = u, worth
    return best


@kernel
def choose_needs(model: Certain, prices: RowPrices, row: CertainRow) -> int:
    """Set the features needed next, ascending; return their number.

    They are those that cost nothing, or else one feature, and those that cost nothing once its resources are paid.
    """
    cost, needs, resource_cost = prices.cost, prices.needs, prices.resource_cost
    pull, paid, found, needed = row.pull, row.paid, row.found, row.needed
    if not _pull_features(model, row):
        _wait_for_all(model, row)
    count = _list_free(-1, cost, needs, resource_cost, pull, paid, found, needed)
    if count > 0:
        return count
    best = _find_best(cost, needs, resource_cost, pull, paid, found)
    change_needed(best, needs, paid, UNPAID, PAID, found, 0)
    return _list_free(best, cost, needs, resource_cost, pull, paid, found, needed)


@kernel
def advance_row(supplied: F8, model: Certain, prices: RowPrices, goal: Goal, row: CertainRow) -> int:
    """Take the values of the features needed, and go on until others are needed, or the row ends.

    Return the number of features needed, or -1 - use for the use of an opaque learner to call; then call again without
    values, as at the beginning.
    """
    steps, fresh = model.steps, np.int64(0 if supplied.shape[0] else -1)
    for i in range(supplied.shape[0]):
        u = row.needed[i]
        row.x[u] = supplied[i]
        row.marks[u] |= KNOWN
        change_needed(u, prices.needs, row.paid, UNPAID, PAID, row.found, 0)
        fresh |= np.int64(1) << (u & 63)
    waiting = run_stage(
        0, steps.use.shape[0], row.x, row.account, row.at, row.marks, steps.word, steps.threshold, steps.span,
        steps.category, steps.use, steps.use_value, steps.read, prices.split, True, prices.spends,
    )  # fmt: skip
    if waiting < 0:
        return waiting
    _bound_learners(fresh, model, row)
    if _add_bounds(steps.target, steps.stage_value[0, 1:], row) or waiting == 0 or not _find_open(goal, row):
        return 0
    count = list_needs(steps.use, steps.read, row.at, row.marks, row.needed)
    return count if count > 0 else choose_needs(model, prices, row)


@kernel
def run_rows(
    X: F8, used: I8, opaque: F8, model: Certain, prices: RowPrices, goal: Goal, row: CertainRow, found: CertainRows
) -> None:
    """Take rows to their ends; `row` is room for one, whose opaque learners are `opaque`, called before."""
    values = np.empty(used.shape[0])
    for i in range(X.shape[0]):
        begin_row(model, row)
        row.opaque[:] = opaque[i]
        count = advance_row(values[:0], model, prices, goal, row)
        while count > 0:
            found.rounds[i] += 1
            for at in range(count):
                u = row.needed[at]
                values[at] = X[i, used[u]]
                found.masks[i, u >> 6] |= np.uint64(1) << np.uint64(u & 63)
            count = advance_row(values[:count], model, prices, goal, row)
        found.scores[i], found.account[i] = row.scores, row.account
        for use in range(row.at.shape[0]):
            found.early[i] |= row.at[use] >= 0
