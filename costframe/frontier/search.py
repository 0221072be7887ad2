"""Search of the best model under a budget, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from costframe.core.errors import ParameterError
from costframe.frontier.checks import check_amounts, check_searched, check_share, choose_score
from costframe.frontier.frontier import Frontier
from costframe.frontier.points import UselessBudgetWarning, describe_useless_budget
from costframe.frontier.rows import Rows, folds_of
from costframe.frontier.tradeoffs import fit_all
from costframe.frontier.trial import Trial, silent
from costframe.training.shell import restore_on_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.cost.expected import CostReport
    from costframe.core.predictors.predictor import Predictor

__all__ = ["BudgetSearch"]


def _has(method: str) -> Callable[[Any], bool]:
    """Return a check that a search's estimator has a method."""
    return lambda search: hasattr(search.estimator, method)


class BudgetSearch(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A search over tradeoffs that keeps the best model whose mean cost per row stays within a budget.

    Of models whose scores differ by less than the standard error, it keeps the cheapest.

    Parameters
    ----------
    estimator : estimator of costframe
        The search varies its `tradeoff`.
    budget : float
        Upper bound on the mean cost per row of the validation rows, in the cost model's unit, without once-per-batch
        prices.
    tradeoffs : sequence of float, optional
        First tradeoffs. By default one fit of an estimator with `fit_path` gives all models; other estimators begin at
        0 and a grid in units of (loss of the best constant) / (cost of all features).
    points : int, optional
        Largest number of points of a path to keep beside the chosen one, 24 by default; or number of first tradeoffs,
        12 by default. From first tradeoffs a bisection approaches the budget. At most two fits within sets of features
        follow if these promise more within the budget.
    scoring : str, optional
        A score of the task: "accuracy", "roc_auc", "average_precision", "f1", "log_loss"; "r2", "rmse"; "ndcg@k",
        "precision@k", "average_precision@k" for any k (`costframe.training.query_scores.QueryScore`). Higher is better,
        so log loss and RMSE are negative. By default ROC AUC for two classes, accuracy for more, R^2, NDCG@5.
    folds : int, optional
        Number of folds of all rows for estimates of scores, as for `Frontier.sweep`; 0 uses validation rows alone.
    validation_fraction : float
        Share of the rows (of the queries of a ranking) to hold out if `fit` gets no X_val.
    random_state : int
        Seed of that choice.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    best_estimator_ : estimator
    predictor_ : Predictor
        Trained model of the best estimator.
    frontier_ : Frontier
        All fitted models, with estimates.
    best_point_ : Point
    """

    def __init__(
        self,
        estimator: Any,
        budget: float,
        *,
        tradeoffs: Sequence[float] | None = None,
        points: int | None = None,
        scoring: str | None = None,
        folds: int | None = None,
        validation_fraction: float = 0.25,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.budget = budget
        self.tradeoffs = tradeoffs
        self.points = points
        self.scoring = scoring
        self.folds = folds
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

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
    ) -> Self:
        """Search; takes the arguments of the estimator's own `fit`.

        It warns (`UselessBudgetWarning`) if no model within the budget beats a constant by more than the error.

        Raises
        ------
        ParameterError
            If no model is within the budget; the text names the cheapest.
        """
        if self.budget is None:
            raise ParameterError("budget: expected a number >= 0, got None")
        check_amounts(self.tradeoffs, self.budget)
        check_searched(self.estimator)
        if (X_val is None) != (y_val is None):
            raise ParameterError("X_val and y_val: expected both or neither")
        train, classes = Rows.of(X, y, sample_weight, qid), self._kind == "classifier"
        if X_val is None:
            for name, values in (("sample_weight_val", sample_weight_val), ("qid_val", qid_val)):
                if values is not None:
                    raise ParameterError(f"{name}: has no effect without X_val and y_val")
            check_share("validation_fraction", self.validation_fraction)
            train, valid = train.hold_out(self.validation_fraction, self.random_state, classes=classes)
        else:
            valid = Rows.of(X_val, y_val, sample_weight_val, qid_val, "_val")
        folds = folds_of(train, valid, self.folds, classes=classes)
        name, repeated = type(self.estimator).__name__, self.folds is not None
        score = self._score(train)
        trial = Trial(name, self._make, train, valid, None, score, folds=folds, fits_repeat=repeated)
        self._choose(trial)
        return self

    def predict(self, X: Any, **limits: Any) -> NDArray[Any]:
        """Predict with the chosen model; all predicting methods take the model's `max_cost` and `unavailable`."""
        return np.asarray(self._chosen().predict(X, **limits))

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **limits: Any) -> NDArray[np.float64]:
        """Return the chosen model's class probabilities."""
        return np.asarray(self._chosen().predict_proba(X, **limits))

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, **limits: Any) -> NDArray[np.float64]:
        """Return the chosen model's scores."""
        return np.asarray(self._chosen().decision_function(X, **limits))

    def score(self, X: Any, y: ArrayLike, **given: Any) -> float:
        """Return the chosen model's own score; takes the arguments of the estimator's `score`."""
        return float(self._chosen().score(X, y, **given))

    def cost(self, X: Any, **given: Any) -> CostReport:
        """Return the exact cost of predicting rows."""
        report: CostReport = self._chosen().cost(X, **given)
        return report

    @property
    def predictor_(self) -> Predictor:
        """The chosen model's predictor."""
        predictor: Predictor = self._chosen().predictor_
        return predictor

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels of a classifier."""
        return np.asarray(self._chosen().classes_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns, if the training data had names."""
        return np.asarray(self._chosen().feature_names_in_)

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return int(self._chosen().n_features_in_)

    def _chosen(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def _make(self, tradeoff: float) -> Any:
        return clone(self.estimator).set_params(tradeoff=tradeoff)

    def _choose(self, trial: Trial) -> None:
        from costframe.report.console import show_progress

        with show_progress(silent if not self.verbose else None) as progress:
            found = fit_all(trial, self.tradeoffs, self.points, self.budget, progress)
        costs, names = found[0].model.costs_, found[0].model.predictor_.feature_names
        self.frontier_ = Frontier.of(found, trial.score, costs.unit, costs.full_cost(names))
        self.best_point_ = self.frontier_.within(self.budget)
        if text := describe_useless_budget(self.frontier_, self.best_point_, self.budget):
            warnings.warn(text, UselessBudgetWarning, stacklevel=4)
        self.best_estimator_ = self.frontier_.model(self.best_point_)

    def _score(self, train: Rows) -> str:
        classes = len(np.unique(np.asarray(train.y))) if self._kind == "classifier" else 0
        task = {"classifier": "classification", "regressor": "regression"}.get(str(self._kind), "ranking")
        return choose_score("scoring", self.scoring, task, max(classes, 2) if task == "classification" else 0)

    @property
    def _kind(self) -> str | None:
        kind: str | None = get_tags(self.estimator).estimator_type
        return kind

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags", "input_tags"):
            setattr(tags, name, getattr(inner, name))
        return tags
