"""Estimators of gates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike

from costframe.adoption.given.columns import GivenColumns
from costframe.adoption.given.model import FittedModel, GivenModel
from costframe.adoption.given.probabilities import read_probabilities
from costframe.core.arrays import F8
from costframe.core.checks import check_number
from costframe.core.errors import ParameterError, shown
from costframe.core.predictors.prepared import behind_preparation
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.tables.frames import is_dask
from costframe.core.tables.row_labels import check_weights
from costframe.gates.composite import ExpensiveModel
from costframe.gates.default_model import fit_default
from costframe.gates.held_rows import hold_out
from costframe.training.cluster.fitting import fit_on_cluster
from costframe.training.data import FitRows, Rows, TrainingData, Traits
from costframe.training.estimator import CostAwareClassifier
from costframe.training.model_path import DeferredPath
from costframe.training.shell import restore_on_error


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class GatedClassifier(CostAwareClassifier):
    """A classifier with a gate in front of an expensive model; a subclass has a `_train` and a `_sweep`.

    Parameters
    ----------
    costs, tradeoff, class_weight, random_state, n_jobs, verbose
        As for every classifier; the seed is that of expensive models without one.
    expensive : object, or (object, list of str), optional
        The expensive model, and its features (by default those that it names, else all). `fit` trains an unfitted
        scikit-learn classifier, with out-of-fold probabilities of the training rows. It keeps a fitted model: a tree
        model of xgboost or scikit-learn, or the result of `cf.adopt`, has prices on its paths; any other classifier,
        another predictor than a stage tree, or a function of (n, features) that returns probabilities reads all its
        features. A function needs the names of its features. Fitted estimators of costframe are possible too, also this
        one. `clone` removes the fit of fitted estimators; scikit-learn's FrozenEstimator keeps it. The default is trees
        boosted without prices.
    """

    traits: ClassVar = Traits(searches_thresholds=True)

    costs: Any = None
    tradeoff: float | None = None
    expensive: Any = field(default=None, kw_only=True)
    class_weight: Any = field(default=None, kw_only=True)
    random_state: int = field(default=0, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)
    verbose: int = field(default=0, kw_only=True)

    @abstractmethod
    def _train(self, data: TrainingData, proba: F8 | None = None) -> StageTree:
        """Train with the expensive model's probabilities of training rows, if the user gives them."""

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
        made: Any = None,
        made_val: Any = None,
        expensive_proba: ArrayLike | None = None,
        client: Any = None,
    ) -> Self:
        """Train on rows and labels.

        Parameters
        ----------
        X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val, made, made_val, client
            As for every estimator; without validation data, it holds out training rows for its choices.
        expensive_proba : float64 (n,) of class 1, or (n, M), optional
            The expensive model's probabilities of the rows of X, out of fold.

        Raises
        ------
        CostframeError
            A ValueError that names the wrong argument.
        """
        if client is not None or is_dask(X):
            self._refuse_records(made, made_val)
            train = {"X": X, "y": y, "sample_weight": sample_weight, "qid": qid, "expensive_proba": expensive_proba}
            valid = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val, "qid_val": qid_val}
            fit_on_cluster(self, client, train, valid)
            return self
        data = self.training_data(
            X, y, sample_weight, X_val=X_val, y_val=y_val, sample_weight_val=sample_weight_val, qid=qid,
            qid_val=qid_val, made=made, made_val=made_val,
        )  # fmt: skip
        self._check_copies(expensive_proba, data)
        proba = self._read_proba(expensive_proba, sample_weight, len(np.asarray(y)))
        self._keep(self._train(data, proba), data.costs, data.train)
        return self

    @restore_on_error
    def fit_path(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        expensive_proba: ArrayLike | None = None,
        tradeoffs: Sequence[float] | None = None,
        full_shares: Sequence[float | None] | None = None,
        scoring: Any = None,
        progress: Callable[[float], None] | None = None,
        **others: Unpack[FitRows],
    ) -> DeferredPath:
        """Fit a grid over tradeoffs and shares, and return all non-dominated models.

        All fits share the expensive model and its out-of-fold probabilities. The estimator becomes the best model at
        its own `tradeoff`.

        Parameters
        ----------
        X, y, sample_weight, expensive_proba, **others
            As for `fit`, with validation data.
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
        DeferredPath
            The key of a point is its `full_share`.

        Raises
        ------
        CostframeError
            As for `fit`; also if there are no validation data, or a parameter has no effect on a grid.
        """
        data = self.path_data(X, y, sample_weight, **others)
        self._check_copies(expensive_proba, data)
        proba = self._read_proba(expensive_proba, sample_weight, len(np.asarray(y)))
        path = self._sweep(data, proba, tradeoffs, full_shares, scoring, progress)
        return self._keep_path(path, path.predictor(path.at(data.tradeoff)), data)

    @abstractmethod
    def _sweep(
        self, data: TrainingData, proba: F8 | None, tradeoffs: Any, full_shares: Any, scoring: Any,
        progress: Callable[[float], None] | None,
    ) -> DeferredPath:  # fmt: skip
        """Train the grid on checked data with validation rows, and check its other arguments."""

    @property
    def _scores_are_chances(self) -> bool:
        """Whether an expensive model answers alone, with probabilities."""
        tree = behind_preparation(self.predictor_)
        return isinstance(tree, StageTree) and tree.links == ("identity",)

    def _find(self, data: TrainingData, n_threads: int, proba: F8 | None) -> FittedModel:
        """Find the expensive model, and its probabilities of all rows."""
        model, wanted = self.expensive if isinstance(self.expensive, tuple) else (self.expensive, None)
        seed = check_number("random_state", self.random_state, whole=True)
        columns = GivenColumns.choose(data.feature_names, wanted, "expensive", self._types)
        given = GivenModel(model, columns, proba, self.classes_, seed, hasattr(self, "feature_names_in_"))
        fitted = fit_default(given, data, n_threads) if model is None else given.fit(data)
        self.expensive_ = fitted.model
        self.expensive_predictor_ = self._of_columns(fitted.tree, data.costs)
        return fitted

    def _hold_out(
        self, data: TrainingData, n_threads: int, proba: F8 | None, *, paper: bool
    ) -> tuple[TrainingData, Rows, ExpensiveModel]:
        """Find the expensive model; return the data to train on, held-out rows, and the model on both."""
        return hold_out(data, self._find(data, n_threads, proba), n_threads, paper=paper)

    def _check_expensive(self, data: TrainingData) -> None:
        """Refuse a pair that is none, and labels and weights that are too large or too small."""
        data.train.check_sizes()
        if data.valid is not None:
            data.valid.check_sizes("_val")
        if isinstance(self.expensive, tuple) and (len(self.expensive) != 2 or self.expensive[0] is None):
            raise ParameterError(
                f"expensive: expected a model, or a model and its features, got {shown(self.expensive)}"
            )

    def _check_copies(self, proba: Any, data: TrainingData) -> None:
        """Refuse probabilities of rows that were completed, of which each copy has another."""
        if proba is not None and data.train.units is not None:
            raise ParameterError(
                "expensive_proba: expected None where tests were not made, as completed copies of a row differ; leave "
                "it out, so that the expensive model predicts them, or say made=True if empty cells are answers"
            )

    def _read_proba(self, proba: Any, sample_weight: Any, n_rows: int) -> F8 | None:
        """Check probabilities of training rows, and leave out rows of weight zero."""
        if proba is None:
            return None
        values = read_probabilities(proba, n_rows, len(self.classes_), "expensive_proba")
        return values[check_weights(sample_weight, n_rows, "sample_weight") > 0]
