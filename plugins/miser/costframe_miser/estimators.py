"""Greedy Miser for two and more classes, for numbers and for rankings, in scikit-learn's manner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from attrs import define, field

from costframe.core.checks import check_flag, check_number, resolve
from costframe.core.errors import ParameterError
from costframe.training.estimator import CostAwareClassifier, CostAwareRanker, CostAwareRegressor
from costframe.trees.annealing.annealed import AnnealingEstimator
from costframe.trees.binning.scaling import check_sizes
from costframe.trees.boosting.losses import loss_for
from costframe.trees.boosting.monitor import monitor_for
from costframe_miser.miser import MiserSettings, anneal_miser, train_miser

if TYPE_CHECKING:
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import TrainingData
    from costframe.trees.annealing.annealed import Annealing
    from costframe.trees.annealing.path import AnnealedPath

__all__ = ["MiserClassifier", "MiserRanker", "MiserRegressor"]


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class _Miser(AnnealingEstimator):
    """What the three have in common: settings, and training."""

    _usual_step: ClassVar = 0.1
    _takes_categories: ClassVar = True

    costs: Any = None
    tradeoff: float = 1e-3
    n_estimators: int | None = field(default=None, kw_only=True)
    learning_rate: float | None = field(default=None, kw_only=True)
    max_depth: int | None = field(default=None, kw_only=True)
    max_leaves: int | None = field(default=None, kw_only=True)
    min_samples_leaf: int | None = field(default=None, kw_only=True)
    l2_regularization: float | None = field(default=None, kw_only=True)
    max_bins: int | None = field(default=None, kw_only=True)
    categorical_features: Any = field(default=None, kw_only=True)
    shrink_recurring: bool | None = field(default=None, kw_only=True)
    n_iter_no_change: int | None = field(default=None, kw_only=True)
    scoring: Any = field(default=None, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)
    verbose: int = field(default=0, kw_only=True)

    def _train(self, data: TrainingData) -> StageTree:
        settings, loss = self._settings(data), loss_for(data.n_classes)
        predictor, self.n_iter_ = train_miser(data, loss, settings, monitor_for(self, data, loss))
        return predictor

    def _anneal(self, data: TrainingData, asked: Annealing) -> AnnealedPath:
        return anneal_miser(data, loss_for(data.n_classes), self._settings(data), asked)

    def _settings(self, data: TrainingData) -> MiserSettings:
        check_sizes(data.train)
        prices = data.prices
        if self.shrink_recurring and not (prices.learner or prices.reuse or prices.split.any()):
            raise ParameterError("shrink_recurring: has no effect, the costs have no learner, split or reuse price")
        leaf = resolve("min_samples_leaf", self.min_samples_leaf, 10, low=1, whole=True)
        if data.train.total_weight < 2 * leaf <= len(data.train):
            raise ParameterError(
                f"min_samples_leaf: two leaves of {leaf} need a total sample weight of {2 * leaf}, got "
                f"{data.train.total_weight:g}; a weight of one is one row"
            )
        return MiserSettings(
            tradeoff=float(self.tradeoff),
            n_estimators=resolve("n_estimators", self.n_estimators, 300, low=1, whole=True),
            learning_rate=resolve("learning_rate", self.learning_rate, self._usual_step, strict=True, high=1),
            max_depth=resolve("max_depth", self.max_depth, 3, low=1, whole=True),
            max_leaves=resolve("max_leaves", self.max_leaves, None, low=2, whole=True),
            min_samples_leaf=leaf,
            l2_regularization=resolve("l2_regularization", self.l2_regularization, 0.0),
            max_bins=resolve("max_bins", self.max_bins, 255, low=2, high=255, whole=True),
            shrink_recurring=self.shrink_recurring is not None
            and check_flag("shrink_recurring", self.shrink_recurring),
            n_threads=None if self.n_jobs is None else check_number("n_jobs", self.n_jobs, low=-(2**31), whole=True),
            verbose=check_number("verbose", self.verbose, whole=True),
        )


@define(slots=False, eq=False, repr=False)
class MiserClassifier(CostAwareClassifier, _Miser):
    """Greedy Miser for two classes (logistic loss) or more (softmax, one tree a class and round).

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one.
    tradeoff : float
        lambda, loss accepted per unit of cost per row; 0 is plain boosting.
    n_estimators : int, optional
        Rounds, 300 by default; one tree a round, or one a class for more than two classes.
    learning_rate : float, optional
        eta in (0, 1], 0.1 by default, 0.3 for classifiers: a first-order step is about a quarter of Newton's there.
    max_depth : int, optional
        Comparisons on a path, 3 by default (the paper's four levels of nodes).
    max_leaves : int, optional
        Leaves of a tree; as many as the depth allows by default.
    min_samples_leaf : int, optional
        Rows in a leaf, 10 by default; a row of weight two is two.
    l2_regularization : float, optional
        0 by default.
    max_bins : int, optional
        Distinct values a feature is cut into, 255 by default (and at most).
    categorical_features : list of str or int, bool (d,), or dict, optional
        Columns to split by categories: names, positions or a mask; a dict of such has the labels that the numbers of a
        column stand for, or None. By default a data frame's columns of a category dtype. At most `max_bins` categories
        of a column are told apart, the most frequent ones; others, as those never seen, go the missing way.
    shrink_recurring : bool, optional
        Divide prices that recur with every tree (learner, split, reuse) by eta (2 - eta), the share of a gain that a
        step of eta takes; False by default, as in the paper.
    n_iter_no_change : int, optional
        Rounds without a better validation value before stopping, 30 by default; needs X_val.
    scoring : "loss", name of a score, or callable, optional
        What is watched on validation data; validation loss + tradeoff * cost by default.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights.
    n_jobs : int, optional
        Threads; all there are by default. The model does not depend on it.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    predictor_ : StageTree
    n_iter_ : int
        Rounds kept.
    classes_ : ndarray (K,)
    """

    _usual_step: ClassVar = 0.3

    class_weight: Any = field(default=None, kw_only=True)


class MiserRegressor(CostAwareRegressor, _Miser):
    """Greedy Miser for numbers: squared loss. Parameters are those of `MiserClassifier` without `class_weight`."""


class MiserRanker(CostAwareRanker, _Miser):
    """Greedy Miser for rankings: squared loss on graded labels, as in the paper.

    Parameters are those of `MiserClassifier` without `class_weight`; `score` is NDCG@5 by query.
    """
