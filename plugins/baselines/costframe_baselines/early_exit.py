"""Early exit: rows leave an additive model, trained or given, after its first trees."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve, field, fields_dict
from sklearn.utils.validation import check_is_fitted

from costframe.adoption.adopted import of_columns
from costframe.adoption.given.classifiers import check_classes
from costframe.core.checks import resolve
from costframe.core.errors import BankError, DataError, ParameterError
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, apply_link, squeeze
from costframe.core.tables.rows import check_queries
from costframe.gates.composite import Predictions
from costframe.training.estimator import CostAwareClassifier
from costframe.training.model_path import DeferredPath
from costframe.training.row_reader import unfrozen
from costframe.training.sampling import split_off
from costframe.training.scoring import ndcg_at_5
from costframe.trees.boosting.losses import loss_for
from costframe.trees.boosting.ranking import LambdaRankLoss
from costframe.trees.estimator import BoostedRanker
from costframe.trees.settings import TreeSettings
from costframe_baselines.boosting import PlainBoosting
from costframe_baselines.exit_predictors import ConfidenceExits
from costframe_baselines.exits import (
    EVERY_ROW,
    ExitPoint,
    Exits,
    ExitTable,
    check_labels,
    confidence,
    confidence_exits,
    confidence_tree,
)
from costframe_baselines.proximity import proximity_exits, tried_proximities
from costframe_baselines.query_exits import ProximityExits, rank_by_exit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from costframe.core.cost.expected import CostReport
    from costframe.core.predictors.predictor import Predictor
    from costframe.training.data import Rows, TrainingData
    from costframe.trees.annealing.annealed import Annealing

__all__ = ["EarlyExitClassifier", "EarlyExitRanker"]

_EVERY = 10
_TRIED = 40  # thresholds
_LIMITS = {"max_cost", "unavailable"}
_OF_COST = _LIMITS | {"acquisition", "sample_weight", "rounds"}
_UNTOUCHED = {"random_state", "n_threads", "verbose"}  # settings that are never refused


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class _EarlyExit(PlainBoosting):
    """Common settings, and the choice of the threshold."""

    model: Any = field(default=None, kw_only=True)
    threshold: float | None = field(default=None, kw_only=True)
    n_trees_per_exit: int | None = field(default=None, kw_only=True)

    @abstractmethod
    def _predictor(self, exits: Exits, threshold: float) -> Predictor:
        """Return the model at a threshold."""

    @abstractmethod
    def _exits_at(self, table: ExitTable, threshold: float) -> NDArray[np.int64]:
        """Return the exit of each row of a table: int64 (n,)."""

    @abstractmethod
    def _tried(self, table: ExitTable) -> NDArray[np.float64]:
        """Return finite thresholds to try, ascending."""

    @abstractmethod
    def _measure(self, table: ExitTable, exits: NDArray[np.int64], link: str) -> tuple[float, NDArray[np.float64]]:
        """Return the mean loss and the predictions of rows that leave at these exits."""

    def _train(self, data: TrainingData) -> Predictor:
        threshold, every = resolve("threshold", self.threshold, None), self._every()
        trained, held = (data, None) if threshold is not None else split_off(data)
        exits = Exits.of(self._additive_model(trained), every)
        if held is not None:
            points, tradeoff = self._points(exits, held if self.model is None else _held(data), data), self.tradeoff
            threshold = min(points, key=lambda point: point.total(float(tradeoff))).threshold
        self.threshold_ = float(threshold)
        return self._predictor(exits, self.threshold_)

    def _anneal(self, data: TrainingData, settings: TreeSettings, asked: Annealing) -> Any:
        """Make a point of every threshold."""
        given = {"tradeoffs": asked.limits is not None, "threshold": self.threshold is not None}
        given["look_ahead"] = not asked.look_ahead
        for name in filter(given.get, given):
            raise ParameterError(f"{name}: has no effect on the thresholds of a path")
        settings = evolve(settings, n_estimators=asked.annealer.most_rounds)
        exits = Exits.of(self._additive_model(data, settings), self._every())
        points = self._points(exits, _held(data), data, asked.annealer.score)[::-1]
        self.threshold_ = min(points, key=lambda point: point.total(float(self.tradeoff))).threshold
        makers = tuple(lambda point=point: self._predictor(exits, point.threshold) for point in points)
        if asked.progress is not None:
            asked.progress(1.0)
        return DeferredPath(tuple(points), makers, data.costs)

    def _points(self, exits: Exits, held: Rows, data: TrainingData, score: Any = None) -> list[ExitPoint]:
        """Measure thresholds from the exit of every row to that of none."""
        table, link = ExitTable.of(exits, held, data.costs, self._settings(data).n_threads), exits.answer.link
        tried = self._tried(table)
        some = np.unique(np.linspace(0, len(tried) - 1, min(_TRIED, len(tried))).round().astype(np.int64))
        found = []
        for threshold in (EVERY_ROW, *tried[some].tolist(), np.inf):
            at = self._exits_at(table, threshold)
            loss, predictions = self._measure(table, at, link)
            value = -loss if score is None else score(Predictions(held, predictions))
            count = 0 if threshold == EVERY_ROW else exits.ends[-1]
            found.append(ExitPoint(threshold, count, 0.0, loss, table.mean_cost(at), value, table.batch(at)))
        return found

    def _every(self) -> int:
        return int(resolve("n_trees_per_exit", self.n_trees_per_exit, _EVERY, low=1, whole=True))

    def _additive_model(self, data: TrainingData, settings: TreeSettings | None = None) -> StageTree:
        """Return the given model over the data's columns, or boost one without prices."""
        if self.model is None:
            settings = self._settings(data) if settings is None else settings
            ensemble = self._grow(data.reading_only(self._column_sets(data, path=False)[0]), settings)
            self.n_iter_ = len(ensemble.rounds)
            tree = ensemble.finish(data.feature_names)
        else:
            self._refuse_tree_settings()
            tree = self._given(data)
            self.n_iter_ = len(tree.bank)
        return tree.with_categories({**tree.categories, **data.categories}).with_costs(data.costs)

    def _refuse_tree_settings(self) -> None:
        own = (set(fields_dict(TreeSettings)) | {"scoring", "objective"}) - _UNTOUCHED
        for name, value in self.get_params(deep=False).items():
            if name in own and value is not None:
                raise ParameterError(f"{name}: has no effect on a given model")

    def _given(self, data: TrainingData) -> StageTree:
        model = unfrozen(self.model)
        tree = model if isinstance(model, StageTree) else vars(model).get("predictor_") if _has_vars(model) else None
        if not isinstance(tree, StageTree) or len(tree.stages) > 1:
            raise ParameterError(
                "model: expected a fitted estimator of costframe, or a predictor as of cf.adopt, with one answer, got "
                f"{type(model).__name__}; `clone` removes a fit unless FrozenEstimator keeps it"
            )
        classes = getattr(self, "classes_", None)
        if classes is not None:
            check_classes(model, classes, "model")
        elif hasattr(model, "classes_"):
            raise ParameterError(f"model: expected one that ranks rows, got the classifier {type(model).__name__}")
        try:
            bank = of_columns(tree.bank, data.feature_names)
        except BankError as error:
            raise DataError(f"model: reads what X does not have: {error}") from error
        check_labels(tree, data.categories)
        return StageTree(bank, (self._log_odds(tree.stages[0], data.n_classes),))  # type: ignore[arg-type] # one answer

    def _log_odds(self, answer: Answer, n_classes: int) -> Answer:
        """Return the answer of a given model, with one score for two classes; refuse other outputs, and blends."""
        answer = answer.divided()
        if n_classes == 2 and answer.link == "softmax" and len(answer.intercept) == 2 and not answer.blends:
            (zero, one), constants = answer.weights.T, answer.intercept
            return Answer(answer.learners, one - zero, constants[1] - constants[0], "sigmoid")
        wanted = {0: ("identity", 1), 2: ("sigmoid", 1)}.get(n_classes, ("softmax", n_classes))
        if (answer.link, len(answer.intercept)) != wanted or answer.blends:
            raise ParameterError(
                f"model: expected a sum of learners with the link {wanted[0]!r} and {wanted[1]} output(s), as of "
                f"boosted trees, got {answer.link!r} and {len(answer.intercept)}"
            )
        return answer


def _has_vars(model: object) -> bool:
    return hasattr(model, "__dict__") and not isinstance(model, type)


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

    class_weight: Any = field(default=None, kw_only=True)
    most_classes_saved = 2

    def _predictor(self, exits: Exits, threshold: float) -> Predictor:
        if len(exits.answer.intercept) == 1 or abs(threshold) == np.inf:
            return confidence_tree(exits, threshold).with_costs(exits.tree.costs)
        return ConfidenceExits(exits, threshold)

    def _exits_at(self, table: ExitTable, threshold: float) -> NDArray[np.int64]:
        return confidence_exits(table.scores, threshold)

    def _tried(self, table: ExitTable) -> NDArray[np.float64]:
        found = confidence(table.scores[1:-1])
        return np.unique(np.append(found[np.isfinite(found)], 0.0))

    def _measure(self, table: ExitTable, exits: NDArray[np.int64], link: str) -> tuple[float, NDArray[np.float64]]:
        scores, rows = table.scores_at(exits), table.rows
        loss = loss_for(len(self.classes_)).for_rows(rows).mean(rows.y, scores, rows.weight)
        return loss, squeeze(apply_link(link, scores))


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

    most_classes_saved = 0

    def predict(self, X: Any, *, qid: ArrayLike | None = None, **limits: Any) -> NDArray[Any]:
        """Return scores that rank the rows of a query: float64 (rows,)."""
        check_is_fitted(self, "predictor_")
        if qid is None or not isinstance(self.predictor_, ProximityExits):
            return super().predict(X, **limits)
        self._terms({name: value for name, value in limits.items() if name not in _LIMITS})
        return self.predictor_.predict(self._read(X), qid=qid, **limits)

    def cost(self, X: Any, *, qid: ArrayLike | None = None, costs: object = None, **how: Any) -> CostReport:
        """Return the exact cost of predicting rows; see `CostAwareEstimator.cost`."""
        check_is_fitted(self, "predictor_")
        if qid is None or not isinstance(self.predictor_, ProximityExits):
            return super().cost(X, costs=costs, **how)
        self._terms({name: value for name, value in how.items() if name not in _OF_COST})
        return self.predictor_.cost(self._read(X), self.costs_ if costs is None else costs, qid=qid, **how)

    def score(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Return the mean NDCG@5 over queries, with gains 2^y - 1; without `qid` all rows are one query."""
        n_rows = len(self._read(X))
        queries = np.zeros(n_rows, np.int64) if qid is None else check_queries(qid, n_rows, "qid")
        return ndcg_at_5(self._encode(y, n_rows, "y", first=False), self.predict(X, qid=queries), None, queries)

    def _predictor(self, exits: Exits, threshold: float) -> Predictor:
        if threshold == EVERY_ROW:
            return exits.prefix(0).with_costs(exits.tree.costs)
        return ProximityExits(exits, threshold)

    def _exits_at(self, table: ExitTable, threshold: float) -> NDArray[np.int64]:
        return proximity_exits(table, threshold)

    def _tried(self, table: ExitTable) -> NDArray[np.float64]:
        return tried_proximities(table)

    def _measure(self, table: ExitTable, exits: NDArray[np.int64], link: str) -> tuple[float, NDArray[np.float64]]:
        del link
        rows, last = table.rows, len(table.scores) - 1
        ranks = rank_by_exit(table.scores_at(exits)[:, 0], exits, last)
        return LambdaRankLoss().for_rows(rows).mean(rows.y, ranks[:, np.newaxis], rows.weight), ranks
