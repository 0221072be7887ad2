"""Scikit-learn estimators of CEGB for two and more classes, for numbers and for rankings."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from attrs import define, evolve, field

from costframe import StageTree
from costframe.plugin import CostAwareClassifier, CostAwareRegressor, ParameterError, TrainingData, check_flag
from costframe.trees import AnnealedPath, Annealing, BoostedEstimator, BoostedRanker, Paper, TreeSettings
from costframe_cegb.cegb import anneal_cegb, train_cegb
from costframe_cegb.monotone import read_signs
from costframe_cegb.state import State, WarmStart

__all__ = ["CEGBClassifier", "CEGBRanker", "CEGBRegressor"]

_FEWEST_BINS, _ROWS_PER_BIN = 63, 8  # of a path on few rows: finer thresholds are slow, and noise
_PATH_L2 = 1.0  # extreme leaves would make the choice among a path's many models one of chance
_USUAL = TreeSettings(max_leaves=31, min_samples_leaf=20, min_hessian_leaf=1e-3)
_PAPER = TreeSettings(max_leaves=31, learning_rate=1.0, from_zero=True)


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class _CEGB(BoostedEstimator):
    """Common settings and training.

    A path has trees of `max_leaves` leaves or of a quarter of them. Its default `l2_regularization` is 1, and with more
    than 63 bins each has at least eight rows.
    """

    traits: ClassVar = evolve(BoostedEstimator.traits, trains_together=True, prices_rounds=True)
    _usual: ClassVar = _USUAL
    _paper: ClassVar = Paper(_PAPER, frozenset({"n_estimators", "max_leaves"}), frozenset({"once", "split"}))

    growth: str | None = field(default=None, kw_only=True)
    min_hessian_leaf: float | None = field(default=None, kw_only=True)
    subsample: float | None = field(default=None, kw_only=True)
    max_features: float | None = field(default=None, kw_only=True)
    monotone_constraints: Any = field(default=None, kw_only=True)
    warm_start: bool = field(default=False, kw_only=True)

    def _train(self, data: TrainingData) -> StageTree:
        settings, loss, labels = self._settings(data), self._loss(data), self._labels()
        warm, monitor = check_flag("warm_start", self.warm_start), self._monitor(data, loss, settings)
        if warm and data.train.workers.count > 1:
            raise ParameterError("warm_start: expected False on several workers, whose rows may move between fits")
        earlier: WarmStart | None = getattr(self, "_kept", None) if warm else None
        state = State.begin(data, loss, settings) if earlier is None else earlier.resume(loss, settings, data, labels)
        predictor, self.n_iter_ = train_cegb(data, loss, settings, data.tradeoff, monitor, state)
        self._kept = WarmStart.of(state, loss, settings, data, labels) if warm else None
        self.n_grown_ = len(state.boosted.ensemble.rounds)
        self.believed_cost_ = state.prices.spent / data.train.total_weight
        self.believed_fixed_ = state.prices.fixed
        return predictor

    def _anneal(self, data: TrainingData, settings: TreeSettings, asked: Annealing) -> AnnealedPath:
        if self.l2_regularization is None:
            settings = evolve(settings, l2_regularization=_PATH_L2)
        if self.max_bins is None:
            few = max(_FEWEST_BINS, data.train.total_rows // _ROWS_PER_BIN)
            settings = evolve(settings, max_bins=min(settings.max_bins, few))
        path = anneal_cegb(data, self._loss(data), settings, asked)
        self._kept = None
        for name in ("n_grown_", "believed_cost_", "believed_fixed_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        return path

    def _settings(self, data: TrainingData) -> TreeSettings:
        return evolve(super()._settings(data), monotone=self._signs(data))

    def _signs(self, data: TrainingData) -> tuple[int, ...] | None:
        signs = read_signs(self.monotone_constraints, data.feature_names)
        if signs is not None and data.categorical is not None and (np.array(signs) * data.categorical).any():
            raise ParameterError("monotone_constraints: expected 0 for categorical features, which have no order")
        if signs is not None and data.n_classes > 2:
            raise ParameterError("monotone_constraints: expected None for more than two classes, which have no order")
        return signs

    def _labels(self) -> list[object]:
        return list(np.asarray(getattr(self, "classes_", ())).tolist())


@define(slots=False, eq=False, repr=False)
class CEGBClassifier(CostAwareClassifier, _CEGB):
    """CEGB for two classes (logistic loss) or more (softmax, one tree per class and round).

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one.
    tradeoff : float, optional
        lambda, loss accepted per unit of cost per row; 0 is plain boosting. By default 0.001; where prices have errors,
        it follows from them.
    n_estimators, learning_rate : optional
        Largest number of rounds, 100 by default, and weight of a tree, 0.1 by default.
    max_leaves, max_depth, min_samples_leaf : int, optional
        Leaves of a tree, 31 by default, comparisons on a path, without limit by default, and rows in a leaf, 20 by
        default.
    categorical_features : list of str or int, bool (d,), or dict, optional
        Columns to split by categories: names, positions or a mask, or a dict from these to the labels of the column's
        numbers. By default a data frame's columns of texts and of a category dtype.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights.
    n_iter_no_change : int, optional
        Rounds without a better validation value before training ends, 30 by default; needs X_val.
    scoring : "loss", name of a score, or callable, optional
        The validation value; by default validation loss + tradeoff * cost.
    n_jobs, verbose : int, optional
        Threads, all cores by default, which do not change the model; 1 shows a progress bar.
    monotone_constraints : sequence of int (d,), or dict of names to int, optional
        1 for features with which scores must not fall, -1 for features with which they must not rise, if other features
        are equal and values are not missing; not for more than two classes.
    subsample, max_features : float, optional
        Share of the rows and of the columns for each tree, in (0, 1]; all by default.
    l2_regularization, min_hessian_leaf, max_bins : optional
        0, least sum of hessians in a leaf, 0.001 by default, and bins of a feature, 255 by default.
    growth : {"best", "breadth"}, optional
        The leaf with the best split first (the default), or level by level.
    random_state : int
        Seed of the draws.
    warm_start : bool
        True continues the trees of the last `fit`, up to `n_estimators` rounds in all, as in one fit: rows do not pay
        again. New rows count as having paid for all acquisitions of the present trees. Prices, features, classes,
        constraints, `learning_rate`, `max_bins`, `recipe` and `random_state` must be as before. Validation data judge
        earlier rounds again, and may stop at one of these.
    recipe : "paper", optional
        Train exactly the paper's algorithm, with its start. Settings and prices beyond the paper are errors.

    Attributes
    ----------
    predictor_ : StageTree
    n_iter_, n_grown_ : int
        Rounds kept, and rounds grown by `fit`.
    believed_cost_, believed_fixed_ : float
        Cost of the training rows for all rounds grown, as counted by `fit`: mean per row, and once-prices of the batch.
        If `fit` keeps all rounds, `cost` of the training rows reports the same.
    classes_ : ndarray (K,)
    """

    class_weight: Any = field(default=None, kw_only=True)


class CEGBRegressor(CostAwareRegressor, _CEGB):
    """CEGB for numbers: squared loss. Parameters are those of `CEGBClassifier` without `class_weight`."""


@define(slots=False, eq=False, repr=False)
class CEGBRanker(BoostedRanker, _CEGB):
    """CEGB for rankings within queries, the `qid` of `fit`.

    Parameters are those of `CEGBClassifier` without `class_weight`, and the `objective` of `BoostedRanker`.
    """
