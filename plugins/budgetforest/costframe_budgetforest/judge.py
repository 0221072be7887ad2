"""Held-out rows that models are compared on, and points of paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.gates import Predictions

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.plugin import CostModel, Rows, StageTree, TrainingData
    from costframe.trees import Predicted

__all__ = ["ForestPoint", "Judge", "squared_loss"]


@frozen
class ForestPoint:
    """A forest on a path.

    Attributes
    ----------
    n_rounds : int
        Trees with tests.
    tradeoff : float
    loss, cost : float
        Mean squared loss and exact mean cost of held-out rows; prices per batch are shared by as many rows as there are
        training rows.
    score : float
        The given score, or minus the loss.
    """

    n_rounds: int
    tradeoff: float
    loss: float
    cost: float
    score: float


def squared_loss(proba: NDArray[np.float64], y: NDArray[np.int64], weight: NDArray[np.float64]) -> float:
    """Return the mean over rows of the sum over classes of (p - label)^2 / 2; `proba` is (n,) of class 1, or (n, K)."""
    if proba.ndim == 1:
        return float(np.average((proba - y) ** 2, weights=weight))
    hit = proba[np.arange(len(y)), y]
    return float(np.average(((proba**2).sum(axis=1) - 2.0 * hit + 1.0) / 2.0, weights=weight))


@frozen(eq=False)
class Judge:
    """Held-out rows, their prices, and the score of points."""

    rows: Rows
    costs: CostModel
    batch: float  # rows that share prices per batch
    score: Callable[[Predicted], float] | None = None

    @classmethod
    def of(cls, data: TrainingData, score: Callable[[Predicted], float] | None = None) -> Judge:
        """Judge by the validation rows."""
        assert data.valid is not None  # noqa: S101 - the callers have checked it
        return cls(data.valid, data.costs, data.train.total_weight, score)

    def measure(self, tree: StageTree, tradeoff: float, n_trees: int) -> ForestPoint:
        """Measure a model."""
        rows = self.rows
        proba = tree.predict(rows.X)
        report = tree.cost(rows.X, self.costs, sample_weight=rows.weight)
        cost = float(report.mean + report.fixed / self.batch)
        loss = squared_loss(proba, rows.y, rows.weight)
        score = -loss if self.score is None else self.score(Predictions(rows, proba))
        return ForestPoint(n_trees, tradeoff, loss, cost, score)
