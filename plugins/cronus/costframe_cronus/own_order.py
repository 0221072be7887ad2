"""A model that is there already as a cascade: its own weights in its own order, with stages where it becomes dearer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.stagewise.soft_tree import SoftTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.sampled_prices import SampledPrices
    from costframe.stagewise.bank_rows import BankRows

__all__ = ["in_own_order"]


def in_own_order(rows: BankRows, own: NDArray[np.float64], prices: SampledPrices, n_stages: int) -> SoftTree:
    """Make at most `n_stages` stages of the sums of the first outputs, weighted by `own`, float64 (C,).

    Each sum is fitted to the target by a slope and a constant. Stages end where what is bought by then passes a k-th of
    all, which leaves the dearest purchases to the last. No stage rejects anything yet.
    """
    spent = prices.one_by_one()
    spent = np.cumsum(spent / (spent.sum() or 1.0) + 1e-3 / len(own))
    ends = np.unique(np.searchsorted(spent, spent[-1] * np.arange(1, n_stages + 1) / n_stages * (1 - 1e-12)))
    weights = np.where(np.arange(len(own)) <= ends[:, np.newaxis], own, 0.0)
    scores = rows.outputs.times(weights.T)
    w, target = rows.loss_weight, rows.target[:, 0]
    mean = w @ scores
    variance = w @ np.square(scores - mean)
    slope = np.divide((w * target) @ (scores - mean), variance, out=np.zeros(len(ends)), where=variance > 0)
    keep = slope > 0
    keep[-1] = True
    slope, mean, weights = np.maximum(slope, 0.0)[keep], mean[keep], weights[keep]
    return SoftTree.chain(slope[:, np.newaxis] * weights, w @ target - slope * mean, np.full(len(weights) - 1, -np.inf))
