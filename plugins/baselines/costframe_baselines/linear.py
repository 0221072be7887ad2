"""Logistic and linear regression with a ridge that cross-validation chooses, on the features below a price."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from attrs import define, evolve, field, frozen

from costframe import Answer, ExpectedCost, StageTree, WeakLearnerBank
from costframe.gates import PenalizedObjective, fit_linear
from costframe.plugin import (
    B1,
    F8,
    I8,
    CostAwareClassifier,
    CostAwareEstimator,
    CostAwareRegressor,
    Rows,
    Sampling,
    TrainingData,
    Traits,
    check_number,
    coarse,
    loss_for,
    thread_count,
)
from costframe.stagewise import BankRows, blas_for, find_bank
from costframe_baselines.price_levels import sets_below_prices

RIDGES = (10.0, 1.0, 0.1, 0.01, 1e-3, 1e-4)  # half of it times squared weights of standardized columns is beside a loss
_FOLDS, _MOST_ROWS = 5, 20_000  # that choose the ridge, which matters little with more rows
_LINKS = {0: "identity", 2: "sigmoid"}


def linear_losses(weights: F8, H: F8, rows: Rows, n_classes: int) -> F8:
    """Return the loss of each row: log loss, or half the squared error."""
    return loss_for(n_classes).by_row(rows.y, PenalizedObjective.scores_of(H, weights).T)


@frozen(eq=False)
class _Table:
    """All columns of rows, (n, C), and those of some rows in folds, which choose the ridge."""

    data: TrainingData
    bank: WeakLearnerBank
    H: F8
    few: Rows
    few_columns: F8
    fold: I8

    @classmethod
    def of(cls, data: TrainingData, n_threads: int) -> _Table:
        bank, rows = find_bank("columns", data, {}), data.train
        few = Sampling(data).sample(rows, _MOST_ROWS) if len(rows) > _MOST_ROWS else rows
        H = BankRows.outputs_of(bank, rows.X, n_threads).dense
        few_columns = H if few is rows else BankRows.outputs_of(bank, few.X, n_threads).dense
        return cls(data, bank, H, few, few_columns, Sampling(data).folds(few, _FOLDS)[1])

    def fit(self, used: B1) -> tuple[StageTree, float]:
        """Return the model on some columns, bool (C,), with the ridge of least loss on folds, and that mean loss."""
        losses = self._losses_on_folds(used)
        least = int(np.argmin(coarse(np.array(losses))))
        coefficients = fit_linear(self.H[:, used], self.data.train, self.data.n_classes, RIDGES[least])
        weights = np.zeros((len(coefficients), self.H.shape[1] + 1))
        weights[:, [*np.flatnonzero(used), -1]] = coefficients
        return self._model(weights), losses[least]

    def cost(self, model: StageTree) -> float:
        """Return what each row pays, with an equal share of once-prices."""
        report = ExpectedCost(self.data.costs.without_errors()).evaluate(model, self.data.train.X[:1], made=True)
        return float(report.mean + report.fixed / self.data.train.total_weight)

    def _losses_on_folds(self, used: B1) -> list[float]:
        """Return the mean loss on folds with each ridge; each fit begins at that of the ridge before."""
        H, losses = self.few_columns[:, used], np.empty((len(RIDGES), len(self.few)))
        for number in np.unique(self.fold):
            out = self.fold == number
            rest = ~out if not out.all() else out  # equal rows are in one fold, perhaps all rows
            train, held, weights = self.few.take(rest), self.few.take(out), None
            for ridge, loss in zip(RIDGES, losses, strict=True):
                weights = fit_linear(H[rest], train, self.data.n_classes, ridge, near=weights)
                loss[out] = linear_losses(weights, H[out], held, self.data.n_classes)
        return [self.few.mean(loss) for loss in losses]

    def _model(self, weights: F8) -> StageTree:
        learners = np.flatnonzero(weights[:, :-1].any(axis=0))
        link = _LINKS.get(self.data.n_classes, "softmax")
        answer = Answer(np.arange(len(learners)), weights[:, learners].T, weights[:, -1], link)
        return StageTree(self.bank.restrict(learners), (answer,))


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class _Linear(CostAwareEstimator):
    """Regression on columns, which every row reads."""

    traits: ClassVar = Traits(trains_on_validation=True)

    costs: Any = None
    tradeoff: float | None = None
    max_price: float | None = field(default=None, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)

    def _train(self, data: TrainingData) -> StageTree:
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, low=-(2**31), whole=True)
        data = evolve(data, train=data.joined_rows(), valid=None)
        table = _Table.of(data, thread_count(self.n_jobs))
        features, tradeoff = table.bank.column_feature.astype(np.int64), data.tradeoff
        sets = sets_below_prices(data, features, self.max_price)
        if tradeoff and self.max_price is None:
            sets.insert(0, [])
        with blas_for(len(data.train), len(features)):
            fits = [table.fit(np.isin(features, columns)) for columns in sets]
        totals = [loss + tradeoff * table.cost(model) for model, loss in fits]
        return fits[int(np.argmin(coarse(np.array(totals))))][0]


@define(slots=False, eq=False, repr=False)
class LinearClassifier(CostAwareClassifier, _Linear):
    """Logistic regression, or softmax for more classes, on columns; every row reads all columns with a weight.

    A column is a number; its mean replaces missing values, and it may not hold categories. The ridge is that with the
    least log loss on five folds of the rows. Validation rows train it, too.

    Parameters
    ----------
    costs, tradeoff, class_weight, n_jobs
        As for every classifier.
    max_price : float, optional
        Largest price of a column, with all resources that it needs and an equal share of its once-price; at 0, it reads
        the free columns. By default `fit` tries at most eight of the prices, evenly spaced by rank, and keeps the one
        with the least loss + tradeoff * cost on the folds; at tradeoff 0 it reads all columns.

    Attributes
    ----------
    predictor_ : StageTree
    classes_ : ndarray (K,)
    """

    class_weight: Any = field(default=None, kw_only=True)


class LinearRegressor(CostAwareRegressor, _Linear):
    """Ridge regression on columns: squared loss. Parameters are those of `LinearClassifier` without `class_weight`."""
