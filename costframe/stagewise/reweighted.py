"""Trains the single stage on its own: from a bank and rows to a model of one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.stagewise.banks import outputs_on
from costframe.stagewise.calibration import as_counts, calibrate, calibrate_two
from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.pricing import Pricing
from costframe.stagewise.single_stage import USUAL_RIDGE, in_loss, reweight
from costframe.training.progress import track

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.learners.outputs import BankOutputs
    from costframe.stagewise.relaxing import Reweighting
    from costframe.training.data import Rows, TrainingData

__all__ = ["train_reweighted"]

RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


@frozen(eq=False)
class _Seen:
    """Rows as the bank sees them.

    Attributes
    ----------
    rows : Rows
    outputs : BankOutputs
    target : float64 (n, M)
        Signs of two classes, one column a class for more, else the labels.
    """

    rows: Rows
    outputs: BankOutputs
    target: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Rows, bank: WeakLearnerBank, n_classes: int, n_jobs: int | None) -> _Seen:
        if n_classes > 2:
            target = np.eye(n_classes)[rows.y]
        else:
            target = np.asarray(2.0 * rows.y - 1.0 if n_classes else rows.y)[:, np.newaxis]
        return cls(rows, outputs_on(bank, rows.X, n_jobs), target)

    def scores(self, weights: NDArray[np.float64], intercept: NDArray[np.float64]) -> NDArray[np.float64]:
        used = np.flatnonzero(weights.any(axis=1))
        return self.outputs.columns(used).times(weights[used]) + intercept

    def loss(self, scores: NDArray[np.float64]) -> float:
        """Mean of 1/2 |y - f|^2."""
        return 0.5 * float(np.average(np.square(self.target - scores).sum(axis=1), weights=self.rows.weight))


def train_reweighted(
    data: TrainingData,
    bank: WeakLearnerBank,
    settings: Reweighting,
    ridge: float | None,
    acquisition: str,
    n_jobs: int | None,
    verbose: int,
) -> StageTree:
    """Weigh the learners of a bank anew; learners that are not used are not in the model.

    Without a ridge given, the one of `RIDGES` is taken that gives the least validation loss + lambda * exact cost, or
    `USUAL_RIDGE` where there are no validation data.
    """
    train = _Seen.of(data.train, bank, data.n_classes, n_jobs)
    valid = None if data.valid is None else _Seen.of(data.valid, bank, data.n_classes, n_jobs)
    prices = Pricing.of(bank, data.prices, data.train, train.outputs, acquisition).at(data.train.weight)
    normal = NormalEquations.of(train.outputs, train.target, data.train.weight)
    exact = in_loss(prices, settings.tradeoff)
    ridges = RIDGES if ridge is None and valid is not None else (USUAL_RIDGE if ridge is None else ridge,)
    best, least = np.zeros(normal.right.shape), np.inf
    bar = track(ridges, "Re-weighting", verbose=verbose)
    for _, weights in zip(bar, reweight(normal, prices, settings, ridges), strict=True):
        value = 0.0 if valid is None else valid.loss(valid.scores(weights, normal.intercept(weights)))
        value += exact.cost(np.asarray(weights.any(axis=1)))
        if value < least:
            best, least = weights, value
    return _answer(data, bank, best, normal.intercept(best), train if valid is None else valid)


def _answer(
    data: TrainingData,
    bank: WeakLearnerBank,
    weights: NDArray[np.float64],
    intercept: NDArray[np.float64],
    seen: _Seen,
) -> StageTree:
    """Make the model; that of classes is calibrated on the rows given."""
    link = "identity"
    if data.n_classes:
        scores = seen.scores(weights, intercept)
        if data.n_classes == 2:
            slope, constant = calibrate_two(scores[:, 0], seen.rows.y, as_counts(seen.rows.weight))
            link, constants = "sigmoid", np.array([constant])
        else:
            slope, constants = calibrate(scores, seen.rows.y, as_counts(seen.rows.weight))
            link = "softmax"
        weights, intercept = slope * weights, slope * intercept + constants
    owner = np.repeat(np.arange(len(bank)), bank.widths)
    learners = np.unique(owner[weights.any(axis=1)])
    answer = Answer(np.arange(len(learners)), weights[np.isin(owner, learners)], intercept, link)
    return StageTree(bank.restrict(learners), (answer,))
