"""Search of the best model under a budget, as a scikit-learn estimator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from costframe.choices.buys import Buy, next_buys
from costframe.choices.figures import describe_worth, figures_of
from costframe.choices.frontier import Frontier
from costframe.choices.promised import check_promised, hold_out_for_promise
from costframe.choices.sentences import describe_useless_budget, wording_of
from costframe.choices.untested import refuse_untested
from costframe.core.arrays import F8
from costframe.core.callers import warn_caller
from costframe.core.checks import check_choice, check_number, needed
from costframe.core.cost.expected import CostReport
from costframe.core.display import format_cost
from costframe.core.errors import ParameterError, printable, shown
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.predictor import Predictor
from costframe.promises.promise import as_promises
from costframe.study.candidates import candidates_of
from costframe.study.common_prices import common_prices
from costframe.study.division import StudyData
from costframe.study.fit_estimators import fit_estimators
from costframe.study.progress import Progress as ProgressCallback
from costframe.study.progress import silent
from costframe.study.rows import StudyRows
from costframe.study.score_choice import TASK_OF
from costframe.study.settings import StudyPlan, StudySettings
from costframe.training.scoring import score_named
from costframe.training.shell import restore_on_error

MOST_BUYS = 3  # that a search names


def _models(estimator: Any) -> list[Any]:
    """Return the estimators of a search, without fitted models."""
    given = estimator.values() if isinstance(estimator, Mapping) else estimator
    models = list(given) if isinstance(estimator, Mapping | list | tuple) else [estimator]
    return [model for model in models if hasattr(model, "fit")]


def _has(method: str) -> Callable[[Any], bool]:
    """Return a check that a search's estimators have a method."""
    return lambda search: all(hasattr(model, method) for model in _models(search.estimator))


def _show_progress() -> AbstractContextManager[ProgressCallback]:
    needed("rich", "cli")
    from costframe.training.console import show_plan_and_progress

    return show_plan_and_progress()


class UselessBudgetWarning(UserWarning):
    """Warning: no model within a budget beats a constant by more than the error."""


class BudgetSearch(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A search over estimators and tradeoffs that keeps the best model whose mean cost per row is within a budget.

    Of models whose scores differ by less than the standard error, it keeps the cheapest. If no fit is near the
    budget, it may keep a mixture of two; see `MixedPredictor`.

    Parameters
    ----------
    estimator : estimator of costframe, or a list of estimators, or a mapping of labels to them
        The search varies the `tradeoff` of each; the others in a list are those of `Frontier.fit`.
    budget : float
        Upper bound on the mean cost per row of the validation rows, in the cost model's unit, without once-per-batch
        prices. It may be None with `minimize`.
    minimize : "bill", optional
        Choose by the bill, of cost and errors, as `Frontier.recommended` does; prices must have errors. Where they
        have, and there is no `scoring`, it is the default.
    promise : Promise, text, or list of them, optional
        Keep the cheapest model that is certified to keep all, such as "recall(ill) >= 0.95", in place of a budget; see
        `Promise`. It may be a cascade of two.
    promise_fraction : float
        Share of the rows, or groups, that certify the promise if `fit` gets no X_promise. They are held out before
        anything is fitted.
    tradeoffs : sequence of float, optional
        First tradeoffs. By default one fit of an estimator with `fit_path` gives all models; other estimators begin at
        0 and a grid in units of (loss of the best constant) / (cost of all features).
    points : int, optional
        Largest number of points of a path to keep beside the chosen one, 24 by default; or number of first tradeoffs,
        12 by default. From first tradeoffs a bisection approaches the budget. At most two fits within sets of features
        follow if these promise more within the budget.
    scoring : str or callable, optional
        A score of the task: "accuracy", "roc_auc", "average_precision", "f1", "log_loss"; "r2", "rmse"; "ndcg@k",
        "precision@k", "average_precision@k" for any k (`costframe.training.query_scores.QueryScore`); or another name
        in `sklearn.metrics.get_scorer_names()` that needs only labels and predictions. Higher is better, so log loss
        and RMSE are negative. Also a scorer of scikit-learn (`make_scorer`), a metric function of (y_true, y_pred), or
        a function of (estimator, X, y) that only asks for predictions; not for rankings. By default ROC AUC for two
        classes, accuracy for more, R^2, NDCG@5.
    cv : int or splitter of scikit-learn, optional
        Number of folds of all rows for estimates of scores, as `cv` of `Frontier.sweep`; 0 uses validation rows alone.
        A splitter holds out each row of X (then X_val) once; another part in turn stops the training.
    validation_fraction : float
        Share of the rows (of the queries of a ranking) to hold out if `fit` gets no X_val.
    random_state : int
        Seed of that choice.
    n_jobs : int, optional
        Number of estimators to search side by side, by joblib, as for `Frontier.fit`.
    time_limit : float, optional
        Seconds after which the search chooses among the fits that have ended; see `Frontier.fit`, also for how long it
        takes without one.
    verbose : int
        1 shows the plan, and a progress bar with the time left.

    Attributes
    ----------
    best_estimator_ : estimator
    predictor_ : Predictor
        Trained model of the best estimator.
    frontier_ : Frontier
        All fitted models, with estimates; `frontier_.to_frame()` is a table of them.
    best_point_ : Point or None
        None for a cascade, which a promise may choose.
    certified_ : Certified
        With a promise: what the choice rests on.
    margin_ : float
        The budget minus the mean cost of the chosen model; infinite without a budget.
    next_buys_ : tuple of Buy
        What a larger budget would buy, by ascending cost; the text of each is a sentence.
    """

    def __init__(
        self,
        estimator: Any,
        budget: float | None = None,
        *,
        minimize: str | None = None,
        promise: Any = None,
        promise_fraction: float = 0.25,
        tradeoffs: Sequence[float] | None = None,
        points: int | None = None,
        scoring: Any = None,
        cv: Any = None,
        validation_fraction: float = 0.25,
        random_state: int = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.budget = budget
        self.minimize = minimize
        self.promise = promise
        self.promise_fraction = promise_fraction
        self.tradeoffs = tradeoffs
        self.points = points
        self.scoring = scoring
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
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
        groups: ArrayLike | None = None,
        groups_val: ArrayLike | None = None,
        made: Any = None,
        made_val: Any = None,
        X_promise: Any = None,
        y_promise: ArrayLike | None = None,
        groups_promise: ArrayLike | None = None,
        made_promise: Any = None,
    ) -> Self:
        """Search; takes the arguments of the estimator's own `fit`, and `groups` as `Frontier.fit`.

        X_promise, y_promise and groups_promise are labelled rows that certify a promise, in which all tests were made.

        It warns (`UselessBudgetWarning`) if no model within the budget beats a constant by more than the error.

        Raises
        ------
        ParameterError
            If no model is within the budget; the text names the cheapest.
        """
        settings = self._check_settings()
        of_promise = X_promise, y_promise, groups_promise, made_promise
        if self.promise is None and any(given is not None for given in of_promise):
            raise ParameterError("X_promise: has no effect without a promise")
        rows = StudyData(
            StudyRows.of(X, y, sample_weight, qid, groups=groups, made=made),
            StudyRows.if_any(X_val, y_val, sample_weight_val, qid_val, "_val", groups_val, made_val),
        )
        held = StudyRows.if_any(X_promise, y_promise, None, None, "_promise", groups_promise, made_promise)
        if self.promise is not None:
            rows, held = self._hold_out(rows, held)
        with _show_progress() if self.verbose else nullcontext(silent) as progress:
            result = fit_estimators(self.estimator, rows, None, settings, progress=progress, failed=None)
        self.frontier_ = Frontier.of(result)
        if self.minimize and not self.frontier_.has_bills:
            raise ParameterError("minimize: the bill needs prices with errors; see `CostModel.of`")
        return self._keep_best() if held is None or rows.valid is None else self._keep_promise(held, rows.valid)

    def _check_settings(self) -> StudySettings:
        """Return the settings of the comparison; refuse wrong parameters of the search."""
        check_choice("minimize", self.minimize, ("bill", None))
        check_number("verbose", self.verbose, whole=True)
        if self.minimize and self.scoring is not None:
            raise ParameterError("scoring: has no effect on the bill; leave it out, or minimize")
        if not isinstance(self.estimator, Mapping | list | tuple):
            check_searched(self.estimator)
        if self.promise is not None and (self.budget is not None or self.minimize):
            raise ParameterError("promise: is kept at the least cost; leave out budget and minimize")
        if self.budget is None and not self.minimize and self.promise is None:
            raise ParameterError("budget: expected a number >= 0, got None")
        return StudySettings(
            plan=StudyPlan(self.tradeoffs, self.points, self.budget),
            scoring=self.scoring,
            cv=self.cv,
            validation_fraction=self.validation_fraction,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            time_limit=self.time_limit,
        )

    def _hold_out(self, rows: StudyData, held: StudyRows | None) -> tuple[StudyData, StudyRows]:
        """Return rows for the search, and those that certify the promise; refuse promises that these have not."""
        promises = as_promises(self.promise)
        if any(part is not None and part.weight is not None for part in (rows.train, rows.valid)):
            raise ParameterError("sample_weight: a promise counts each row once; leave out weights")
        task = get_tags(_models(self.estimator)[0]).estimator_type
        shares = self.promise_fraction, self.validation_fraction
        rows, held = hold_out_for_promise(rows, held, shares, self.random_state, classes=task == "classifier")
        check_promised(promises, held, TASK_OF.get(task, "ranking"), has_bills=True)
        prices = common_prices(None, candidates_of(self.estimator), rows.train.X)
        refuse_untested(held, prices.costs.panels, prices.names)
        return rows, held

    def _keep_promise(self, held: StudyRows, valid: StudyRows) -> Self:
        """Set the fitted attributes for the cheapest model that is certified on rows that nothing chose by."""
        rows = {"X": held.X, "y": held.y, "groups": held.groups, "made": held.made}
        plan = valid.X, valid.y, valid.groups
        self.certified_ = self.frontier_.cheapest(promise=self.promise, plan=plan, **rows)
        self.best_point_, self.best_estimator_ = self.certified_.point, self.certified_.model
        self.margin_ = math.inf
        self.next_buys_: tuple[Buy, ...] = ()
        return self

    def _keep_best(self) -> Self:
        """Set the fitted attributes for the recommended point."""
        self.best_point_ = self.frontier_.recommended(self.budget)
        if text := describe_useless_budget(self.frontier_, self.best_point_, self.budget):
            warn_caller(text, UselessBudgetWarning)
        self.best_estimator_ = self.frontier_.model(self.best_point_)
        self.margin_ = math.inf if self.budget is None else self.budget - self.best_point_.cost
        self.next_buys_ = next_buys(self.frontier_, self.best_point_, MOST_BUYS)
        return self

    @property
    def summary_(self) -> str:
        """Sentences on the chosen model, its margin, and what a larger budget would buy."""
        check_is_fitted(self, "best_point_")
        if self.promise is not None:
            return str(self.certified_)
        point, frontier = self.best_point_, self.frontier_
        worth, (paid,) = describe_worth(frontier, point, "in brief"), figures_of(frontier, point, "cost in brief")
        margin = f"{point.name}: {worth} at {paid} {frontier.unit} per row, both estimates"
        margin += f", {format_cost(self.margin_)} below the budget" if math.isfinite(self.margin_) else ""
        seems = wording_of(frontier).in_records(point)
        return "\n".join([printable(margin), *([seems] if seems else []), *map(str, self.next_buys_)])

    def predict(self, X: Any, **limits: Any) -> NDArray[Any]:
        """Predict with the chosen model; all predicting methods take the model's limits."""
        return np.asarray(self._chosen().predict(X, **limits))

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **limits: Any) -> F8:
        """Return the chosen model's class probabilities."""
        return np.asarray(self._chosen().predict_proba(X, **limits))

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, **limits: Any) -> F8:
        """Return the chosen model's scores."""
        return np.asarray(self._chosen().decision_function(X, **limits))

    def score(self, X: Any, y: ArrayLike, **given: Any) -> float:
        """Return the chosen model's own score, of an adopted one accuracy, R^2 or NDCG@5; takes weights or `qid`."""
        chosen = self._chosen()
        if not isinstance(chosen, FittedEstimator):
            return float(chosen.score(X, y, **given))
        rows = StudyRows.of(X, y, given.get("sample_weight"), given.get("qid"))
        name = {"classifier": "accuracy", "regressor": "r2", "ranker": "ndcg@5"}[chosen.kind]
        predictions = chosen.predictor_.predict(X)
        return float(score_named(name)(rows.codes(chosen), predictions, rows.weight, rows.qid))

    def cost(self, X: Any, y_or_costs: Any = None, **given: Any) -> CostReport:
        """Return the exact cost of predicting rows, with labels also that of errors; see `Predictor.cost`."""
        report: CostReport = self._chosen().cost(X, y_or_costs, **given)
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

    def __sklearn_tags__(self) -> Any:
        tags, models = super().__sklearn_tags__(), _models(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags", "input_tags"):
            setattr(tags, name, getattr(get_tags(models[0]), name))
        return tags


def check_searched(estimator: Any) -> None:
    """Refuse an object that is not an estimator with a tradeoff."""
    expected = "estimator: expected one of costframe's, with a tradeoff"
    if isinstance(estimator, type):
        raise ParameterError(f"{expected}, got the class {estimator.__name__}; call it")
    if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise ParameterError(f"{expected}, got {shown(estimator)}")
    if "tradeoff" not in estimator.get_params(deep=False):
        raise ParameterError(f"{expected}, {type(estimator).__name__} has none")
