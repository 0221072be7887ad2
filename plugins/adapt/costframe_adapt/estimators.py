"""Adapt in scikit-learn's manner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from attrs import define, field

from costframe.adoption.classifiers import GivenColumns, read_probabilities
from costframe.adoption.fitted_model import GivenModel
from costframe.core.checks import check_number
from costframe.core.errors import ParameterError, shown
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import log_odds
from costframe.core.tables.rows import check_weights
from costframe.training.estimator import CostAwareClassifier
from costframe.training.shell import restore_on_error
from costframe.trees.binning.scaling import check_sizes
from costframe.trees.boosting.monitor import scorer
from costframe_adapt.adapt import train_adapt, train_without_gate
from costframe_adapt.default_model import fit_default
from costframe_adapt.judge import Judge
from costframe_adapt.path import default_tradeoffs, sweep_grid
from costframe_adapt.settings import read_grid, read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.adoption.fitted_model import FittedModel
    from costframe.training.data import TrainingData
    from costframe.training.model_path import DeferredPath
    from costframe_adapt.path import AdaptPoint
    from costframe_adapt.settings import AdaptSettings

__all__ = ["AdaptClassifier"]


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class AdaptClassifier(CostAwareClassifier):
    """A cheap model and a gate in front of an expensive model: rows go on to it only if it is worth its price.

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one.
    tradeoff : float
        lambda, loss accepted per unit of cost per row.
    expensive : object, or (object, list of str), optional
        The expensive model, and its features (by default those that it names, else all). `fit` trains an unfitted
        scikit-learn classifier, with out-of-fold probabilities of the training rows. It keeps a fitted model: a tree
        model of xgboost or scikit-learn, or the result of `cf.adopt`, has prices on its paths; any other classifier,
        another predictor than a stage tree, or a function of (n, features) that returns probabilities reads all its
        features. A function needs the names of its features. Fitted estimators of costframe are possible too, also this
        one. `clone` removes the fit of fitted estimators; scikit-learn's FrozenEstimator keeps it. The default is trees
        boosted without prices.
    variant : {"gbrt", "lin", "l1"}, optional
        Boosted trees, the default, or linear models. "l1" is the baseline of the paper: logistic regression with a
        penalty chooses columns; on these it fits a cheap model to all rows, and a gate to that model's errors.
    full_share : float, optional
        P_full in [0, 1]: the largest mean of q, the share of rows that the expensive model gets. By default the price
        decides: each row counts its further cost beyond the cheap model and the gate. With 0 there is no gate.
    recipe : {"paper"}, optional
        Train exactly the paper's algorithm; see the README.
    n_stages : int, optional
        Number of gates, 1 by default: each further one stands in front of all before it.
    n_estimators : int, optional
        Largest number of trees of the cheap model and of the gate, by default 200 each, or 300 with full_share=0. By
        the paper's recipe their exact number, 100 by default.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights.
    random_state : int
        Seed of expensive models without one.
    n_jobs : int, optional
        Threads; all there are by default. The model does not depend on it.
    verbose : int
        1 shows progress bars.

    Attributes
    ----------
    predictor_ : StageTree
    expensive_ : object
        The fitted expensive model; None with full_share=0.
    expensive_predictor_ : StageTree
        The expensive model within the predictor, whose cost can be measured.
    n_iter_ : int
        Rounds of the alternation.
    objective_ : float64 (n_iter_,)
        The objective of each round: loss + tradeoff * cost on held-out rows; for linear models and the paper's recipe
        the bound on training rows, with the penalty.
    classes_ : ndarray (M,)
    """

    costs: Any = None
    tradeoff: float = 1e-3
    expensive: Any = field(default=None, kw_only=True)
    variant: str | None = field(default=None, kw_only=True)
    full_share: float | None = field(default=None, kw_only=True)
    recipe: str | None = field(default=None, kw_only=True)
    n_stages: int | None = field(default=None, kw_only=True)
    n_estimators: int | None = field(default=None, kw_only=True)
    class_weight: Any = field(default=None, kw_only=True)
    random_state: int = field(default=0, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)
    verbose: int = field(default=0, kw_only=True)

    @restore_on_error
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
        expensive_proba: ArrayLike | None = None,
    ) -> Self:
        """Train on rows and labels.

        Parameters
        ----------
        X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val
            As for every estimator; without validation data, it holds out training rows for its choices.
        expensive_proba : float64 (n,) of class 1, or (n, M), optional
            The expensive model's probabilities of the rows of X, out of fold.

        Raises
        ------
        CostframeError
            A ValueError that names the wrong argument.
        """
        data = self.training_data(
            X, y, sample_weight, X_val=X_val, y_val=y_val, sample_weight_val=sample_weight_val, qid=qid, qid_val=qid_val
        )
        proba = self._read_proba(expensive_proba, sample_weight, len(np.asarray(y)))
        self._keep(self._train(data, proba), data.costs, data.train)
        return self

    def decision_function(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = (), **terms: Any
    ) -> NDArray[np.float64]:
        """Return scores: float64 (rows,), log odds for two classes, else (rows, K)."""
        scores = super().decision_function(X, max_cost=max_cost, unavailable=unavailable, **terms)
        tree = self.predictor_
        if not isinstance(tree, StageTree) or tree.links != ("identity",):
            return scores
        # An expensive model alone answers with probabilities.
        return np.asarray(log_odds(scores.reshape(len(scores), -1)).reshape(scores.shape))

    @restore_on_error
    def fit_path(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any,
        y_val: ArrayLike,
        sample_weight_val: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
        expensive_proba: ArrayLike | None = None,
        tradeoffs: Sequence[float] | None = None,
        full_shares: Sequence[float | None] | None = None,
        scoring: Any = None,
        progress: Callable[[float], None] | None = None,
    ) -> DeferredPath[AdaptPoint]:
        """Fit a grid over tradeoffs and shares, and return all non-dominated models.

        All fits share the expensive model, its out-of-fold probabilities and the bins, and each begins at the result of
        the next larger tradeoff. The estimator becomes the best model at its own `tradeoff`.

        Parameters
        ----------
        X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val, expensive_proba
            As for `fit`.
        tradeoffs : sequence of float, optional
            By default 12, from almost no purchases to almost no effect of prices.
        full_shares : sequence of float or None, optional
            Values of P; by default `full_share` alone.
        scoring : "loss", name of a score, or callable, optional
            The score of points, higher is better; minus the validation loss by default.
        progress : callable, optional
            Called with the finished share, from 0 to 1.

        Returns
        -------
        DeferredPath of AdaptPoint

        Raises
        ------
        CostframeError
            As for `fit`; also if there are no validation data, or a parameter has no effect on a grid.
        """
        data = self.training_data(
            X, y, sample_weight, X_val=X_val, y_val=y_val, sample_weight_val=sample_weight_val, qid=qid, qid_val=qid_val
        )
        proba = self._read_proba(expensive_proba, sample_weight, len(np.asarray(y)))
        path = self._sweep(data, proba, tradeoffs, full_shares, scoring, progress)
        self.n_iter_, self.objective_ = 0, np.zeros(0)
        self._keep(path.predictor(path.at(float(self.tradeoff))), data.costs, data.train)
        return path

    def _sweep(
        self, data: TrainingData, proba: NDArray[np.float64] | None, tradeoffs: Any, full_shares: Any, scoring: Any,
        progress: Callable[[float], None] | None,
    ) -> DeferredPath[AdaptPoint]:  # fmt: skip
        settings = self._settings(data, grid=True)
        levels, shares = read_grid(self, settings, tradeoffs, full_shares)
        if data.valid is None:
            raise ParameterError("X_val: a path needs validation data")
        score = scorer(scoring)
        judge = Judge.of(data, self._find(data, settings, proba), settings)
        return sweep_grid(judge, default_tradeoffs(judge) if levels is None else levels, shares, score, progress)

    def _train(self, data: TrainingData, proba: NDArray[np.float64] | None = None) -> StageTree:
        settings = self._settings(data)
        if settings.full_share == 0:
            self.expensive_, self.n_iter_, self.objective_ = None, 0, np.zeros(0)
            self.__dict__.pop("expensive_predictor_", None)  # of an earlier fit
            return train_without_gate(data, settings)
        tree, objective = train_adapt(Judge.of(data, self._find(data, settings, proba), settings))
        self.n_iter_, self.objective_ = len(objective), np.array(objective)
        return tree

    def _find(self, data: TrainingData, settings: AdaptSettings, proba: NDArray[np.float64] | None) -> FittedModel:
        """Find the expensive model, and its probabilities of all rows."""
        model, wanted = self.expensive if isinstance(self.expensive, tuple) else (self.expensive, None)
        seed = check_number("random_state", self.random_state, whole=True)
        columns = GivenColumns.choose(data.feature_names, wanted, "expensive")
        given = GivenModel(model, columns, proba, self.classes_, seed, hasattr(self, "feature_names_in_"))
        fitted = fit_default(given, data, settings.n_threads) if model is None else given.fit(data)
        self.expensive_ = fitted.model
        self.expensive_predictor_ = fitted.tree.with_costs(data.costs)
        return fitted

    def _settings(self, data: TrainingData, *, grid: bool = False) -> AdaptSettings:
        check_sizes(data.train)
        if data.valid is not None:
            check_sizes(data.valid, "_val")
        if isinstance(self.expensive, tuple) and (len(self.expensive) != 2 or self.expensive[0] is None):
            raise ParameterError(
                f"expensive: expected a model, or a model and its features, got {shown(self.expensive)}"
            )
        return read_settings(self, data, grid=grid)

    def _read_proba(self, proba: Any, sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
        """Check probabilities of training rows, and leave out rows of weight zero."""
        if proba is None:
            return None
        values = read_probabilities(proba, n_rows, len(self.classes_), "expensive_proba")
        return values[check_weights(sample_weight, n_rows, "sample_weight") > 0]
