"""New weights for a bank's learners, without those that are not worth their price."""

from __future__ import annotations

import numpy as np

from costframe.core.errors import ParameterError
from costframe.core.predictors.stage_tree import StageTree
from costframe.stagewise.calibration import calibrate_tree
from costframe.stagewise.estimator import BankTask
from costframe.stagewise.fitting import USUAL_RIDGE, fit_at_ridges
from costframe.stagewise.normal_equations import NormalEquations
from costframe.stagewise.relaxed import fit_relaxed
from costframe.stagewise.soft_tree import SoftTree, WeightedSum
from costframe.training.progress import track

RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


def train_reweighted(task: BankTask, ridge: float | None, l1: float = 0.0) -> StageTree:
    """Fit new weights to the learners of a bank, and leave out learners without a weight.

    As printed, the weights minimize eq. 7. Otherwise, if `ridge` is None, it takes the ridge of `RIDGES` with the least
    validation loss + lambda * exact cost, or `USUAL_RIDGE` without validation data.
    """
    data, tradeoff, train = task.data, task.tradeoff, task.on(task.data.train)
    held_out = None if data.valid is None else task.on(data.valid)  # refuses what the bank cannot take
    if task.as_printed:
        if data.n_classes > 2:
            raise ParameterError(f"recipe: expected two classes or numbers for 'paper', got {data.n_classes} classes")
        answer = fit_relaxed(train.rows, np.ones(len(train.rows.target)), train.pricing.groups.in_loss(tradeoff), l1)
        return task.finish_printed(SoftTree.single(answer).without_zeros(train.rows))
    prices = train.pricing.at(data.train.weight)
    normal = NormalEquations.of(train.rows.outputs, train.rows.target, data.train.weight)
    ridges = RIDGES if ridge is None and held_out is not None else (USUAL_RIDGE if ridge is None else ridge,)
    best, least, exact = np.zeros(normal.right.shape), np.inf, prices.in_loss(tradeoff)
    bar = track(ridges, "Re-weighting", verbose=task.verbose)
    for _, weights in zip(bar, fit_at_ridges(normal, prices, tradeoff, ridges), strict=True):
        value = exact.cost(np.asarray(weights.any(axis=1)))
        if held_out is not None:
            value += held_out.measured_loss(SoftTree.single(WeightedSum(weights, normal.intercept(weights))))
        if value < least:
            best, least = weights, value
    tree = SoftTree.single(WeightedSum(best, normal.intercept(best)))
    if data.n_classes:
        tree = calibrate_tree(tree, train if held_out is None else held_out)
    return task.finish(tree)
