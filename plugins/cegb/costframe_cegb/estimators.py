"""CEGB for two and more classes, for numbers and for rankings, in scikit-learn's manner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from attrs import define, evolve, field

from costframe.core.checks import check_flag, check_number, resolve
from costframe.core.errors import DataError, ParameterError
from costframe.training.estimator import CostAwareClassifier, CostAwareRanker, CostAwareRegressor
from costframe.trees.annealing.annealed import AnnealingEstimator
from costframe.trees.binning.scaling import check_sizes
from costframe.trees.boosting.losses import loss_for
from costframe.trees.boosting.monitor import monitor_for
from costframe.trees.boosting.ranking import ranking_loss
from costframe.trees.growing.monotone import read_signs
from costframe_cegb.annealing import anneal_cegb
from costframe_cegb.cegb import CEGBSettings, train_cegb
from costframe_cegb.state import Kept, State

if TYPE_CHECKING:
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import Rows, TrainingData
    from costframe.trees.annealing.annealed import Annealing
    from costframe.trees.annealing.path import AnnealedPath
    from costframe.trees.boosting.losses import Loss

__all__ = ["CEGBClassifier", "CEGBRanker", "CEGBRegressor"]

_FEWEST_BINS, _ROWS_PER_BIN = 63, 8  # of a path on few rows: finer thresholds take time and are noise
_PATH_L2 = 1.0  # a path has many models to choose from, and chance chooses with us where leaves are free to be extreme


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class _CEGB(AnnealingEstimator):
    """What all have in common: settings, and training.

    A path has trees of `max_leaves` or of a quarter of them; by default, `l2_regularization` is 1 there, and a bin has
    at least eight rows where there are more than 63 bins.
    """

    _takes_categories: ClassVar = True

    costs: Any = None
    tradeoff: float = 1e-3
    n_estimators: int | None = field(default=None, kw_only=True)
    learning_rate: float | None = field(default=None, kw_only=True)
    max_leaves: int | None = field(default=None, kw_only=True)
    max_depth: int | None = field(default=None, kw_only=True)
    growth: str | None = field(default=None, kw_only=True)
    min_samples_leaf: int | None = field(default=None, kw_only=True)
    min_hessian_leaf: float | None = field(default=None, kw_only=True)
    l2_regularization: float | None = field(default=None, kw_only=True)
    max_bins: int | None = field(default=None, kw_only=True)
    categorical_features: Any = field(default=None, kw_only=True)
    subsample: float | None = field(default=None, kw_only=True)
    column_share: float | None = field(default=None, kw_only=True)
    monotone_constraints: Any = field(default=None, kw_only=True)
    n_iter_no_change: int | None = field(default=None, kw_only=True)
    scoring: Any = field(default=None, kw_only=True)
    warm_start: bool = field(default=False, kw_only=True)
    random_state: int = field(default=0, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)
    verbose: int = field(default=0, kw_only=True)

    def _train(self, data: TrainingData) -> StageTree:
        settings, loss, labels = self._settings(data), self._loss(data), self._labels()
        warm = check_flag("warm_start", self.warm_start)
        kept: Kept | None = getattr(self, "_kept", None) if warm else None
        state = State.begin(data, loss, settings) if kept is None else kept.again(loss, settings, data, labels)
        trained = train_cegb(data, loss, settings, monitor_for(self, data, loss), state)
        self._kept = Kept.of(state, loss, settings, data, labels) if warm else None
        self.n_iter_, self.n_grown_ = trained.n_rounds, trained.n_grown
        self.believed_cost_, self.believed_fixed_ = trained.believed_cost, trained.believed_fixed
        return trained.predictor

    def _anneal(self, data: TrainingData, asked: Annealing) -> AnnealedPath:
        settings = self._settings(data)
        if self.l2_regularization is None:
            settings = evolve(settings, l2_regularization=_PATH_L2)
        if self.max_bins is None:
            few = max(_FEWEST_BINS, len(data.train) // _ROWS_PER_BIN)
            settings = evolve(settings, max_bins=min(settings.max_bins, few))
        path = anneal_cegb(data, self._loss(data), settings, asked)
        self._kept = None
        for name in ("n_grown_", "believed_cost_", "believed_fixed_"):
            self.__dict__.pop(name, None)  # an earlier fit's
        return path

    def _loss(self, data: TrainingData) -> Loss:
        return loss_for(data.n_classes)

    def _signs(self, data: TrainingData) -> tuple[int, ...] | None:
        signs = read_signs(self.monotone_constraints, data.feature_names)
        if signs is not None and data.categorical is not None and (np.array(signs) * data.categorical).any():
            raise ParameterError("monotone_constraints: expected 0 for categorical features, which have no order")
        if signs is not None and data.n_classes > 2:
            raise ParameterError("monotone_constraints: expected None for more than two classes, which have no order")
        return signs

    def _labels(self) -> list[object]:
        return list(np.asarray(getattr(self, "classes_", ())).tolist())

    def _settings(self, data: TrainingData) -> CEGBSettings:
        check_sizes(data.train)
        if self.growth not in {None, "best", "breadth"}:
            raise ParameterError(f"growth: expected 'best' or 'breadth', got {self.growth!r}")
        return CEGBSettings(
            tradeoff=float(self.tradeoff),
            n_estimators=resolve("n_estimators", self.n_estimators, 100, low=1, whole=True),
            learning_rate=resolve("learning_rate", self.learning_rate, 0.1, strict=True, high=1),
            max_leaves=resolve("max_leaves", self.max_leaves, 31, low=2, whole=True),
            max_depth=resolve("max_depth", self.max_depth, None, low=1, whole=True),
            growth="breadth" if self.growth == "breadth" else "best",
            min_samples_leaf=resolve("min_samples_leaf", self.min_samples_leaf, 20, low=1, whole=True),
            min_hessian_leaf=resolve("min_hessian_leaf", self.min_hessian_leaf, 1e-3),
            l2_regularization=resolve("l2_regularization", self.l2_regularization, 0.0),
            max_bins=resolve("max_bins", self.max_bins, 255, low=2, high=255, whole=True),
            subsample=resolve("subsample", self.subsample, 1.0, strict=True, high=1),
            column_share=resolve("column_share", self.column_share, 1.0, strict=True, high=1),
            monotone_constraints=self._signs(data),
            random_state=check_number(
                "random_state", 0 if self.random_state is None else self.random_state, whole=True
            ),
            n_threads=None if self.n_jobs is None else check_number("n_jobs", self.n_jobs, low=-(2**31), whole=True),
            verbose=check_number("verbose", self.verbose, whole=True),
        )


@define(slots=False, eq=False, repr=False)
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
        Rows in a leaf, 20 by default; where sample weights are whole numbers, a row of weight two is two.
    min_hessian_leaf : float, optional
        Sum of hessians in a leaf, 0.001 by default.
    l2_regularization : float, optional
        0 by default.
    max_bins : int, optional
        Distinct values a feature is cut into, 255 by default (and at most).
    categorical_features : list of str or int, bool (d,), or dict, optional
        Columns to split by categories: names, positions or a mask; a dict of such has the labels that the numbers of a
        column stand for, or None. By default a data frame's columns of a category dtype. Categories are texts, or
        numbers smaller than 2^53. At most `max_bins` of a column are told apart, the most frequent ones; others, as
        those never seen, go the missing way.
    subsample, column_share : float, optional
        Share of the rows and of the columns that each tree is grown on, in (0, 1]; all by default.
    monotone_constraints : sequence of int (d,), or dict of names to int, optional
        1 for features with which scores must not fall, -1 for those with which they must not rise, other features being
        equal and missing values apart; not for more than two classes.
    n_iter_no_change : int, optional
        Rounds without a better validation value before stopping, 30 by default; needs X_val.
    scoring : "loss", name of a score, or callable, optional
        What is watched on validation data; validation loss + tradeoff * cost by default.
    warm_start : bool
        True continues the trees of the last `fit`, up to `n_estimators` rounds in all, as if they had been one: what
        rows have paid for stays paid. Other rows than before have paid for what the trees so far acquire for them.
        Prices, features, classes, constraints, `learning_rate`, `max_bins` and `random_state` must be as before.
        Validation data judge earlier rounds anew; if they would have stopped there, no round is added.
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
        Rounds kept, and rounds grown by `fit`.
    believed_cost_, believed_fixed_ : float
        What `fit` believes the training rows pay for all rounds grown: mean per row, and once for the batch. If all
        are kept, `cost` of the training rows reports the same.
    classes_ : ndarray (K,)
    """

    class_weight: Any = field(default=None, kw_only=True)


class CEGBRegressor(CostAwareRegressor, _CEGB):
    """CEGB for numbers: squared loss. Parameters are those of `CEGBClassifier` without `class_weight`."""


@define(slots=False, eq=False, repr=False)
class CEGBRanker(CostAwareRanker, _CEGB):
    """CEGB for rankings, over the queries that `fit` is given as `qid`.

    Parameters are those of `CEGBClassifier` without `class_weight`, and

    Parameters
    ----------
    objective : {"lambdarank", "pairwise", "squared"}, optional
        LambdaRank for NDCG (the default), whose tradeoff is NDCG at 30 given up per unit of cost per row; or logistic
        loss of pairs, mean by query; or squared loss of grades. See `costframe.trees.boosting.ranking`. What is
        watched on validation data is this loss (LambdaRank: what NDCG at 30 lacks to one) + tradeoff * cost.
    """

    objective: str | None = field(default=None, kw_only=True)

    def _loss(self, data: TrainingData) -> Loss:
        for name, rows in (("qid", data.train), ("qid_val", data.valid)):
            if rows is not None and rows.qid is None:
                raise DataError(f"{name}: expected the query of each row, got None; rows are ranked within a query")
        if data.valid is not None and not _has_order(data.valid):
            raise DataError("y_val: expected a query with two different grades, for there is nothing to rank otherwise")
        return ranking_loss(self.objective)


def _has_order(rows: Rows) -> bool:
    """Whether some query has rows of different grades."""
    graded = np.column_stack([rows.qid, rows.y])  # type: ignore[list-item] # rankings have queries
    return len(np.unique(graded, axis=0)) > len(np.unique(rows.qid))  # type: ignore[arg-type]
