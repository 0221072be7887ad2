"""Trees that stand in for a model where features are unavailable: its own scores, learned from rows that lack some.

The model teaches: each copy of a row has a label drawn by the model's probabilities, or the model's score, so no label
of the rows is needed. The trees read no feature that the model does not read. Prices fall while the trees grow, until
rows pay for these trees what they pay for the model; from then on, rows read what they have paid for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe.core.arrays import F8
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.stages.run_stages import predict_rows
from costframe.core.stages.stages import Answer
from costframe.core.tables.row_draws import uniform
from costframe.core.tables.row_hashes import hash_table
from costframe.training.data import Rows
from costframe.training.losses import SQUARED, LogisticLoss, PointwiseLoss, SoftmaxLoss, SquaredLoss
from costframe.trees.absent_copies import lack_at_random, mix
from costframe.trees.bin_mapper import BinnedData
from costframe.trees.boosting_run import BoostingRun
from costframe.trees.growing import tree_grower
from costframe.trees.paid_by_row import LazyPrices
from costframe.trees.prices import NoPrices
from costframe.trees.settings import TreeSettings

_FEWEST_ROWS = 50
_CELLS, _COPIES = 32_000, (3, 15)  # rows and copies of rows, about; fewest and most copies of a row
_USUAL = TreeSettings(n_estimators=100, learning_rate=0.1, max_leaves=16, min_hessian_leaf=1e-3, max_bins=63)
_OF_MANY = TreeSettings(n_estimators=50, learning_rate=0.2, max_leaves=32, min_hessian_leaf=1e-3, max_bins=63)
_FEW_CLASSES = 8
_ROWS_IN_LEAF = 5  # not counting copies
_NEARLY_ALL = 0.9  # share of the price of all that a model reads, from which prices choose little
_LAST = 1e-3  # tradeoff after the fall, as a share of the first one
_FALLING = 0.75  # share of the rounds in which prices fall
_NO_MORE = 1e6  # the same, where rows shall pay for nothing more
_ROUNDING = 1e-6


def train_spare_trees(tree: StageTree, rows: FallbackRows) -> StageTree | None:
    """Return trees that stand in for a model with one answer; see `StandIn`.

    It returns None for several stages, opaque learners, and answers whose scores do not follow from their predictions;
    also if fewer than fifty rows have finite scores.
    """
    answer = tree.stages[0]
    if len(tree.stages) > 1 or not isinstance(answer, Answer) or answer.divisor is None or answer.class_scores:
        return None
    if tree.layout.n_opaque or not len(tree.layout.used):
        return None
    scores = predict_rows(tree.layout, rows.X, None)[0]
    known = np.isfinite(scores).all(axis=1) & (rows.weight > 0)
    if known.sum() < _FEWEST_ROWS:
        return None
    taught = _teach(answer, answer.divisor, scores[known], has_classes=tree.classes is not None)
    return None if taught is None else _grow(tree, FallbackRows(rows.X[known], rows.weight[known]), *taught)


def _teach(answer: Answer, divisor: float, scores: F8, *, has_classes: bool) -> tuple[PointwiseLoss, F8] | None:
    """Return the loss, and what it learns, from scores (n, K): probabilities of all classes, or numbers (n, 1)."""
    predictions = answer.predictions(scores)
    if scores.shape[1] > 1:
        total = predictions.sum(axis=1)
        is_share = predictions.min() >= 0 and np.abs(total - 1.0).max() < _ROUNDING
        return (SoftmaxLoss(scores.shape[1]), predictions) if is_share else None
    is_chance = has_classes and answer.link == "identity" and predictions.min() >= 0 and predictions.max() <= 1
    if answer.link == "sigmoid" or is_chance:
        return LogisticLoss(), np.hstack([1.0 - predictions, predictions])
    return SquaredLoss(), scores / divisor


def _grow(tree: StageTree, kept: FallbackRows, loss: PointwiseLoss, taught: F8) -> StageTree:
    count = int(np.clip(_CELLS // len(kept.X), *_COPIES))
    numbers = hash_table(kept.X)
    at = np.tile(np.arange(len(kept.X)), 1 + count)
    rows = Rows(np.empty((len(at), 0)), _labels(loss, taught, numbers, count), kept.weight[at])
    settings = _USUAL if taught.shape[1] <= _FEW_CLASSES else _OF_MANY
    settings = evolve(settings, min_samples_leaf=_ROWS_IN_LEAF * (1 + count))
    prices = CostModel.of(tree.costs, tree.feature_names).select(tree.feature_names)
    binned, _ = lack_at_random(_binned(tree, kept, settings), numbers, prices.needs, count)
    run, grow = BoostingRun.begin(rows, loss, settings), tree_grower(rows, binned, settings)
    run.counts_idle = True  # at lower prices, later rounds may split
    falling = _Falling.of(tree, kept, prices, loss.mean(rows.y, run.boosted.scores, rows.weight))
    paid = LazyPrices(prices, 0.0, len(rows), rows.uneven_weight) if falling is not None else NoPrices()
    for number in run.rounds(settings, title="spare trees"):
        if falling is not None and isinstance(paid, LazyPrices):
            paid.tradeoff = falling.at(number / settings.n_estimators, paid.spent / rows.total_weight)
        run.add_round(lambda gradients, hessians: grow(gradients, hessians, paid, None))
    made = run.ensemble.finish(tree.feature_names)
    return evolve(made, bank=evolve(made.bank, categories=tree.bank.categories))


def _labels(loss: PointwiseLoss, taught: F8, numbers: NDArray[np.uint64], count: int) -> NDArray[Any]:
    """Return what rows, and then their copies, learn: numbers, or classes, drawn at equal distances for the copies."""
    if loss.kind == SQUARED:
        return np.tile(taught[:, 0], 1 + count)
    ends, first = taught.cumsum(axis=1), uniform(mix(numbers))
    places = (first + np.arange(1 + count)[:, np.newaxis] / (1 + count)) % 1.0
    drawn = np.count_nonzero(places[:, :, np.newaxis] > ends, axis=2)
    return np.asarray(np.minimum(drawn, taught.shape[1] - 1).ravel())


def _binned(tree: StageTree, kept: FallbackRows, settings: TreeSettings) -> BinnedData:
    """Put the rows into bins; columns that the model does not read are constant."""
    X = np.zeros_like(kept.X)
    X[:, tree.layout.used] = kept.X[:, tree.layout.used]
    categorical = np.array([name in tree.categories for name in tree.feature_names])
    rows = Rows(X, np.zeros(len(X)), kept.weight)
    return BinnedData.of(rows, settings, categorical if categorical.any() else None)


@frozen
class _Falling:
    """Tradeoffs that fall while trees grow, until rows have paid `budget` in the mean."""

    highest: float
    budget: float

    @classmethod
    def of(cls, tree: StageTree, kept: FallbackRows, prices: PriceArrays, loss: float) -> _Falling | None:
        """Return those for what rows pay for a model; None where they pay for nearly all that it reads, or nothing."""
        model = CostModel.of(tree.costs, tree.feature_names)
        budget = tree.cost(kept.X, model, sample_weight=kept.weight, made=True).mean
        if not 0 < budget < _NEARLY_ALL * prices.of_set(tree.layout.used):
            return None
        return cls(loss / budget, budget)

    def at(self, share: float, spent: float) -> float:
        """Return the tradeoff after a share of the rounds, when rows have spent something in the mean."""
        if spent >= self.budget:
            return self.highest * _NO_MORE
        return self.highest * float(_LAST ** min(1.0, share / _FALLING))
