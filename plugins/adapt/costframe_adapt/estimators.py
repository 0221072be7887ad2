"""Adapt in scikit-learn's manner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from attrs import define, field

from costframe.adoption.classifiers import read_probabilities
from costframe.adoption.fitted_model import GivenModel
from costframe.adoption.given_columns import GivenColumns
from costframe.core.checks import check_number
from costframe.core.errors import ParameterError
from costframe.core.learners.links import log_odds
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.tables.labels import check_weights
from costframe.training.estimator import CostAwareClassifier
from costframe.trees.binning.scaling import check_sizes
from costframe.trees.boosting.monitor import scorer
from costframe_adapt.asked import adapt_settings, asked_grid
from costframe_adapt.default_model import fit_default
from costframe_adapt.path import Grid, sweep_grid, usual_tradeoffs
from costframe_adapt.prepared import Prepared
from costframe_adapt.training import train_adapt, train_without_gate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.adoption.fitted_model import FittedModel
    from costframe.training.data import TrainingData
    from costframe_adapt.path import AdaptPath
    from costframe_adapt.settings import AdaptSettings

__all__ = ["AdaptClassifier"]


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class AdaptClassifier(CostAwareClassifier):
    """A cheap model and a gate in front of an expensive one: rows go on to it only where it is worth its price.

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one.
    tradeoff : float
        lambda, loss accepted per unit of cost per row.
    expensive : object, optional
        What rows go on to. An unfitted classifier of scikit-learn's kind is fitted inside, with probabilities out of
        fold for the training rows. Fitted ones are taken as they are: a tree model of xgboost or scikit-learn, or what
        `cf.adopt` made of one, is priced on its paths; any other classifier, a predictor that is no stage tree, or a
        function of (n, len(expensive_features)) that returns probabilities, reads all its features. A fitted estimator
        of costframe may stand here too, this one included. `clone` takes the fit from fitted estimators; scikit-learn's
        FrozenEstimator keeps it. By default trees are boosted as if all were free.
    expensive_features : list of str, optional
        What the expensive model is given: all features by default, or those that it names itself. A function must have
        it.
    variant : {"gbrt", "lin", "lstsq", "l1"}, optional
        Boosted trees, the default, or linear models; "lstsq" fits the gate to the log odds of q by squares. "l1" is the
        baseline of the paper: logistic regression with a penalty chooses columns, on these a cheap model is fitted to
        all rows, and a gate to where that is wrong.
    full_share : float, optional
        P_full in [0, 1]: the largest mean of q, the share of rows that the expensive model gets. By default its price
        decides: what it costs a row beyond the cheap model and the gate counts against it. With 0 there is no gate.
    trees : {"cegb", "coupled", "miser"}, optional
        For "gbrt": second-order trees at prices paid row by row, or once by the model; or the paper's, first-order
        ones at prices paid once. By default the first two are tried, and that with less loss + tradeoff * cost on rows
        held out is kept; with full_share=0 it is "miser", and the model Greedy Miser's.
    n_stages : int, optional
        Gates, one by default: each further one stands in front of all before it.
    cv : int, optional
        Folds for the probabilities of an expensive model that is fitted inside, 5 by default.
    n_estimators, learning_rate, max_depth, max_leaves, min_samples_leaf, l2_regularization
        Of the trees of the cheap model, and of those of the gate. Miser's: 100 (300 with full_share=0), 0.3, 3, as many
        as the depth allows, 10, 0. The others': 200, 0.2, any, 31, 20, 1.
    max_bins : int, optional
        Distinct values a feature is cut into, 255 by default (and at most).
    alternation : {"gates", "joint"}, optional
        For "gbrt": leave a cheap model that was grown for all rows as it is, and fit gates to where it fails, as told
        by copies out of fold; or grow both models for new shares in each round, as in the paper. By default both are
        tried, and that with less loss + tradeoff * cost on rows held out is kept.
    max_rounds : int, optional
        Of the alternation between shares and models, 10 by default (50 for linear ones); the best is kept.
    charge : {"routed", "all"}, optional
        Who pays in training for a feature: by default the rows that will, with "all" every row, as in the paper.
    threshold : {"placed", "zero"}, optional
        Where the gate divides: where loss + tradeoff * cost is least on rows held out (and at most `full_share` of them
        go on), or at zero, as in the paper.
    standardize : bool, optional
        For linear models: whether columns have unit variance when coefficients are penalized; False by default.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights.
    random_state : int
        For expensive models that draw and do not say how.
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
        The same as it stands in the predictor, so that its cost can be told.
    n_iter_ : int
        Rounds of the alternation.
    objective_ : float64 (n_iter_,)
        What it went by: loss + tradeoff * cost on rows held out, or for linear models the bound on training rows.
    classes_ : ndarray (M,)
    """

    costs: Any = None
    tradeoff: float = 1e-3
    expensive: Any = field(default=None, kw_only=True)
    expensive_features: Any = field(default=None, kw_only=True)
    variant: str | None = field(default=None, kw_only=True)
    full_share: float | None = field(default=None, kw_only=True)
    trees: str | None = field(default=None, kw_only=True)
    n_stages: int | None = field(default=None, kw_only=True)
    cv: int | None = field(default=None, kw_only=True)
    n_estimators: int | None = field(default=None, kw_only=True)
    learning_rate: float | None = field(default=None, kw_only=True)
    max_depth: int | None = field(default=None, kw_only=True)
    max_leaves: int | None = field(default=None, kw_only=True)
    min_samples_leaf: int | None = field(default=None, kw_only=True)
    l2_regularization: float | None = field(default=None, kw_only=True)
    max_bins: int | None = field(default=None, kw_only=True)
    alternation: str | None = field(default=None, kw_only=True)
    max_rounds: int | None = field(default=None, kw_only=True)
    charge: str | None = field(default=None, kw_only=True)
    threshold: str | None = field(default=None, kw_only=True)
    standardize: bool | None = field(default=None, kw_only=True)
    class_weight: Any = field(default=None, kw_only=True)
    random_state: int = field(default=0, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)
    verbose: int = field(default=0, kw_only=True)

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
        """Train.

        Parameters
        ----------
        X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val
            As for every estimator; rows are held out for what is chosen where there is no validation data.
        expensive_proba : float64 (n,) of class 1, or (n, M), optional
            The expensive model's probabilities of the rows of X, as of rows that it has not seen.

        Raises
        ------
        CostframeError
            A ValueError that names what does not fit.
        """
        data = self.training_data(X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val)
        settings, proba = self._settings(data), self._given(expensive_proba, sample_weight, len(np.asarray(y)))
        prepared = None if settings.full_share == 0 else self._prepare(data, settings, proba)
        self._keep(self._fit(data, settings, prepared), data.costs, data.train)
        return self

    def decision_function(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = (), **terms: Any
    ) -> NDArray[np.float64]:
        """Return scores: float64 (rows,), log odds for two classes, else (rows, K)."""
        scores = super().decision_function(X, max_cost=max_cost, unavailable=unavailable, **terms)
        tree = self.predictor_
        if not isinstance(tree, StageTree) or tree.links != ("identity",):
            return scores
        # An expensive model that stands alone answers with probabilities.
        return np.asarray(log_odds(scores.reshape(len(scores), -1)).reshape(scores.shape))

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
    ) -> AdaptPath:
        """Fit a grid over tradeoffs and shares, and return all models that are worth having.

        The expensive model, its probabilities out of fold and the bins are made once, and each fit begins where that at
        the next larger tradeoff ended. The estimator becomes the model that is best at its own `tradeoff`.

        Parameters
        ----------
        X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val, expensive_proba
            As for `fit`.
        tradeoffs : sequence of float, optional
            By default 12, from where hardly anything is bought to where prices hardly count.
        full_shares : sequence of float or None, optional
            Values of P; by default `full_share` alone.
        scoring : "loss", name of a score, or callable, optional
            The score of points, of which more is better; minus the validation loss by default.
        progress : callable, optional
            Is told the share that is done, from 0 to 1.

        Returns
        -------
        AdaptPath

        Raises
        ------
        CostframeError
            As of `fit`; if there are no validation data, or a parameter has no effect on a grid.
        """
        data = self.training_data(X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val)
        settings, (asked, shares) = self._settings(data), asked_grid(self, tradeoffs, full_shares)
        if data.valid is None:
            raise ParameterError("X_val: a path needs validation data")
        score = scorer(scoring)
        proba = self._given(expensive_proba, sample_weight, len(np.asarray(y)))
        prepared = self._prepare(data, settings, proba)
        levels = usual_tradeoffs(prepared) if asked is None else asked
        path = sweep_grid(prepared, settings, Grid(levels, shares, score, progress))
        self.n_iter_, self.objective_ = 0, np.zeros(0)
        self._keep(path.predictor(path.at(float(self.tradeoff))), data.costs, data.train)
        return path

    def _train(self, data: TrainingData) -> StageTree:
        settings = self._settings(data)
        prepared = None if settings.full_share == 0 else self._prepare(data, settings, None)
        return self._fit(data, settings, prepared)

    def _fit(self, data: TrainingData, settings: AdaptSettings, prepared: Prepared | None) -> StageTree:
        if prepared is None:
            self.expensive_, self.n_iter_, self.objective_ = None, 0, np.zeros(0)
            self.__dict__.pop("expensive_predictor_", None)  # an earlier fit's
            return train_without_gate(data, settings)
        trained = train_adapt(prepared, settings)
        self.n_iter_, self.objective_ = len(trained.objective), np.array(trained.objective)
        return trained.tree

    def _prepare(self, data: TrainingData, settings: AdaptSettings, proba: NDArray[np.float64] | None) -> Prepared:
        """Find the expensive model, and what it says of all rows."""
        expensive = self._find(data, proba)
        self.expensive_ = expensive.model
        self.expensive_predictor_ = expensive.tree.with_costs(data.costs)
        return Prepared.of(data, expensive, settings.n_threads)

    def _find(self, data: TrainingData, proba: NDArray[np.float64] | None) -> FittedModel:
        cv = 5 if self.cv is None else check_number("cv", self.cv, low=2, whole=True)
        seed = check_number("random_state", self.random_state, whole=True)
        columns = GivenColumns.choose(data.feature_names, self.expensive_features, "expensive")
        framed = hasattr(self, "feature_names_in_")
        given = GivenModel(self.expensive, columns, proba, self.classes_, seed, framed, cv)
        if self.expensive is not None:
            return given.fit(data)
        if columns.named:
            raise ParameterError("expensive_features: has no effect without an expensive model")
        return fit_default(given, data, self.n_jobs)

    def _settings(self, data: TrainingData) -> AdaptSettings:
        check_sizes(data.train)
        if data.valid is not None:
            check_sizes(data.valid, "_val")
        return adapt_settings(self, data)

    def _given(self, proba: Any, sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
        """Check probabilities of training rows, and leave out those of weight zero."""
        if proba is None:
            return None
        values = read_probabilities(proba, n_rows, len(self.classes_), "expensive_proba")
        return values[check_weights(sample_weight, n_rows, "sample_weight") > 0]
