"""Early exit: rows leave a sum of learners, trained or given, before its end."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, evolve, field, fields_dict
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from costframe import Answer, CostframeError, CostReport, Predictor, StageTree
from costframe.adoption import check_model_classes, match_columns
from costframe.plugin import (
    F8,
    CostAwareClassifier,
    DataError,
    DeferredPath,
    ParameterError,
    PathPoint,
    Rows,
    Sampling,
    TrainingData,
    check_queries,
    resolve,
)
from costframe.trees import Annealing, BoostedRanker, HeldOutPredictions, LambdaRankLoss, TreeSettings
from costframe_baselines.boosting import PlainBoosting
from costframe_baselines.confidence_exits import ConfidenceExits
from costframe_baselines.exits import EVERY_ROW, ExitPredictor
from costframe_baselines.proximity_exits import ProximityExits

_EVERY = 10
_TRIED = 40  # thresholds
_UNTOUCHED = {"random_state", "n_threads", "verbose"}  # settings that are never refused


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class _EarlyExit(PlainBoosting):
    """Common settings, and the choice of the threshold."""

    model: Any = field(default=None, kw_only=True)
    threshold: float | None = field(default=None, kw_only=True)
    n_trees_per_exit: int | None = field(default=None, kw_only=True)

    _kind: ClassVar[type[ExitPredictor]]

    @abstractmethod
    def _mean_loss(self, data: TrainingData, held: Rows, scores: F8, ranks: F8) -> float:
        """Return the mean loss of rows with these scores at their exits, or these ranks."""

    def _train(self, data: TrainingData) -> Predictor:
        threshold = resolve("threshold", self.threshold, None)
        trained, held = (data, None) if threshold is not None else Sampling(data).split_off()
        exits = self._exits(trained)
        if held is not None:
            threshold = _best(self._points(exits, held if self.model is None else _held(data), data), data.tradeoff)
        self.threshold_ = float(threshold)
        return evolve(exits, threshold=self.threshold_).simplest()

    def _anneal(self, data: TrainingData, settings: TreeSettings, asked: Annealing) -> Any:
        """Make a point of every threshold."""
        given = {"tradeoffs": asked.limits is not None, "threshold": self.threshold is not None}
        given["look_ahead"] = not asked.look_ahead
        for name in filter(given.get, given):
            raise ParameterError(f"{name}: has no effect on the thresholds of a path")
        exits = self._exits(data, evolve(settings, n_estimators=asked.annealer.most_rounds))
        points = self._points(exits, _held(data), data, asked.annealer.score)[::-1]
        self.threshold_ = _best(points, data.tradeoff)
        makers = tuple(lambda at=point.key: evolve(exits, threshold=at).simplest() for point in points)
        if asked.progress is not None:
            asked.progress(1.0)
        return DeferredPath(tuple(points), makers, data.costs)

    def _points(self, exits: ExitPredictor, held: Rows, data: TrainingData, score: Any = None) -> list[PathPoint]:
        """Measure thresholds from the exit of every row to that of none; the core prices the learners of each exit."""
        everyone, n_jobs = np.arange(len(held)), self._settings(data).n_threads
        scores = np.array(
            [prefix.decision_function(held.X, n_jobs=n_jobs).reshape(len(held), -1) for prefix in exits.prefixes]
        )
        reports = [prefix.cost(held.X, data.costs, made=True) for prefix in exits.prefixes]
        prices = data.costs.select(exits.feature_names)
        cost, once = np.array([report.per_row for report in reports]), np.flatnonzero(prices.once)
        bought = np.array([np.asarray(report.acquired[:, once], np.bool_) for report in reports])
        rule: Any = exits.of_queries(held.qid)
        tried = rule.thresholds(scores)
        some = np.unique(np.linspace(0, len(tried) - 1, min(_TRIED, len(tried))).round().astype(np.int64))
        points = []
        for threshold in (EVERY_ROW, *tried[some].tolist(), np.inf):
            rule = evolve(rule, threshold=threshold)
            last_scores, at = rule.walk(lambda number, rows: scores[number, rows], len(held))
            predictions = rule.answers(last_scores, at)
            loss = self._mean_loss(data, held, last_scores, predictions)
            value = -loss if score is None else score(HeldOutPredictions(held, predictions))
            count = 0 if threshold == EVERY_ROW else exits.ends[-1]
            mean = float(np.average(cost[at, everyone], weights=held.weight))
            batch = float(bought[at, everyone].any(axis=0) @ prices.once[once]) / held.total_weight
            points.append(PathPoint(count, 0.0, loss, mean, value, key=threshold, objective_cost=mean + batch))
        return points

    def _exits(self, data: TrainingData, settings: TreeSettings | None = None) -> ExitPredictor:
        """Place exits in the given model over the data's columns, or in one boosted without prices."""
        every = int(resolve("n_trees_per_exit", self.n_trees_per_exit, _EVERY, low=1, whole=True))
        if self.model is None:
            settings = self._settings(data) if settings is None else settings
            ensemble = self._grow(data.reading_only(self._column_sets(data, path=False)[0]), settings)
            self.n_iter_ = len(ensemble.rounds)
            tree = ensemble.finish(data.feature_names)
        else:
            tree = self._given(data)
            self.n_iter_ = len(tree.bank)
        tree = tree.with_categories({**tree.categories, **data.categories}).with_costs(data.costs)
        return self._kind.of(tree, every)

    def _given(self, data: TrainingData) -> StageTree:
        settings = (set(fields_dict(TreeSettings)) | {"scoring", "objective"}) - _UNTOUCHED
        for name, value in self.get_params(deep=False).items():
            if name in settings and value is not None:
                raise ParameterError(f"{name}: has no effect on a given model")
        model = self.model.estimator if isinstance(self.model, FrozenEstimator) else self.model
        tree = model if isinstance(model, StageTree) else vars(model).get("predictor_") if _has_vars(model) else None
        if not isinstance(tree, StageTree) or len(tree.stages) > 1:
            raise ParameterError(
                "model: expected a fitted estimator of costframe, or a predictor as of cf.adopt, with one answer, got "
                f"{type(model).__name__}; `clone` removes a fit unless FrozenEstimator keeps it"
            )
        classes = getattr(self, "classes_", None)
        if classes is not None:
            check_model_classes(model, classes, "model")
        elif hasattr(model, "classes_"):
            raise ParameterError(f"model: expected one that ranks rows, got the classifier {type(model).__name__}")
        try:
            bank = match_columns(tree.bank, data.feature_names)
        except CostframeError as error:
            raise DataError(f"model: reads what X does not have: {error}") from error
        for name in sorted(set(tree.feature_names) & set(data.categories)):
            known, wanted = tree.categories.get(name, ()), data.categories[name]
            if known != wanted:
                in_model, in_rows = (
                    str(list(labels)) if isinstance(labels, tuple) else "by hashes" for labels in (known, wanted)
                )
                raise DataError(f"model: knows the categories {in_model} of {name!r}, expected those of X, {in_rows}")
        return StageTree(bank, (self._log_odds(tree.stages[0], data.n_classes),))  # type: ignore[arg-type] # one answer

    def _log_odds(self, answer: Answer, n_classes: int) -> Answer:
        """Return the answer of a given model, with one score for two classes; refuse other outputs, and blends."""
        answer = answer.divided()
        if n_classes == 2 and answer.link == "softmax" and len(answer.intercept) == 2 and not answer.blends:
            (zero, positive), constants = answer.weights.T, answer.intercept
            return Answer(answer.learners, positive - zero, constants[1] - constants[0], "sigmoid")
        wanted = {0: ("identity", 1), 2: ("sigmoid", 1)}.get(n_classes, ("softmax", n_classes))
        if (answer.link, len(answer.intercept)) != wanted or answer.blends:
            raise ParameterError(
                f"model: expected a sum of learners with the link {wanted[0]!r} and {wanted[1]} output(s), as of "
                f"boosted trees, got {answer.link!r} and {len(answer.intercept)}"
            )
        return answer


def _has_vars(model: object) -> bool:
    return hasattr(model, "__dict__") and not isinstance(model, type)


def _best(points: list[PathPoint], tradeoff: float) -> float:
    """Return the threshold with the least objective; of equal ones, later exits win."""
    return float(min(points, key=lambda point: (point.objective(tradeoff), -point.key)).key)


def _held(data: TrainingData) -> Rows:
    return data.train if data.valid is None else data.valid


@define(slots=False, eq=False, repr=False)
class EarlyExitClassifier(CostAwareClassifier, _EarlyExit):
    """Early exit by confidence: a row leaves as soon as the log odds of its likeliest class are large enough.

    Parameters are those of `BoostingClassifier`, for a model trained inside, and

    Parameters
    ----------
    model : fitted estimator of costframe, or StageTree, optional
        The additive model, of one answer in log odds; it is not trained again. `cf.adopt` makes one of boosted trees of
        other libraries. By default `fit` boosts trees without prices.
    threshold : float, optional
        Confidence above which a row leaves. By default that of the least loss + tradeoff * exact mean cost on held-out
        rows: validation rows, else a fifth of the rows, or with a given model all rows, which that model should not
        have seen.
    n_trees_per_exit : int, optional
        10 by default. For several classes a round of one tree a class counts as one.

    Attributes
    ----------
    predictor_ : StageTree, or ConfidenceExits for more than two classes
    threshold_ : float
        Infinite if no row leaves early, minus infinite if all leave before the first tree.
    n_iter_ : int
        Rounds of the model, or learners of a given one.
    classes_ : ndarray (K,)
    """

    _kind: ClassVar = ConfidenceExits
    traits: ClassVar = evolve(_EarlyExit.traits, most_classes_saved=2)

    class_weight: Any = field(default=None, kw_only=True)

    def _mean_loss(self, data: TrainingData, held: Rows, scores: F8, ranks: F8) -> float:
        del ranks
        return self._loss(data).for_rows(held).mean(held.y, scores, held.weight)


@define(slots=False, eq=False, repr=False)
class EarlyExitRanker(BoostedRanker, _EarlyExit):
    """Early exit by proximity: a row leaves when it scores too far below the fifth best of its query.

    At exit i of E, rows leave that score at least (E - i) s / (E - 1) below the fifth best of their query among those
    still there. They keep their score, and rank below all that leave later. `predict`, `score` and `cost` take `qid`;
    without it, a row is a query of its own, and stays. Parameters are those of `BoostingRanker`, for a model trained
    inside, and

    Parameters
    ----------
    model, n_trees_per_exit
        As for `EarlyExitClassifier`.
    threshold : float, optional
        s. By default that of the least 1 - NDCG at 30 + tradeoff * exact mean cost on held-out queries.

    Attributes
    ----------
    predictor_ : ProximityExits, or StageTree for a constant
    threshold_ : float
        As for `EarlyExitClassifier`.
    """

    _kind: ClassVar = ProximityExits
    traits: ClassVar = evolve(_EarlyExit.traits, most_classes_saved=0)

    def _of_queries(self, qid: ArrayLike | None) -> Self:
        """Return the estimator for rows of these queries, if its rows leave by them."""
        check_is_fitted(self, "predictor_")
        other = copy(self)
        other.predictor_ = self.predictor_.of_queries(qid)
        return other

    def predict(self, X: Any, *, qid: ArrayLike | None = None, **asked: Any) -> NDArray[Any]:
        """Return scores that rank the rows of a query: float64 (rows,)."""
        return super(EarlyExitRanker, self._of_queries(qid)).predict(X, **asked)

    def cost(self, X: Any, y_or_costs: Any = None, *, qid: ArrayLike | None = None, **how: Any) -> CostReport:
        """Return the exact cost of predicting rows; see `CostAwareEstimator.cost`."""
        return super(EarlyExitRanker, self._of_queries(qid)).cost(X, y_or_costs, **how)

    def score(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Return the mean NDCG@5 over queries, with gains 2^y - 1; without `qid` all rows are one query."""
        n_rows = len(self._read(X))
        queries = np.zeros(n_rows, np.int64) if qid is None else check_queries(qid, n_rows, "qid")
        return super(EarlyExitRanker, self._of_queries(queries)).score(X, y, queries)

    def _mean_loss(self, data: TrainingData, held: Rows, scores: F8, ranks: F8) -> float:
        del data, scores
        return LambdaRankLoss().for_rows(held).mean(held.y, ranks[:, np.newaxis], held.weight)
