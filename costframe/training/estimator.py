"""Base classes of estimators: classifiers, regressors and rankers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError, ParameterError, printable, shown
from costframe.core.stages.links import log_odds
from costframe.core.tables.categories import is_missing
from costframe.core.tables.partitions import by_partition
from costframe.core.tables.row_labels import check_queries, check_target
from costframe.core.terms.classes import both_classes, one_margin
from costframe.training.scoring import ndcg_at_5
from costframe.training.shell import CostAwareEstimator

LARGEST_GRADE = 100  # gains are 2^grade


class CostAwareClassifier(ClassifierMixin, CostAwareEstimator):  # type: ignore[misc]
    """Base of classifiers; labels become class codes 0..K-1, and the predictor gives probabilities.

    Methods that predict take `max_cost`, a hard cap on the cost of each row, and `unavailable`, names of unavailable
    features and resources, as for all estimators: rows that cannot go on get the best answer so far. A plan also
    accepts other `costs` and another `tradeoff`.

    Attributes
    ----------
    classes_ : ndarray (K,)
    """

    kind = "classifier"

    @property
    def _scores_are_chances(self) -> bool:
        """Whether the predictor's scores are probabilities; `decision_function` then gives their log odds."""
        return False

    @by_partition
    def predict_proba(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = (), **of_plan: Any
    ) -> F8:
        """Return class probabilities: float64 (rows, K)."""
        return both_classes(self._ask("predict", X, max_cost=max_cost, unavailable=unavailable, **of_plan))

    @by_partition
    def decision_function(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = (), **of_plan: Any
    ) -> F8:
        """Return scores: float64 (rows,) for two classes, else (rows, K)."""
        scores = one_margin(self._ask("decision_function", X, max_cost=max_cost, unavailable=unavailable, **of_plan))
        return log_odds(scores.reshape(len(scores), -1)).reshape(scores.shape) if self._scores_are_chances else scores

    @by_partition
    def predict(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = (), **of_plan: Any
    ) -> NDArray[Any]:
        """Return the class of each row: of least expected error cost where prices have errors, else the likeliest.

        Other `costs` decide by their errors.
        """
        check_is_fitted(self, "predictor_")
        return self._ask("labels", X, max_cost=max_cost, unavailable=unavailable, **of_plan)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def _encode(self, y: ArrayLike, n_rows: int, name: str, *, first: bool) -> I8:
        labels = np.asarray(y)
        if labels.dtype.kind == "f":
            check_target(labels, n_rows, name)
        elif labels.dtype.kind == "O" and labels.ndim == 1 and (missing := [*map(is_missing, labels)]).count(True):
            raise DataError(f"{name}: expected the class of each row, it is missing in row {missing.index(True)}")
        try:
            if len(labels):  # a worker may have none
                check_classification_targets(labels)
            classes, codes = np.unique(labels, return_inverse=True)
        except (TypeError, ValueError) as error:
            raise DataError(f"{name}: expected classes of one kind: {error}") from None
        if first:
            known = self._workers.gather(classes)
            self.classes_ = (
                classes if len(known) == 1 else np.unique(np.concatenate([some for some in known if len(some)]))
            )
            if len(self.classes_) < 2:
                raise DataError(f"{name}: expected at least two classes, got one class: {self.classes_.tolist()}")
            if len(known) == 1:
                return np.asarray(codes, np.int64)
        unknown = np.setdiff1d(classes, self.classes_)
        if len(unknown):
            raise DataError(f"{name}: has classes {unknown.tolist()} that the training labels do not have")
        return np.searchsorted(self.classes_, labels).astype(np.int64)

    def _class_weights(self, labels: NDArray[Any]) -> F8 | float:
        class_weight = getattr(self, "class_weight", None)
        if class_weight is None:
            return 1.0
        if not (isinstance(class_weight, Mapping) or (isinstance(class_weight, str) and class_weight == "balanced")):
            raise ParameterError(f"class_weight: expected None, 'balanced' or a dict, got {shown(class_weight)}")
        if not isinstance(class_weight, Mapping):
            counts = self._workers.sum(np.bincount(labels, minlength=len(self.classes_)))
            with np.errstate(divide="ignore"):
                balanced = counts.sum() / (np.count_nonzero(counts) * counts)
            return np.asarray(balanced[labels], np.float64)
        try:
            class_weights = compute_class_weight(class_weight, classes=self.classes_, y=self.classes_)
            weights: F8 = np.asarray(class_weights, np.float64)[labels]
        except (TypeError, ValueError) as error:
            raise ParameterError(f"class_weight: {printable(str(error))}") from None
        if not (np.isfinite(weights) & (weights > 0)).all():
            raise ParameterError(f"class_weight: expected finite numbers > 0, got {shown(class_weight)}")
        return weights


class CostAwareRegressor(RegressorMixin, CostAwareEstimator):  # type: ignore[misc]
    """Base of regressors."""

    kind = "regressor"

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))

    def _encode(self, y: ArrayLike, n_rows: int, name: str, *, first: bool) -> F8:
        del first
        return check_target(y, n_rows, name)


class CostAwareRanker(CostAwareEstimator):
    """Base of rankers: labels are grades >= 0, larger is better; scores order the rows of a query."""

    kind = "ranker"

    def score(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Return the mean NDCG@5 over queries, with gains 2^y - 1; without `qid` all rows are one query."""
        rows = self._read(X)
        queries = None if qid is None else check_queries(qid, len(rows), "qid")
        grades = self._encode(y, len(rows), "y", first=False)
        return ndcg_at_5(grades, self._ask("predict", rows), None, queries)

    def _encode(self, y: ArrayLike, n_rows: int, name: str, *, first: bool) -> F8:
        del first
        grades = check_target(y, n_rows, name)
        if (grades < 0).any() or (grades > LARGEST_GRADE).any():
            wrong = grades[(grades < 0) | (grades > LARGEST_GRADE)][0]
            raise DataError(f"{name}: expected grades from 0 to {LARGEST_GRADE}, got {wrong:g}")
        return grades

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
