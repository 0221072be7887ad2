"""The scikit-learn shell: estimators check what they are given, hand it to an algorithm, and keep its predictor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from costframe.core.costs import CostModel
from costframe.core.errors import CostModelError, DataError, DataTypeError, ParameterError
from costframe.core.predictor import StageTree
from costframe.core.scoring import ndcg_at_5
from costframe.core.stepped import SteppedPredictor
from costframe.core.tables import column_names, refuse_text
from costframe.core.training import Rows, TrainingData, check_number, check_target, check_weights

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.expected import CostReport
    from costframe.core.predictor import Predictor

__all__ = ["CostAwareClassifier", "CostAwareEstimator", "CostAwareRanker", "CostAwareRegressor"]

LARGEST_GRADE = 100  # gains are 2^grade
_PRICED = (StageTree, SteppedPredictor)  # predictors that carry prices of their own


class CostAwareEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """Base of all estimators; a subclass has an `__init__` with its parameters and a `_train`.

    Parameters every subclass has are `costs` (CostModel, or what makes one; None prices every feature at one) and
    `tradeoff` (loss accepted per unit of cost per row, >= 0).

    Attributes
    ----------
    predictor_ : Predictor
        The trained model, with its prices.
    costs_ : CostModel
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    costs: Any
    tradeoff: float
    _ranks = False

    @abstractmethod
    def _train(self, data: TrainingData) -> Predictor:
        """Train on checked data. May set further attributes that end in an underscore."""

    @abstractmethod
    def _encode(self, y: ArrayLike, n_rows: int, name: str, *, first: bool) -> NDArray[Any]:
        """Check labels and turn them into what `_train` gets; `first` is the training set, which may define classes."""

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
        """Train.

        Parameters
        ----------
        X : float64 (n, d), or data frame
            May hold NaN (missing) and infinities. Columns are matched to prices by name in a frame, else by position.
        y : (n,)
            Labels.
        sample_weight : float64 (n,), optional
            A weight of two is a row given twice; rows of weight zero are dropped.
        X_val, y_val, sample_weight_val
            Validation data, for early stopping and whatever else the algorithm chooses by it.
        qid, qid_val : (n,), optional
            Query of each row, for rankings.

        Raises
        ------
        CostframeError
            A ValueError that names what does not fit.
        """
        data = self._prepared(X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val)
        self._keep(self._train(data), data.costs)
        return self

    def _prepared(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        X_val: Any,
        y_val: ArrayLike | None,
        sample_weight_val: ArrayLike | None,
        qid: ArrayLike | None,
        qid_val: ArrayLike | None,
    ) -> TrainingData:
        """Check everything that `fit` is given."""
        check_number("tradeoff", self.tradeoff)
        for name, queries in (("qid", qid), ("qid_val", qid_val)):
            if queries is not None and not self._ranks:
                raise DataError(f"{name}: has no effect, only rankings have queries")
        X = self._checked(X, "X", reset=True)
        names = getattr(self, "feature_names_in_", None)
        costs = CostModel.of(self.costs, self._names(names))
        prices = costs.select(self._names(names, costs))
        if names is not None and len(costs.names) > len(names):
            unknown = [name for name in costs.names if name not in set(names)]
            raise CostModelError(f"costs: price {unknown} too, the data have no such columns but {list(names)}")
        train = self._rows(X, y, sample_weight, qid, "", first=True)
        valid = self._validation(X_val, y_val, sample_weight_val, qid_val)
        classes = len(self.classes_) if hasattr(self, "classes_") else 0
        return TrainingData(train, valid, costs, prices, classes)

    def _keep(self, predictor: Predictor, costs: CostModel) -> None:
        """Become the fitted estimator of a predictor."""
        self.costs_ = costs
        self.predictor_ = predictor.with_costs(costs) if isinstance(predictor, _PRICED) else predictor

    @property
    def bank_(self) -> Any:
        """The weak learners of the fitted predictor."""
        check_is_fitted(self, "predictor_")
        predictor: Any = self.predictor_
        return predictor.bank

    def cost(
        self, X: Any, *, acquisition: str = "path", sample_weight: ArrayLike | None = None, rounds: bool = False
    ) -> CostReport:
        """Say exactly what predicting these rows costs."""
        table = self._read(X)
        return self.predictor_.cost(
            table, self.costs_, acquisition=acquisition, sample_weight=sample_weight, rounds=rounds
        )

    def _names(self, names: Any, costs: CostModel | None = None) -> tuple[str, ...]:
        """Name X's columns: a frame's own names, else those of a cost model of as many features, else x0, x1, ..."""
        if names is not None:
            return tuple(str(name) for name in names)
        if costs is None:
            return tuple(f"x{f}" for f in range(self.n_features_in_))
        if len(costs.names) != self.n_features_in_:
            raise CostModelError(
                f"costs: price {len(costs.names)} features ({', '.join(costs.names[:6])}, ...), X has "
                f"{self.n_features_in_} columns without names; give a data frame, or as many columns as prices"
            )
        return costs.names

    def _read(self, X: Any) -> NDArray[np.float64]:
        """Check rows to predict; a frame's columns are put in the order of training."""
        check_is_fitted(self, "predictor_")
        return self._checked(self._in_training_order(X), "X", reset=False)

    def _checked(self, X: Any, name: str, *, reset: bool) -> NDArray[np.float64]:
        """Let scikit-learn check rows; what it refuses is a DataError that names them."""
        refuse_text(X, name)
        try:
            return np.asarray(validate_data(self, X, dtype=np.float64, ensure_all_finite=False, reset=reset))
        except TypeError as error:
            raise DataTypeError(f"{name}: {error}") from error
        except ValueError as error:
            raise DataError(f"{name}: {error}") from error

    def _in_training_order(self, X: Any) -> Any:
        """Put a frame's columns in the order of training; what lacks some is left for scikit-learn to refuse."""
        wanted, names = getattr(self, "feature_names_in_", None), column_names(X)
        return X[list(wanted)] if wanted is not None and names is not None and set(wanted) <= set(names) else X

    def _rows(
        self,
        X: NDArray[np.float64],
        y: ArrayLike,
        weight: ArrayLike | None,
        qid: ArrayLike | None,
        suffix: str,
        *,
        first: bool,
    ) -> Rows:
        if y is None:
            raise DataError(f"y{suffix}: requires y to be passed, but the target y is None")
        weights = check_weights(weight, len(X), f"sample_weight{suffix}")
        keep = weights > 0
        try:
            target = column_or_1d(y, warn=True)
        except ValueError as error:
            raise DataError(f"y{suffix}: {error}") from None
        if len(target) != len(X):
            raise DataError(f"y{suffix}: expected {len(X)} labels, one a row, got {len(target)}")
        labels = self._encode(target[keep], int(keep.sum()), f"y{suffix}", first=first)
        queries = None if qid is None else _queries(qid, len(X), f"qid{suffix}")[keep]
        weights = weights[keep] * self._class_weights(labels)
        return Rows(X[keep], labels, weights, queries)

    def _validation(self, X: Any, y: ArrayLike | None, weight: ArrayLike | None, qid: ArrayLike | None) -> Rows | None:
        if (X is None) != (y is None):
            raise DataError(
                f"validation data: expected both X_val and y_val, got only {'X_val' if y is None else 'y_val'}"
            )
        if X is None:
            for name, value in (("sample_weight_val", weight), ("qid_val", qid)):
                if value is not None:
                    raise DataError(f"{name}: has no effect without X_val and y_val")
            return None
        assert y is not None  # noqa: S101 - tested above
        rows = self._checked(self._in_training_order(X), "X_val", reset=False)
        return self._rows(rows, y, weight, qid, "_val", first=False)

    def _class_weights(self, labels: NDArray[Any]) -> NDArray[np.float64] | float:
        del labels
        return 1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


class CostAwareClassifier(ClassifierMixin, CostAwareEstimator):  # type: ignore[misc]
    """Base of classifiers; labels become class codes 0..K-1, and the predictor gives probabilities.

    Attributes
    ----------
    classes_ : ndarray (K,)
    """

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities: float64 (rows, K)."""
        rows = self._read(X)
        p = self.predictor_.predict(rows)
        return p if p.ndim == 2 else np.stack([1.0 - p, p], axis=1)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return scores: float64 (rows,) for two classes, else (rows, K)."""
        rows = self._read(X)
        scores = self.predictor_.decision_function(rows)
        return scores if len(self.classes_) > 2 or scores.ndim == 1 else scores[:, 1] - scores[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        rows = self._read(X)
        p = self.predictor_.predict(rows)
        return np.asarray(self.classes_[p.argmax(axis=1) if p.ndim == 2 else (p > 0.5).astype(np.int64)])

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy."""
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def _encode(self, y: ArrayLike, n_rows: int, name: str, *, first: bool) -> NDArray[np.int64]:
        labels = np.asarray(y)
        if labels.dtype.kind == "f":
            check_target(labels, n_rows, name)
        try:
            check_classification_targets(labels)
            found, codes = np.unique(labels, return_inverse=True)
        except (TypeError, ValueError) as error:
            raise DataError(f"{name}: expected classes of one kind: {error}") from None
        if first:
            self.classes_ = found
            if len(self.classes_) < 2:
                raise DataError(f"{name}: expected at least two classes, got one class: {self.classes_.tolist()}")
            return np.asarray(codes, np.int64)
        unknown = np.setdiff1d(found, self.classes_)
        if len(unknown):
            raise DataError(f"{name}: has classes {unknown.tolist()} that the training labels do not have")
        return np.searchsorted(self.classes_, labels).astype(np.int64)

    def _class_weights(self, labels: NDArray[Any]) -> NDArray[np.float64] | float:
        class_weight = getattr(self, "class_weight", None)
        if class_weight is None:
            return 1.0
        try:
            weights = np.asarray(compute_sample_weight(class_weight, self.classes_[labels]), np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"class_weight: {error}") from None
        if not (np.isfinite(weights) & (weights > 0)).all():
            raise ParameterError(f"class_weight: expected finite numbers > 0, got {class_weight!r}")
        return weights


class CostAwareRegressor(RegressorMixin, CostAwareEstimator):  # type: ignore[misc]
    """Base of regressors."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return predictions: float64 (rows,)."""
        rows = self._read(X)
        return self.predictor_.predict(rows)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination."""
        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))

    def _encode(self, y: ArrayLike, n_rows: int, name: str, *, first: bool) -> NDArray[np.float64]:
        del first
        return check_target(y, n_rows, name)


class CostAwareRanker(CostAwareEstimator):
    """Base of rankers: labels are grades >= 0, larger is better; scores order the rows of a query."""

    _ranks = True

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return scores: float64 (rows,)."""
        rows = self._read(X)
        return self.predictor_.predict(rows)

    def score(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Return the mean NDCG@5 over queries, with gains 2^y - 1; without `qid` all rows are one query."""
        rows = self._read(X)
        queries = None if qid is None else _queries(qid, len(rows), "qid")
        grades = self._encode(y, len(rows), "y", first=False)
        return ndcg_at_5(grades, self.predictor_.predict(rows), None, queries)

    def _encode(self, y: ArrayLike, n_rows: int, name: str, *, first: bool) -> NDArray[np.float64]:
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


def _queries(qid: ArrayLike, n_rows: int, name: str) -> NDArray[np.int64]:
    queries = np.asarray(qid)
    if queries.shape != (n_rows,):
        raise DataError(f"{name}: expected one query a row, shape ({n_rows},), got {queries.shape}")
    return np.unique(queries, return_inverse=True)[1].astype(np.int64)
