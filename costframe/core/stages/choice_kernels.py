"""Compiled choice of the features that a row acquires next, until its answer is certain.

The *pull* of a feature is how much the trees that wait for it leave open: the distance of their bounds, over the
outputs on which the goal depends. The row acquires the feature with the largest pull^1.5 / price, the price with all
resources that are not paid yet. On tables of `benchmarks/certain.py` pull / price and pull^2 / price saved less, and so
did a price that divides each resource among all features that wait for it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from costframe.core.jit import F8, I8, U1, kernel
from costframe.core.learners.row_nodes import FEATURE
from costframe.core.learners.tree_table import TREE
from costframe.core.prices.needs_kernels import change_needed
from costframe.core.stages.certain_layout import LOOKED_AT, PAID, UNPAID
from costframe.core.stages.step_layout import KIND, KNOWN, LEARNER, READ, READ_END, TARGET, TARGET_END

if TYPE_CHECKING:
    from costframe.core.prices.needs import Needs
    from costframe.core.stages.certain_kernels import CertainRow
    from costframe.core.stages.certain_layout import Certain, RowPrices

WANTED = 128  # a mark of a feature, while needs are listed


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
