"""Scikit-learn estimators of Greedy Miser for two and more classes, for numbers and for rankings."""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import define, evolve, field

from costframe import StageTree
from costframe.plugin import (
    CostAwareClassifier,
    CostAwareRanker,
    CostAwareRegressor,
    ParameterError,
    TrainingData,
    check_flag,
)
from costframe.trees import AnnealedPath, Annealing, BoostedEstimator, OncePrices, Paper, TreeSettings
from costframe_miser.miser import anneal_miser, train_miser

_PAPER = TreeSettings(n_estimators=300, max_depth=3, growth="breadth", newton=False, from_zero=True)
_USUAL = evolve(_PAPER, min_samples_leaf=10, from_zero=False)


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class _Miser(BoostedEstimator):
    """Common settings and training."""

    traits: ClassVar = evolve(BoostedEstimator.traits, trains_together=True, prices_rounds=True)
    _usual: ClassVar = _USUAL
    _paper: ClassVar = Paper(
        _PAPER, frozenset({"n_estimators", "learning_rate", "max_depth"}), frozenset({"resources"})
    )

    shrink_recurring: bool | None = field(default=None, kw_only=True)

    def _train(self, data: TrainingData) -> StageTree:
        settings, loss = self._settings(data), self._loss(data)
        monitor = self._monitor(data, loss, settings)
        predictor, self.n_iter_ = train_miser(data, loss, settings, self._prices(data, settings), monitor)
        return predictor

    def _anneal(self, data: TrainingData, settings: TreeSettings, asked: Annealing) -> AnnealedPath:
        return anneal_miser(data, self._loss(data), settings, self._prices(data, settings), asked)

    def _settings(self, data: TrainingData) -> TreeSettings:
        settings = super()._settings(data)
        leaf = settings.min_samples_leaf
        if data.train.total_weight < 2 * leaf <= data.train.total_rows:
            raise ParameterError(
                f"min_samples_leaf: two leaves of {leaf} need a total sample weight of {2 * leaf}, got "
                f"{data.train.total_weight:g}; a weight of one is one row"
            )
        return settings

    def _prices(self, data: TrainingData, settings: TreeSettings) -> OncePrices:
        """Return prices at the tradeoff; `shrink_recurring` divides recurring prices by eta (2 - eta)."""
        shrink = self.shrink_recurring is not None and check_flag("shrink_recurring", self.shrink_recurring)
        prices, eta = data.prices, settings.learning_rate
        if shrink and not (prices.learner or prices.reuse or prices.split.any()):
            raise ParameterError("shrink_recurring: has no effect, the costs have no learner, split or reuse price")
        share = eta * (2 - eta) if shrink else 1.0
        return OncePrices.of(prices, data.train, tradeoff=data.tradeoff, share=share)


@define(slots=False, eq=False, repr=False)
class MiserClassifier(CostAwareClassifier, _Miser):
    """Greedy Miser for two classes (logistic loss) or more (softmax, one tree per class and round).

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one.
    tradeoff : float, optional
        lambda, loss accepted per unit of cost per row; 0 is plain boosting. By default 0.001; where prices have errors,
        it follows from them.
    n_estimators, learning_rate : optional
        Largest number of rounds, 300 by default, and weight of a tree, 0.3 by default; 0.1 for numbers and rankings.
    max_depth, max_leaves, min_samples_leaf : int, optional
        Comparisons on a path, 3 by default, leaves of a tree, without limit by default, and rows in a leaf, 10 by
        default.
    categorical_features : list of str or int, bool (d,), or dict, optional
        Columns to split by categories: names, positions or a mask, or a dict from these to the labels of the column's
        numbers. By default a data frame's columns of a category dtype.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights.
    n_iter_no_change : int, optional
        Rounds without a better validation value before training ends, 30 by default; needs X_val.
    scoring : "loss", name of a score, or callable, optional
        The validation value; by default validation loss + tradeoff * cost.
    n_jobs, verbose : int, optional
        Threads, all cores by default, which do not change the model; 1 shows a progress bar.
    l2_regularization, max_bins, random_state : optional
        0, 255 bins of a feature, and a seed of draws, if there are any.
    shrink_recurring : bool, optional
        Divide prices that recur with every tree (learner, split, reuse) by eta (2 - eta), the share of a gain that a
        step of eta takes; False by default, as in the paper.
    recipe : "paper", optional
        Train exactly the paper's algorithm, with its start. Settings and prices beyond the paper are errors.

    Attributes
    ----------
    predictor_ : StageTree
    n_iter_ : int
        Rounds kept.
    classes_ : ndarray (K,)
    """

    _usual: ClassVar = evolve(_USUAL, learning_rate=0.3)

    class_weight: Any = field(default=None, kw_only=True)


class MiserRegressor(CostAwareRegressor, _Miser):
    """Greedy Miser for numbers: squared loss. Parameters are those of `MiserClassifier` without `class_weight`."""


class MiserRanker(CostAwareRanker, _Miser):
    """Greedy Miser for rankings: squared loss on graded labels, as in the paper.

    Parameters are those of `MiserClassifier` without `class_weight`; `score` is NDCG@5 by query.
    """
