"""Compiled choice of the features that a row acquires next, until its answer is certain.

The *pull* of a feature is the sum of what all trees that wait for it can still add or not: the distance of their
bounds, over the outputs on which the goal depends. The features that wait for a resource share its price in proportion
to their pulls. The row acquires the feature with the largest pull^1.5 / price, which on tables of all kinds saved more
than pull / price and than pull^2 / price.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from costframe.core.jit import I8, U1, kernel
from costframe.core.learners.row_nodes import FEATURE
from costframe.core.learners.tree_table import TREE
from costframe.core.prices.needs_kernels import change_needed
from costframe.core.stages.certain_layout import LOOKED_AT, PAID, UNPAID
from costframe.core.stages.step_layout import KIND, KNOWN, LEARNER, READ, READ_END, TARGET, TARGET_END

if TYPE_CHECKING:
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
    steps, found = model.steps, False
    row.pull[:] = 0.0
    for use in range(steps.use.shape[0]):
        v = row.at[steps.use[use, LEARNER]]
        if v < 0:
            continue
        for p in range(steps.use[use, TARGET], steps.use[use, TARGET_END]):
            if row.open[steps.target[p]] and row.high[p] != row.low[p]:
                row.pull[steps.word[v] & FEATURE] += row.high[p] - row.low[p]
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
def _share_resources(prices: RowPrices, row: CertainRow) -> None:
    """Sum up the pulls of the features that wait for each resource."""
    row.share[:] = 0.0
    for u in range(row.pull.shape[0]):
        if row.pull[u] != 0.0:
            for r in row.found[: _list_unpaid(u, prices, row)]:
                row.share[r] += row.pull[u]


@kernel
def _list_unpaid(u: int, prices: RowPrices, row: CertainRow) -> int:
    """Set `found` to the resources that a feature needs and that are not paid; return their number."""
    if prices.needs.first[u] == prices.needs.first[u + 1]:
        return 0
    count = change_needed(u, prices.needs, row.paid, UNPAID, LOOKED_AT, row.found, 0)
    for r in row.found[:count]:
        row.paid[r] = UNPAID
    return count


@kernel
def _is_free(u: int, prices: RowPrices, row: CertainRow) -> bool:
    """Return whether a feature costs nothing, for the resources that it needs are paid or cost nothing, too."""
    due = float(prices.cost[u])
    if due == 0.0:
        for r in row.found[: _list_unpaid(u, prices, row)]:
            due += prices.resource_cost[r]
    return due == 0.0


@kernel
def _list_free(best: int, prices: RowPrices, row: CertainRow) -> int:
    """Set the features needed to `best`, -1 for none, and those with a pull that are free; return their number."""
    count = 0
    for u in range(row.pull.shape[0]):
        if u == best or (row.pull[u] != 0.0 and _is_free(u, prices, row)):
            row.needed[count] = u
            count += 1
    return count


@kernel
def choose_needs(model: Certain, prices: RowPrices, row: CertainRow) -> int:
    """Set the features needed next, ascending; return their number.

    They are those that cost nothing, or else one feature, and those that cost nothing once its resources are paid.
    """
    if not _pull_features(model, row):
        _wait_for_all(model, row)
    count = _list_free(-1, prices, row)
    if count > 0:
        return count
    _share_resources(prices, row)
    best, most = -1, 0.0
    for u in range(row.pull.shape[0]):
        pull = row.pull[u]
        if pull != 0.0:
            price = float(prices.cost[u])
            for r in row.found[: _list_unpaid(u, prices, row)]:
                price += prices.resource_cost[r] * (pull / row.share[r])
            worth = pull * math.sqrt(pull) / price
            if best < 0 or worth > most:
                best, most = u, worth
    change_needed(best, prices.needs, row.paid, UNPAID, PAID, row.found, 0)
    return _list_free(best, prices, row)
