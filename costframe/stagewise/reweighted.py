"""The single stage: weights of a bank's learners for one answer, by exact cost or as eq. 7 of Cronus prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.errors import ParameterError
from costframe.stagewise.calibration import calibrate_tree
from costframe.stagewise.evaluation import Evaluation
from costframe.stagewise.fitting import USUAL_RIDGE, fit_at_ridges, groups_in_loss, in_loss
from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.printed import as_log_odds, drop_zeros, relaxed_fit
from costframe.stagewise.soft_tree import SoftTree, WeightedSum
from costframe.stagewise.stages import as_stage_tree
from costframe.training.progress import track

if TYPE_CHECKING:
    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import TrainingData

__all__ = ["RIDGES", "train_reweighted"]

RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


def train_reweighted(
    data: TrainingData,
    bank: WeakLearnerBank,
    tradeoff: float,
    acquisition: str,
    *,
    ridge: float | None,
    l1: float,
    as_printed: bool,
    n_jobs: int | None,
    verbose: int,
) -> StageTree:
    """Weigh the learners of a bank anew; learners that are not used are not in the model.

    As printed, the weights are the minimizer of eq. 7. Otherwise, without a ridge given, the one of `RIDGES` is taken
    that gives the least validation loss + lambda * exact cost, or `USUAL_RIDGE` where there are no validation data.
    """
    train = Evaluation.of(data, data.train, bank, tradeoff, acquisition, n_jobs)
    held_out = None if data.valid is None else Evaluation.of(data, data.valid, bank, tradeoff, acquisition, n_jobs)
    if as_printed:
        if data.n_classes > 2:
            raise ParameterError(f"recipe: 'paper' is for two classes or numbers, got {data.n_classes} classes")
        answer = relaxed_fit(
            train.rows, np.ones(len(train.rows.target)), groups_in_loss(train.pricing.groups, tradeoff), l1
        )
        tree = drop_zeros(SoftTree.single(answer), train.rows)
        return as_stage_tree(bank, as_log_odds(tree), "sigmoid") if data.n_classes else as_stage_tree(bank, tree)
    prices = train.pricing.at(data.train.weight)
    normal = NormalEquations.of(train.rows.outputs, train.rows.target, data.train.weight)
    ridges = RIDGES if ridge is None and held_out is not None else (USUAL_RIDGE if ridge is None else ridge,)
    best, least, exact = np.zeros(normal.right.shape), np.inf, in_loss(prices, tradeoff)
    bar = track(ridges, "Re-weighting", verbose=verbose)
    for _, weights in zip(bar, fit_at_ridges(normal, prices, tradeoff, ridges), strict=True):
        value = exact.cost(np.asarray(weights.any(axis=1)))
        if held_out is not None:
            value += held_out.measured_loss(SoftTree.single(WeightedSum(weights, normal.intercept(weights))))
        if value < least:
            best, least = weights, value
    tree = SoftTree.single(WeightedSum(best, normal.intercept(best)))
    if not data.n_classes:
        return as_stage_tree(bank, tree)
    tree = calibrate_tree(tree, train if held_out is None else held_out)
    return as_stage_tree(bank, tree, "sigmoid" if data.n_classes == 2 else "softmax")
