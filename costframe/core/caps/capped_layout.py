"""Arrays for walks under limits: a stage tree with expected outputs, and prices; a test whether limits can bind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.stages.layout import lay_out

if TYPE_CHECKING:
    from costframe.core.caps.capped_kernels import Bill, Model
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.limits import Limits
    from costframe.core.prices.price_arrays import PriceArrays

__all__ = ["cannot_bind", "lay_out_capped", "make_bill"]


def lay_out_capped(tree: StageTree) -> Model:
    """Lay out a stage tree for walks under limits, once a model."""
    from costframe.core.caps.capped_kernels import Model

    bank, known = tree.bank, tree.expected_outputs
    layout = tree.layout if known is None else lay_out(bank, tree.stages, (known.value, known.values))
    expected, expected_opaque = np.zeros(len(layout.learner)), np.zeros(layout.n_opaque)
    if known is not None:
        for use in np.flatnonzero(layout.kind == COLUMN):
            expected[use] = known.of(int(layout.learner[use]), -1)[0]
        for use in np.flatnonzero(layout.kind == OPAQUE):
            place = int(layout.place[use])
            expected_opaque[place : place + layout.width[use]] = known.of(int(layout.learner[use]), -1)
    return Model(
        layout.nodes.word, layout.nodes.categories.sets, layout.nodes.feature, layout.stage_first,
        np.unique(layout.learner, return_inverse=True)[1].astype(np.int64), layout.kind, layout.place, layout.width,
        layout.fill, expected, expected_opaque, layout.target_first, layout.target, layout.payload_first,
        layout.payload, layout.intercept, layout.threshold, layout.below, layout.above,
    )  # fmt: skip


def make_bill(tree: StageTree, prices: PriceArrays, limits: Limits) -> Bill:
    """Return prices and unavailable features in the order of the layout."""
    from costframe.core.caps.capped_kernels import Bill

    layout, bank = tree.layout, tree.bank
    used = layout.used
    barred = np.zeros(len(tree.feature_names), np.bool_)
    barred[sorted(limits.unavailable)] = True
    feature, need = np.nonzero(prices.needs[used])
    reads = bank.F[used][:, layout.learner].tocsc().sorted_indices()
    evaluation = bank.evaluation[layout.learner]
    return Bill(
        np.ascontiguousarray(prices.cost[used]),
        np.ascontiguousarray(prices.split[used]),
        barred[used],
        np.searchsorted(feature, np.arange(len(used) + 1)),
        need,
        np.array(prices.resource_cost),
        float(prices.reuse),
        prices.learner * evaluation,
        evaluation,
        reads.indptr.astype(np.int64),
        reads.indices.astype(np.int64),
    )


def cannot_bind(limits: Limits, tree: StageTree, prices: PriceArrays) -> bool:
    """Return whether every row stays within the limits, for any values, so that the plain walk is enough."""
    bank, plan = tree.bank, tree.plan
    learners = np.unique(tree.layout.learner)
    columns = tree.layout.used
    if limits.unavailable.intersection(columns.tolist()):
        return False
    most = prices.cost[columns].sum() + prices.resource_cost[prices.needs[columns].any(axis=0)].sum()
    most += prices.learner * bank.evaluation[learners].sum()
    most += prices.reuse * sum(plan.learner_reads[t].bit_count() for t in learners)
    comparisons = sum(plan.depth[int(bank.index[t])] for t in learners if bank.kind[t] == TREE)
    return bool(most + prices.split.max(initial=0.0) * comparisons <= limits.max_cost)
