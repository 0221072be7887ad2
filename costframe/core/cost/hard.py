"""Charges of rows under hard routing: every row takes one path through the stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.cost.report import Charges
from costframe.core.learners.bits import bit_sets, bits_of
from costframe.core.stages.run_stages import StageRunner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.stages.reading import ReadingMarks


def hard_charges(
    tree: StageTree,
    prices: PriceArrays,
    marks: ReadingMarks,
    X: NDArray[np.float64],
    weight: NDArray[np.float64],
    learners_at: NDArray[np.float64],
) -> Charges:
    """Charge some rows; `learners_at[s]` is the price of the learners that stage s evaluates first."""
    layout = tree.layout
    runner = StageRunner(tree.bank, layout, X, marks)
    learners, scores = np.zeros(len(X)), np.empty((len(X), layout.n_outputs))
    exits, reached = np.zeros(len(X), np.int64), np.zeros(len(tree.stages))
    for stage, rows, values in runner.routed():
        reached[stage] = weight[rows].sum()
        learners[rows] += learners_at[stage]
        if layout.below[stage] < 0:
            scores[rows], exits[rows] = values, stage
    uses, comparisons = runner.spent[:, 1], runner.spent[:, 0]
    return charge_masks(
        tree, prices, runner.masks, weight, learners, comparisons, uses, reached, tree.linked(scores, exits)
    )


def charge_masks(
    tree: StageTree,
    prices: PriceArrays,
    masks: NDArray[np.uint64],
    weight: NDArray[np.float64],
    learners: NDArray[np.float64],
    comparisons: NDArray[np.float64],
    uses: NDArray[np.float64],
    stage_weight: NDArray[np.float64],
    predictions: NDArray[np.float64],
) -> Charges:
    """Charge rows that acquired the features `masks`, of those that the tree uses; see `Charges`.

    `uses` counts the pairs of a learner and a feature that it read, if there is a price of reuse.
    """
    used, d = tree.layout.used, len(tree.feature_names)
    acquisition, features, resources = price_masks(prices, masks, used, weight)
    bits, acquired, feature_weight = bits_of(masks, len(used)), np.zeros((len(masks), d), np.bool_), np.zeros(d)
    acquired[:, used], feature_weight[used] = bits, features
    reuse = prices.reuse * (uses - bits.sum(axis=1)) if prices.reuse else np.zeros(len(masks))
    return Charges(
        acquired, acquisition, learners, comparisons, reuse, feature_weight, resources, stage_weight, predictions
    )


def price_masks(
    prices: PriceArrays, masks: NDArray[np.uint64], columns: NDArray[np.int64] | slice, weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Price each row's features, bits for some `columns`, with resources: float64 (rows,); weigh their buyers."""
    from costframe.core.cost.cost_kernels import price_rows

    feature, resource = np.nonzero(prices.needs[columns])
    resource_masks = bit_sets(resource, feature, len(prices.resource_cost), masks.shape[1])
    cost, resource_cost = np.array(prices.cost[columns]), np.array(prices.resource_cost)  # kernels want writable ones
    per_row, features, resources = np.zeros(len(masks)), np.zeros(len(cost)), np.zeros(len(resource_cost))
    price_rows(masks, cost, resource_masks, resource_cost, weight, per_row, features, resources)
    return per_row, features, resources
