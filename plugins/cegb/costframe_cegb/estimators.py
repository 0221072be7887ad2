"""CEGB for two and more classes and for numbers, in scikit-learn's manner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import ParameterError
from costframe.core.estimator import CostAwareClassifier, CostAwareEstimator, CostAwareRegressor
from costframe.core.training import check_number, given_or
from costframe.trees.losses import loss_for
from costframe.trees.monitor import monitor_for
from costframe.trees.path import AnnealedPath, PathWatcher, falling_tradeoffs
from costframe.trees.scaling import check_sizes
from costframe_cegb.cegb import CEGBSettings, train_cegb

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from costframe.core.predictor import StageTree
    from costframe.core.training import TrainingData

__all__ = ["CEGBClassifier", "CEGBRegressor"]


class _CEGB(CostAwareEstimator):
    """What both have in common: settings, and training."""

    _takes_categories = True

    def __init__(
        self,
        costs: Any = None,
        tradeoff: float = 1e-3,
        *,
        n_estimators: int | None = None,
        learning_rate: float | None = None,
        max_leaves: int | None = None,
        max_depth: int | None = None,
        growth: str | None = None,
        min_samples_leaf: int | None = None,
        min_hessian_leaf: float | None = None,
        l2_regularization: float | None = None,
        max_bins: int | None = None,
        categorical_features: Any = None,
        subsample: float | None = None,
        column_share: float | None = None,
        n_iter_no_change: int | None = None,
        scoring: Any = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.tradeoff = tradeoff
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.growth = growth
        self.min_samples_leaf = min_samples_leaf
        self.min_hessian_leaf = min_hessian_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.subsample = subsample
        self.column_share = column_share
        self.n_iter_no_change = n_iter_no_change
        self.scoring = scoring
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _train(self, data: TrainingData) -> StageTree:
        settings, loss = self._settings(data), loss_for(data.n_classes)
        trained = train_cegb(data, loss, settings, monitor_for(self, data, loss))
        self.n_iter_, self.n_grown_ = trained.n_rounds, trained.n_grown
        self.believed_cost_, self.believed_fixed_ = trained.believed_cost, trained.believed_fixed
        return trained.predictor

    def fit_path(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any,
        y_val: ArrayLike,
        sample_weight_val: ArrayLike | None = None,
        tradeoffs: tuple[float, float] | None = None,
    ) -> AnnealedPath:
        """Train once with a falling tradeoff, and return all prefixes as models with their exact validation cost.

        The estimator becomes the prefix that is best at its own `tradeoff`.

        Parameters
        ----------
        X, y, sample_weight, X_val, y_val, sample_weight_val
            As for `fit`.
        tradeoffs : (float, float), optional
            lambda of the first and of the last round, with a geometric fall between; by default from where hardly
            anything is bought to where prices hardly count.
        """
        for name in ("n_iter_no_change", "scoring"):
            if getattr(self, name) is not None:
                raise ParameterError(f"{name}: has no effect on a path, which keeps every round")
        data = self._prepared(X, y, sample_weight, X_val, y_val, sample_weight_val, None, None)
        if data.valid is None:
            raise ParameterError("X_val: a path needs validation data")
        settings, loss = self._settings(data), loss_for(data.n_classes)
        constant = loss.baseline(data.train.y, data.train.weight)
        start = loss.mean(data.train.y, np.tile(constant, (len(data.train), 1)), data.train.weight)
        fall = falling_tradeoffs(start, data.prices, settings.n_estimators, tradeoffs)
        watcher = PathWatcher(data.valid, loss, data.prices, fall)
        trained = train_cegb(data, loss, settings, watcher, fall)
        path = AnnealedPath(tuple(watcher.points), trained.ensemble, data.costs, data.feature_names, data.categories)
        self.n_iter_, self.n_grown_ = path.at(settings.tradeoff).n_rounds, trained.n_grown
        self.believed_cost_, self.believed_fixed_ = trained.believed_cost, trained.believed_fixed
        self._keep(path.predictor(self.n_iter_), data.costs)
        return path

    def _settings(self, data: TrainingData) -> CEGBSettings:
        check_sizes(data.train)
        if self.growth not in {None, "best", "breadth"}:
            raise ParameterError(f"growth: expected 'best' or 'breadth', got {self.growth!r}")
        return CEGBSettings(
            tradeoff=float(self.tradeoff),
            n_estimators=given_or("n_estimators", self.n_estimators, 100, low=1, whole=True),
            learning_rate=given_or("learning_rate", self.learning_rate, 0.1, strict=True, high=1),
            max_leaves=given_or("max_leaves", self.max_leaves, 31, low=2, whole=True),
            max_depth=given_or("max_depth", self.max_depth, None, low=1, whole=True),
            growth="breadth" if self.growth == "breadth" else "best",
            min_samples_leaf=given_or("min_samples_leaf", self.min_samples_leaf, 20, low=1, whole=True),
            min_hessian_leaf=given_or("min_hessian_leaf", self.min_hessian_leaf, 1e-3),
            l2_regularization=given_or("l2_regularization", self.l2_regularization, 0.0),
            max_bins=given_or("max_bins", self.max_bins, 255, low=2, high=255, whole=True),
            subsample=given_or("subsample", self.subsample, 1.0, strict=True, high=1),
            column_share=given_or("column_share", self.column_share, 1.0, strict=True, high=1),
            random_state=check_number(
                "random_state", 0 if self.random_state is None else self.random_state, whole=True
            ),
            n_threads=None if self.n_jobs is None else check_number("n_jobs", self.n_jobs, low=-(2**31), whole=True),
            verbose=check_number("verbose", self.verbose, whole=True),
        )


class CEGBClassifier(CostAwareClassifier, _CEGB):
    """CEGB for two classes (logistic loss) or more (softmax, one tree a class and round).

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one.
    tradeoff : float
        lambda, loss accepted per unit of cost per row; 0 is plain boosting.
    n_estimators : int, optional
        Rounds, 100 by default; one tree a round, or one a class for more than two classes.
    learning_rate : float, optional
        In (0, 1], 0.1 by default.
    max_leaves : int, optional
        Leaves of a tree, 31 by default.
    max_depth : int, optional
        Comparisons on a path; unlimited by default.
    growth : {"best", "breadth"}, optional
        Always the leaf whose split is worth most (the default), or level by level.
    min_samples_leaf : int, optional
        Rows in a leaf, however heavy, 20 by default.
    min_hessian_leaf : float, optional
        Sum of hessians in a leaf, 0.001 by default.
    l2_regularization : float, optional
        0 by default.
    max_bins : int, optional
        Distinct values a feature is cut into, 255 by default (and at most).
    categorical_features : list of str or int, bool (d,), or dict, optional
        Columns to split by categories: names, positions or a mask; a dict of such has the labels that the numbers of a
        column stand for, or None. By default a data frame's columns of a category dtype. At most `max_bins` categories
        of a column are told apart, the most frequent ones; others, as those never seen, go the missing way.
    subsample, column_share : float, optional
        Share of the rows and of the columns that each tree is grown on, in (0, 1]; all by default.
    n_iter_no_change : int, optional
        Rounds without a better validation value before stopping, 30 by default; needs X_val.
    scoring : "loss", name of a score, or callable, optional
        What is watched on validation data; validation loss + tradeoff * cost by default.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights.
    random_state : int
        Seed of the draws.
    n_jobs : int, optional
        Threads; all there are by default. The model does not depend on it.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    predictor_ : StageTree
    n_iter_, n_grown_ : int
        Rounds kept, and rounds grown.
    believed_cost_, believed_fixed_ : float
        What training believes the training rows pay for all rounds grown: mean per row, and once for the batch. If
        all are kept, `cost` of the training rows reports the same.
    classes_ : ndarray (K,)
    """

    def __init__(
        self,
        costs: Any = None,
        tradeoff: float = 1e-3,
        *,
        n_estimators: int | None = None,
        learning_rate: float | None = None,
        max_leaves: int | None = None,
        max_depth: int | None = None,
        growth: str | None = None,
        min_samples_leaf: int | None = None,
        min_hessian_leaf: float | None = None,
        l2_regularization: float | None = None,
        max_bins: int | None = None,
        categorical_features: Any = None,
        subsample: float | None = None,
        column_share: float | None = None,
        n_iter_no_change: int | None = None,
        scoring: Any = None,
        class_weight: Any = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            costs,
            tradeoff,
            n_estimators=n_estimators,
            learning_rate=learning_rate,
            max_leaves=max_leaves,
            max_depth=max_depth,
            growth=growth,
            min_samples_leaf=min_samples_leaf,
            min_hessian_leaf=min_hessian_leaf,
            l2_regularization=l2_regularization,
            max_bins=max_bins,
            categorical_features=categorical_features,
            subsample=subsample,
            column_share=column_share,
            n_iter_no_change=n_iter_no_change,
            scoring=scoring,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.class_weight = class_weight


class CEGBRegressor(CostAwareRegressor, _CEGB):
    """CEGB for numbers: squared loss. Parameters are those of `CEGBClassifier` without `class_weight`."""
