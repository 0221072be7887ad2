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
    from costframe.core.stages.layout import StageLayout
    from costframe.core.stages.reading import ReadingMarks

__all__ = ["hard_charges", "price_masks"]


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
    acquisition, features, resources = price_masks(layout, prices, runner.masks, weight)
    acquired = np.zeros((len(X), len(tree.feature_names)), np.bool_)
    bits = bits_of(runner.masks, len(layout.used))
    acquired[:, layout.used] = bits
    reuse = prices.reuse * (runner.spent[:, 1] - bits.sum(axis=1)) if prices.reuse else np.zeros(len(X))
    feature_weight = np.zeros(len(tree.feature_names))
    feature_weight[layout.used] = features
    return Charges(
        acquired,
        acquisition,
        learners,
        runner.spent[:, 0],
        reuse,
        feature_weight,
        resources,
        reached,
        tree.linked(scores, exits),
    )


def price_masks(
    layout: StageLayout, prices: PriceArrays, masks: NDArray[np.uint64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return each row's price of features and resources (rows,), and the weights of their buyers, (U,) and (R,)."""
    from costframe.core.prices.price_kernels import price_rows

    feature, resource = np.nonzero(prices.needs[layout.used])
    resource_masks = bit_sets(resource, feature, len(prices.resource_cost), masks.shape[1])
    per_row, features = np.zeros(len(masks)), np.zeros(len(layout.used))
    resources = np.zeros(len(prices.resource_cost))
    cost = np.ascontiguousarray(prices.cost[layout.used])
    resource_cost = np.array(prices.resource_cost)
    price_rows(masks, cost, resource_masks, resource_cost, weight, per_row, features, resources)
    return per_row, features, resources
