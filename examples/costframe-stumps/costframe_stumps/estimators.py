"""The estimators: they only train. Pricing, stepping, saving and serving are costframe's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import costframe as cf
from costframe.plugin import (
    CostAwareClassifier,
    CostAwareEstimator,
    CostAwareRanker,
    CostAwareRegressor,
    TreeTable,
    resolve,
)
from costframe_stumps.boosting import Labels, Stump, boost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.plugin import Rows, TrainingData

__all__ = ["StumpsClassifier", "StumpsRanker", "StumpsRegressor"]


class Stumps(CostAwareEstimator):
    """What the three estimators have in common.

    Parameters
    ----------
    costs : CostModel, or what makes one
        None prices every feature at one.
    tradeoff : float, optional
        Loss accepted per unit of cost per row; `data.tradeoff` has the number.
    n_estimators : int, optional
        Stumps at most (100). With validation data, the best number of them is kept.
    learning_rate : float, optional
        Share of its best step that each stump takes, in (0, 1] (0.5).
    """

    def __init__(
        self,
        costs: Any = None,
        tradeoff: float | None = None,
        *,
        n_estimators: int | None = None,
        learning_rate: float | None = None,
    ) -> None:
        self.costs = costs
        self.tradeoff = tradeoff
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate

    def _train(self, data: TrainingData) -> cf.StageTree:
        rounds = resolve("n_estimators", self.n_estimators, 100, low=1, high=10**6, whole=True)
        step = resolve("learning_rate", self.learning_rate, 0.5, low=0, strict=True, high=1)
        labels = labels_of(data.train, data.n_classes)
        stumps, paid = boost(data.train.X, labels, data.prices, data.tradeoff, rounds, step)
        if data.valid is not None:
            scores = np.tile(labels.start, (len(data.valid), 1))
            held_out = labels_of(data.valid, data.n_classes)
            objective = [held_out.mean_loss(scores)]
            for stump, cost in zip(stumps, paid[1:], strict=True):
                scores += stump.outputs(data.valid.X)
                objective.append(held_out.mean_loss(scores) + data.tradeoff * cost)
            stumps = stumps[: int(np.argmin(objective))]
        return stage_tree(stumps, labels.start, "softmax" if data.n_classes else "identity", data.feature_names)


class StumpsClassifier(Stumps, CostAwareClassifier):
    """Priced stumps for two and more classes; parameters as in `Stumps`."""


class StumpsRegressor(Stumps, CostAwareRegressor):
    """Priced stumps for numbers; parameters as in `Stumps`."""


class StumpsRanker(Stumps, CostAwareRanker):
    """Priced stumps for rankings, by regression on the grades; parameters as in `Stumps`."""


def labels_of(rows: Rows, n_classes: int) -> Labels:
    """Make indicators of class codes, or one column of numbers."""
    targets = np.eye(n_classes)[rows.y] if n_classes else rows.y[:, None]
    return Labels(targets, rows.weight, bool(n_classes))


def stage_tree(stumps: list[Stump], start: NDArray[np.float64], link: str, names: tuple[str, ...]) -> cf.StageTree:
    """Put stumps in costframe's form: one answer, which adds up a bank of one-split trees."""
    trees = [
        TreeTable.single(
            feature=[stump.feature, -1, -1],
            threshold=[stump.threshold, 0.0, 0.0],
            missing_left=[False, False, False],
            left=[1, -1, -1],
            right=[2, -1, -1],
            outputs=np.stack([np.zeros_like(start), stump.below, stump.above]),
        )
        for stump in stumps
    ]
    bank = cf.WeakLearnerBank.from_trees(TreeTable.concatenate(trees), names)
    weights = np.tile(np.eye(len(start)), (len(stumps), 1))  # output k of each stump counts once, for score k
    return cf.StageTree(bank, (cf.Answer(np.arange(len(stumps)), weights, start, link),))
