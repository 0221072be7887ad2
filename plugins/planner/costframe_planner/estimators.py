"""The planner's estimators: a classifier, a regressor and a ranker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from attrs import define, evolve, field, fields_dict
from numpy.typing import ArrayLike

from costframe.adoption import GivenBase
from costframe.plugin import (
    CostAwareClassifier,
    CostAwareEstimator,
    CostAwareRanker,
    CostAwareRegressor,
    ParameterError,
    PlannedPredictor,
    TrainingData,
    Traits,
    check_number,
    resolve,
    restore_on_error,
    track_share,
)
from costframe.trees import Annealing, Scorer, TreeSettings
from costframe_planner.path import PlannedPath, measure_path
from costframe_planner.planner import train_plain, train_planner
from costframe_planner.predictor import KeptPlan, make_single
from costframe_planner.problem import PlannerSettings, Problem

_OF_TREES = ("n_estimators", "learning_rate", "max_leaves")
_TRADEOFF = 1e-3  # without prices of errors
_USUAL = TreeSettings(l2_regularization=1.0)


@define(slots=False, eq=False, repr=False)  # writes __init__ only
class _Planner(CostAwareEstimator):
    """Common settings and training of all planners."""

    traits: ClassVar = Traits(
        takes_categories=True, searches_sets=True, trains_on_validation=True, plans_bills=True, prices_rounds=True
    )
    _rounds: ClassVar = 300

    costs: Any = None
    tradeoff: float | None = None
    categorical_features: Any = field(default=None, kw_only=True)
    base: Any = field(default=None, kw_only=True)
    n_estimators: int | None = field(default=None, kw_only=True)
    learning_rate: float | None = field(default=None, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)
    verbose: int = field(default=0, kw_only=True)
    random_state: int = field(default=0, kw_only=True)
    max_leaves: int | None = field(default=None, kw_only=True)
    min_samples_leaf: int | None = field(default=None, kw_only=True)
    l2_regularization: float | None = field(default=None, kw_only=True)
    max_bins: int | None = field(default=None, kw_only=True)
    n_sets: int | None = field(default=None, kw_only=True)
    max_tries: int | None = field(default=None, kw_only=True)

    @restore_on_error
    def fit_path(
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
        tradeoffs: tuple[float, float] | None = None,
        scoring: Any = None,
        progress: Callable[[float], None] | None = None,
    ) -> PlannedPath:
        """Train once, and return the models at many tradeoffs with their out-of-fold loss, cost and score.

        The estimator itself gets the best model at its own `tradeoff`.

        Parameters
        ----------
        X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val
            As for `fit`: it trains on the rows of both parts, and estimates scores out of fold.
        tradeoffs : (float, float), optional
            First and last tradeoff of a falling geometric sequence; by default from one at which rows buy nothing to
            one at which prices have no effect.
        scoring : "loss", name of a score, or callable, optional
            Score of points, higher is better; minus the loss by default.
        progress : callable, optional
            Called with the finished share, from 0 to 1.
        """
        data = self.training_data(
            X, y, sample_weight, X_val=X_val, y_val=y_val, sample_weight_val=sample_weight_val, qid=qid, qid_val=qid_val
        )
        limits = None if tradeoffs is None else Annealing.check_limits(tradeoffs)
        score, problem = Scorer.of(scoring), self._problem(data)
        with track_share("Planner", verbose=self.verbose) as shown:
            progress = progress or shown
            plan = KeptPlan.of(problem, train_planner(problem, data, progress, score), data)
            path = measure_path(plan, score, limits, progress)
        return self._keep_path(path, path.predictor_at(self._tradeoff_for(problem)), data)

    def _train(self, data: TrainingData) -> PlannedPredictor:
        problem = self._problem(data)
        tradeoff = self._tradeoff_for(problem)
        with track_share("Planner", verbose=self.verbose) as progress:
            if tradeoff == 0:  # prices have no effect, so a plan is useless
                return make_single(data, *train_plain(problem, data), problem)
            plan = KeptPlan.of(problem, train_planner(problem, data, progress), data)
            return measure_path(plan).predictor_at(tradeoff)

    def _problem(self, data: TrainingData) -> Problem:
        settings, base = self._settings(), None
        if self.base is not None:
            for name in _OF_TREES:
                if getattr(self, name) is not None:
                    raise ParameterError(f"{name}: is of boosted trees, and has no effect with a base; leave it out")
            seed, framed = self.random_state or 0, hasattr(self, "feature_names_in_")
            base = GivenBase.of(self.base, data, getattr(self, "classes_", None), seed, framed=framed)
        return Problem.of(data, settings, base, money=self.tradeoff is None)

    def _tradeoff_for(self, problem: Problem) -> float:
        if self.tradeoff is not None:
            return float(self.tradeoff)
        return _TRADEOFF if problem.stakes is None else 1.0

    def _settings(self) -> PlannerSettings:
        check_number("verbose", self.verbose, whole=True)
        given = {name: getattr(self, name) for name in fields_dict(TreeSettings) if hasattr(self, name)}
        trees = evolve(_USUAL, n_estimators=self._rounds).replaced(n_jobs=self.n_jobs, **given)
        tree_settings = {
            name: None if given[name] is None else getattr(trees, name)
            for name in ("learning_rate", "max_leaves", "min_samples_leaf")
        }
        return PlannerSettings(
            n_sets=resolve("n_sets", self.n_sets, 18, low=2, high=60, whole=True),
            max_tries=resolve("max_tries", self.max_tries, 150, low=1, whole=True),
            trees=trees,
            **tree_settings,
        )


@define(slots=False, eq=False, repr=False)
class PlannerClassifier(CostAwareClassifier, _Planner):
    """The planner for two classes (logistic loss) or more (softmax).

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices of features and resources, and once-prices; None prices every feature at one. It refuses prices of
        comparisons, learners and reuse.
    tradeoff : float, optional
        lambda, loss accepted per unit of cost per row; 0 answers all rows with the model of all features. By default it
        minimizes the bill where prices have errors, so that lambda is 1 and losses are in money; else 1e-3.
    categorical_features : list of str or int, bool (d,), or dict, optional
        Columns to split by categories, as for CEGB.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights.
    base : classifier, optional
        An unfitted scikit-learn classifier with class probabilities: each set has a copy of it, fitted on all rows and
        once without each fold. By default boosted trees.
    n_estimators : int, optional
        Largest number of rounds of each model; 300 by default.
    learning_rate : float, optional
        In (0, 1]; by default 0.08, with more than 5,000 rows or 500 features 0.2.
    n_jobs, verbose : int, optional
        Threads, all cores by default, which do not change the model; 1 shows a progress bar.
    random_state : int
        Seed of a base model with unset random states; the planner itself is deterministic.
    max_leaves, min_samples_leaf : int, optional
        Leaves of a tree, by default chosen out of fold; rows in a leaf, 5 by default, 20 with more than 2,500 rows.
    l2_regularization, max_bins : optional
        1, and 255 bins of a feature, by default. Quick fits, regressions of gains and models of more than 150 features
        use at most 63 bins.
    n_sets, max_tries : int, optional
        Largest number of sets of the front with a model, 18 by default, to which a third may come between these; and
        approximate number of sets to try by quick fits, 150 by default.

    Attributes
    ----------
    predictor_ : PlannedPredictor
        The model; its prediction accepts other prices, another tradeoff, and limits.
    classes_ : ndarray (K,)
    """

    class_weight: Any = field(default=None, kw_only=True)


class PlannerRegressor(CostAwareRegressor, _Planner):
    """The planner for numbers: squared loss.

    Parameters are those of `PlannerClassifier` without `class_weight`; `base` is a regressor.
    """


class PlannerRanker(CostAwareRanker, _Planner):
    """The planner for rankings: squared loss of grades; folds keep queries, given as `qid`, together.

    Parameters are those of `PlannerClassifier` without `class_weight`; `base` is a regressor, and trees have at most
    600 rounds and steps of 0.08.
    """

    _rounds: ClassVar = 600
