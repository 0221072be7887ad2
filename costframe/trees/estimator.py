"""The base of estimators of boosted trees: parameters, settings, recipes, and `fit_path`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Unpack

import numpy as np
from attrs import define, field, fields_dict
from numpy.typing import ArrayLike

from costframe.core.checks import check_choice, check_flag
from costframe.core.errors import DataError, ParameterError
from costframe.training.data import FitRows, Rows, TrainingData, Traits
from costframe.training.estimator import CostAwareRanker
from costframe.training.losses import Loss, loss_for
from costframe.training.model_path import MeasuredPath
from costframe.training.shell import CostAwareEstimator, restore_on_error
from costframe.trees.annealed import Annealing
from costframe.trees.annealer import Annealer
from costframe.trees.monitor import Monitor, Scorer
from costframe.trees.ranking import ranking_loss
from costframe.trees.settings import TreeSettings
from costframe.trees.tradeoffs import check_limits

_PATH_ROUNDS = 1000
_PATIENCE = 30
_NO_EFFECT = ("n_iter_no_change", "scoring", "warm_start", "recipe")  # on a path


@define
class Paper:
    """The settings and prices of `recipe="paper"`.

    Attributes
    ----------
    settings : TreeSettings
    free : frozenset of str
        Settings that the paper leaves open; others are errors.
    prices : frozenset of str
        Kinds of prices in the paper: "once", "split", "learner", "reuse", "resources", beside those of features.
    """

    settings: TreeSettings
    free: frozenset[str]
    prices: frozenset[str]


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class BoostedEstimator(CostAwareEstimator):
    """An estimator of boosted trees; a subclass has a `_train`, an `_anneal`, and its own defaults.

    Parameters
    ----------
    costs, tradeoff, random_state, n_jobs, verbose
        As for every estimator; at tradeoff 0 it is plain boosting.
    n_estimators, learning_rate, max_leaves, max_depth, min_samples_leaf, l2_regularization, max_bins : optional
        As in `TreeSettings`, with the algorithm's defaults. A round has one tree, or one per class for more than two
        classes.
    categorical_features : list of str or int, bool (d,), or dict, optional
        Columns to split by categories: names, positions or a mask, or a dict from these to the labels of the column's
        numbers, or None. By default a data frame's columns of texts and of a category dtype. Categories are texts, or
        numbers below 2^53. The `max_bins` most frequent categories of a column have separate bins; others, and unknown
        ones, go the way of missing values.
    recipe : "paper", optional
        Train exactly the paper's algorithm, with its start. Settings and prices beyond the paper are errors.
    n_iter_no_change : int, optional
        Rounds without a better validation value before stopping, 30 by default; needs X_val.
    scoring : "loss", name of a score, or callable, optional
        The validation value for early stopping, validation loss + tradeoff * cost by default; callables are as for
        `BudgetSearch`.

    Attributes
    ----------
    evals_result_ : dict of str to dict of str to list of float
        With X_val, {"validation": {"loss": [...], "cost": [...]}}: validation loss, or the score by the name of
        `scoring`, and mean cost per row after each round, as far as training went. Else empty, as after `fit_path`.
    """

    traits: ClassVar = Traits(takes_categories=True)
    _usual: ClassVar[TreeSettings]
    _paper: ClassVar[Paper]

    costs: Any = None
    tradeoff: float | None = None
    n_estimators: int | None = field(default=None, kw_only=True)
    learning_rate: float | None = field(default=None, kw_only=True)
    max_leaves: int | None = field(default=None, kw_only=True)
    max_depth: int | None = field(default=None, kw_only=True)
    min_samples_leaf: int | None = field(default=None, kw_only=True)
    l2_regularization: float | None = field(default=None, kw_only=True)
    max_bins: int | None = field(default=None, kw_only=True)
    categorical_features: Any = field(default=None, kw_only=True)
    recipe: str | None = field(default=None, kw_only=True)
    n_iter_no_change: int | None = field(default=None, kw_only=True)
    scoring: Any = field(default=None, kw_only=True)
    random_state: int = field(default=0, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)
    verbose: int = field(default=0, kw_only=True)

    def _anneal(self, data: TrainingData, settings: TreeSettings, asked: Annealing) -> MeasuredPath:
        """Anneal on checked data with validation rows."""
        raise NotImplementedError

    def _settings(self, data: TrainingData) -> TreeSettings:
        """Return the settings of the parameters, and forget the history of earlier training."""
        data.train.check_sizes()
        self.evals_result_: dict[str, dict[str, list[float]]] = {}
        usual = self._usual
        if check_choice("recipe", self.recipe, (None, "paper")):
            self._check_recipe(data)
            usual = self._paper.settings
        asked = set(fields_dict(TreeSettings)) & set(self.get_params(deep=False))
        return usual.replaced(n_jobs=self.n_jobs, **{name: getattr(self, name) for name in asked})

    def _check_recipe(self, data: TrainingData) -> None:
        """Refuse settings, categories and prices that the paper does not have."""
        known = self._paper.free | {
            "costs", "tradeoff", "recipe", "class_weight", "n_jobs", "verbose", "random_state", "scoring",
            "n_iter_no_change",
        }  # fmt: skip
        for name, value in self.get_params(deep=False).items():
            if name not in known and value is not None and value is not False:
                raise ParameterError(f"{name}: the paper has no such setting; leave it out, or recipe='paper'")
        if data.categorical is not None and data.categorical.any():
            raise ParameterError(
                "X: the paper splits numbers only, and some columns are categorical, with recipe='paper'"
            )
        prices = data.prices
        stated = {
            "once": prices.once.any(), "split": prices.split.any(), "learner": prices.learner, "reuse": prices.reuse,
            "resources": prices.resource_cost.any(), "round": prices.has_rounds,
        }  # fmt: skip
        beyond = [name for name, some in stated.items() if some and name not in self._paper.prices]
        if beyond:
            raise ParameterError(f"costs: the paper has no prices of the kind {beyond[0]!r}, with recipe='paper'")

    def _loss(self, data: TrainingData) -> Loss:
        return loss_for(data.n_classes)

    def _monitor(
        self, data: TrainingData, loss: Loss, settings: TreeSettings, *, tradeoff: float | None = None
    ) -> Monitor | None:
        """Return the monitor of the validation rows, and keep its history; without such rows, refuse its settings.

        `tradeoff` is that of the validation value, the estimator's by default.
        """
        if data.valid is None:
            for name in ("n_iter_no_change", "scoring"):
                if getattr(self, name) is not None:
                    raise ParameterError(f"{name}: has no effect without validation data, give X_val and y_val to fit")
            return None
        patience = _PATIENCE if settings.n_iter_no_change is None else settings.n_iter_no_change
        price = data.tradeoff if tradeoff is None else tradeoff
        monitor = Monitor(data.valid, loss, data.prices, price, patience, self.scoring)
        self.evals_result_ = {"validation": monitor.history}
        return monitor

    @restore_on_error
    def fit_path(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        tradeoffs: tuple[float, float] | None = None,
        scoring: Any = None,
        look_ahead: bool = True,
        progress: Callable[[float], None] | None = None,
        **others: Unpack[FitRows],
    ) -> MeasuredPath:
        """Train with a falling tradeoff; return all models on the way with their exact validation cost.

        The estimator becomes the best model at its own `tradeoff`. `n_estimators` is the most rounds of a model, 1000
        by default.

        Parameters
        ----------
        X, y, sample_weight, **others
            As for `fit`, with validation data.
        tradeoffs : (float, float), optional
            lambda of the first and of the last level, with a geometric fall between; by default from almost no
            purchases to no effect of prices.
        scoring : "loss", name of a score, or callable, optional
            The score of points, higher is better; minus the validation loss by default.
        look_ahead : bool
            Whether to try at each level, for every resource, the joint gain of its features, and buy it if the model is
            then better at its true cost. If false, trees buy a resource only if a single split repays it, and training
            is quicker.
        progress : callable, optional
            Gets the finished share, from 0 to 1, after each round.

        Returns
        -------
        MeasuredPath
            An `AnnealedPath`, unless the algorithm has a path of its own.

        Raises
        ------
        CostframeError
            As for `fit`; also if there are no validation data, or a parameter has no effect on a path.
        """
        for name in _NO_EFFECT:
            if getattr(self, name, None) is not None and getattr(self, name) is not False:
                raise ParameterError(f"{name}: has no effect on a path; leave it out, or fit at given tradeoffs")
        data = self.path_data(X, y, sample_weight, **others)
        most = _PATH_ROUNDS if self.n_estimators is None else self.n_estimators
        annealer = Annealer(most, Scorer.of(scoring))
        limits = None if tradeoffs is None else check_limits(tradeoffs)
        asked = Annealing(annealer, limits, check_flag("look_ahead", look_ahead), progress)
        path = self._anneal(data, self._settings(data), asked)
        point = path.at(data.tradeoff)
        self.n_iter_ = point.n_rounds
        return self._keep_path(path, path.predictor(point), data)


@define(slots=False, eq=False, repr=False)
class BoostedRanker(CostAwareRanker, BoostedEstimator):
    """A ranker of boosted trees with a choice of losses.

    Parameters are those of `BoostedEstimator`, and

    Parameters
    ----------
    objective : {"lambdarank", "pairwise", "squared"}, optional
        LambdaRank for NDCG (the default), with the tradeoff in NDCG at 30 per unit of cost per row; or logistic loss of
        pairs, mean by query; or squared loss of grades, as with recipe="paper". See `costframe.trees.ranking`.
        The validation objective is this loss (LambdaRank: 1 - NDCG at 30) + tradeoff * cost.
    """

    objective: str | None = field(default=None, kw_only=True)

    def _loss(self, data: TrainingData) -> Loss:
        for name, rows in (("qid", data.train), ("qid_val", data.valid)):
            if rows is not None and rows.qid is None:
                raise DataError(f"{name}: expected the query of each row, got None; rows are ranked within a query")
        if data.valid is not None and not _has_order(data.valid):
            raise DataError("y_val: expected a query with two different grades, else there is nothing to rank")
        return ranking_loss("squared" if self.recipe == "paper" else self.objective)


def _has_order(rows: Rows) -> bool:
    """Whether some query has rows of different grades."""
    graded = np.column_stack([rows.qid, rows.y])  # type: ignore[list-item] # rankings have queries
    some = len(np.unique(graded, axis=0)) > len(np.unique(rows.qid))  # type: ignore[arg-type]
    return rows.workers.any(some)
