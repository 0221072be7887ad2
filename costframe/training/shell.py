"""The scikit-learn shell: estimators check what they are given, hand it to an algorithm, and keep its predictor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, _clone_parametrized
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from costframe.core.checks import check_number
from costframe.core.errors import CostModelError, DataError, DataTypeError, ParameterError
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.predictors.stepped import SteppedPredictor
from costframe.core.prices.costs import CostModel
from costframe.core.tables.categorical import CategoricalColumns, find_categorical
from costframe.core.tables.frames import category_columns, column_names
from costframe.core.tables.labels import check_queries, check_weights
from costframe.core.tables.rows import refuse_text
from costframe.training.data import Rows, TrainingData

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.cost.expected import CostReport
    from costframe.core.predictors.predictor import Predictor

__all__ = ["CostAwareEstimator"]

_HINT = "; a column of a category dtype, or one named in categorical_features, is split by categories"


class CostAwareEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """Base of all estimators; a subclass has an `__init__` with its parameters and a `_train`.

    Parameters every subclass has are `costs` (CostModel, or what makes one; None prices every feature at one) and
    `tradeoff` (loss accepted per unit of cost per row, >= 0). One that splits by categories sets `_takes_categories`,
    has a parameter `categorical_features` as `find_categorical` takes it, and minds `TrainingData.categorical`. One
    that searches sets of features while it trains sets `searches_sets`; sweeps and searches do so for all others.

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
    searches_sets: ClassVar[bool] = False
    _takes_categories: ClassVar[bool] = False
    _columns = CategoricalColumns()
    _only: Sequence[int] | None = None  # columns that training sees

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
            May hold NaN (missing) and infinities. Columns are matched to prices by name in a frame, else by position. A
            frame's columns of a category dtype are split by categories, if the algorithm does so.
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
        data = self.training_data(X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val)
        self._keep(self._train(data), data.costs, data.train)
        return self

    def training_data(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
    ) -> TrainingData:
        """Check everything that `fit` is given."""
        check_number("tradeoff", self.tradeoff)
        for name, queries in (("qid", qid), ("qid_val", qid_val)):
            if queries is not None and not self._ranks:
                raise DataError(f"{name}: has no effect, only rankings have queries")
        self._columns = self._find_categorical(X)
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
        named = self._columns
        chosen = named.chosen if named.chosen.any() else None
        data = TrainingData(train, valid, costs, prices, classes, chosen, named.categories)
        return data if self._only is None else data.reading_only(self._only)

    def reading_only(self, columns: Sequence[int]) -> Self:
        """Return a copy that trains as if all columns but these were constant, so that its models read no other.

        Columns are numbers from 0. Clones of the copy do so, too.
        """
        if isinstance(columns, str) or not hasattr(columns, "__len__"):
            raise ParameterError(f"columns: expected a list of numbers of columns, got {columns!r}")
        other = copy(self)
        other._only = columns  # noqa: SLF001 - the copy's own
        return other

    def __sklearn_clone__(self) -> Self:
        other: Self = _clone_parametrized(self)
        return other if self._only is None else other.reading_only(self._only)

    def _keep(self, predictor: Predictor, costs: CostModel, rows: Rows | None = None) -> None:
        """Become the fitted estimator of a predictor; stage trees learn from training rows what to answer early."""
        self.costs_ = costs
        if isinstance(predictor, StageTree | SteppedPredictor | PlannedPredictor):  # which carry labels and prices
            predictor = predictor.with_categories(self._columns.categories).with_costs(costs)
        if isinstance(predictor, StageTree):
            if rows is not None:
                predictor = predictor.with_fallbacks(rows.X, rows.weight)
            elif isinstance(known := getattr(self, "predictor_", None), StageTree):
                predictor = predictor.with_fallback_rows_of(known)
        self.predictor_ = predictor

    def with_predictor(self, predictor: Predictor, *, tradeoff: float, **fitted: Any) -> Self:
        """Return the fitted estimator of another predictor, trained on the same data; this one stays as it is.

        Parameters
        ----------
        predictor : Predictor
        tradeoff : float
            At which it was trained.
        **fitted
            Attributes that differ, such as `n_iter_`.
        """
        check_is_fitted(self, "predictor_")
        other = copy(self)
        other.tradeoff = tradeoff
        for name, value in fitted.items():
            setattr(other, name, value)
        other._keep(predictor, self.costs_)  # noqa: SLF001 - the copy's own
        return other

    @property
    def bank_(self) -> Any:
        """The weak learners of the fitted predictor."""
        check_is_fitted(self, "predictor_")
        predictor: Any = self.predictor_
        return predictor.bank

    def cost(
        self,
        X: Any,
        *,
        acquisition: str = "path",
        sample_weight: ArrayLike | None = None,
        rounds: bool = False,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
        costs: object = None,
        **terms: Any,
    ) -> CostReport:
        """Say exactly what predicting these rows costs.

        With `max_cost` no row pays more; nothing `unavailable`, features or resources, is asked for. Rows that this
        makes answer early are `cut` in the report. Other `costs` may be given, and another `tradeoff` to a plan.
        """
        table = self._read(X)
        return self.predictor_.cost(
            table,
            self.costs_ if costs is None else costs,
            acquisition=acquisition,
            sample_weight=sample_weight,
            rounds=rounds,
            max_cost=max_cost,
            unavailable=unavailable,
            **self._terms(terms),
        )

    def _terms(self, terms: dict[str, Any]) -> dict[str, Any]:
        """Return the terms of a prediction beside its limits, or refuse them where nothing is planned."""
        for name, value in terms.items():
            if name not in {"costs", "tradeoff"}:
                raise ParameterError(f"{name}: expected max_cost, unavailable, costs or tradeoff, got {name!r}")
            if value is not None and not isinstance(self.predictor_, PlannedPredictor):
                raise ParameterError(
                    f"{name}: expected None, for {type(self).__name__} was trained for its own prices and tradeoff and "
                    f"only a plan takes others when it predicts; got {value!r}"
                )
        return {name: value for name, value in terms.items() if value is not None}

    def _find_categorical(self, X: Any) -> CategoricalColumns:
        """Find the columns that are to be split by categories; refuse them if the algorithm does not do so."""
        given = getattr(self, "categorical_features", None) if self._takes_categories else None
        if given is None and not category_columns(X):
            return CategoricalColumns()
        names = column_names(X)
        if names is None:
            width = np.shape(X)[1] if np.ndim(X) == 2 else 0
            names = tuple(f"x{f}" for f in range(width))
            priced = CostModel.of(self.costs, names).names
            names = priced if len(priced) == width else names
        if not self._takes_categories:
            named, kind = names[category_columns(X)[0]], type(self).__name__
            raise DataError(
                f"X: column {named!r} is of a category dtype, and {kind} does not split by categories; give numbers"
            )
        return find_categorical(given, X, names)

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
        X = self._columns.encoded(X, name)
        refuse_text(X, name, _HINT if self._takes_categories and reset else "")
        try:
            rows = np.asarray(validate_data(self, X, dtype=np.float64, ensure_all_finite=False, reset=reset))
        except TypeError as error:
            raise DataTypeError(f"{name}: {error}") from error
        except ValueError as error:
            raise DataError(f"{name}: {error}") from error
        if reset:
            self._columns.check(rows, name)
        return rows

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
        queries = None if qid is None else check_queries(qid, len(X), f"qid{suffix}")[keep]
        weights = weights[keep] * self._class_weights(labels)
        return Rows(X if keep.all() else X[keep], labels, weights, queries)  # a copy only where rows drop out

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
