"""Reading of an estimator's data: checked rows, labels, weights and queries, columns in the order of training."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from costframe.core.arrays import F8
from costframe.core.checks import needed
from costframe.core.errors import CostModelError, DataError, DataTypeError
from costframe.core.prices.costs import CostModel
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.blank_columns import blank_columns
from costframe.core.tables.categorical import CategoricalColumns, find_categorical
from costframe.core.tables.categories import Categories
from costframe.core.tables.dates import Dates, check_dates
from costframe.core.tables.frames import (
    category_columns,
    column_names,
    is_frame,
    is_numeric_dtype,
    refuse_lazy,
    select_columns,
    types_of,
)
from costframe.core.tables.remembered import ColumnType
from costframe.core.tables.row_labels import check_queries, check_weights, exact_labels
from costframe.core.tables.rows import as_frame, refuse_text
from costframe.core.tables.text_columns import choose_few_texts, text_columns
from costframe.core.tables.unknown_values import warn_of_frame
from costframe.core.workers import ALONE, Workers
from costframe.training.data import Rows, Traits

_HINT = (
    "; a column of a category dtype, or one named in categorical_features, is split by categories; of texts that are "
    "dates pd.to_datetime makes dates"
)
_GIVEN = ("bank", "base", "expensive", "model")  # parameters that may be models


def unfrozen(model: Any) -> Any:
    """Return the model inside scikit-learn's FrozenEstimator, another model as it is."""
    return model.estimator if isinstance(model, FrozenEstimator) else model


def _labels_of(models: list[Any]) -> Categories:
    """Return the labels of the features that models read."""
    labels: dict[str, Any] = {}
    for model in map(unfrozen, models):
        given = getattr(getattr(model, "predictor_", model), "categories", None)
        given_labels = given if isinstance(given, Mapping) else {}
        plain = {name: AsGiven(plain=True) for name, known in given_labels.items() if isinstance(known, AsGiven)}
        labels |= {**given_labels, **plain}
    return labels


def _texts_for(models: list[Any], X: Any) -> Categories:
    """Return the columns of a frame whose texts models of other libraries take as they are."""
    given = [model for model in models if not isinstance(unfrozen(model), RowReader)]  # ours reads texts by itself
    others = [model for model in given if hasattr(model, "predict") and not hasattr(model, "inquire")]
    names = column_names(X)
    if names is None or not others:
        return {}
    kinds = zip(names, types_of(X), strict=True)
    named = {names[f] for f in category_columns(X)}
    return {name: AsGiven(plain=True) for name, kind in kinds if not is_numeric_dtype(kind) and name not in named}


@contextlib.contextmanager
def _name_errors(name: str) -> Iterator[None]:
    """Turn errors of scikit-learn's checks into ours, which name the rows."""
    try:
        yield
    except TypeError as error:
        raise DataTypeError(f"{name}: {error}") from error
    except (ValueError, OverflowError) as error:
        raise DataError(f"{name}: {error}") from error


class RowReader(BaseEstimator, ABC):  # type: ignore[misc]
    """The part of an estimator that checks data; errors name the wrong argument."""

    costs: Any
    traits: ClassVar[Traits] = Traits()
    _columns = CategoricalColumns()
    _workers: Workers = ALONE  # that train together
    _types: Mapping[str, ColumnType] = MappingProxyType({})  # of a frame's columns, for models of other libraries
    _is_encoded = False  # frames have the numbers of labels already

    @abstractmethod
    def _encode(self, y: ArrayLike, n_rows: int, name: str, *, first: bool) -> NDArray[Any]:
        """Check labels and encode them for `_train`; with `first`, for training labels, also set the classes."""

    def _find_categorical(self, X: Any) -> CategoricalColumns:
        """Find the categorical columns; refuse them if the algorithm does not split by categories.

        Labels that a given model has are those of its columns, for it reads their numbers.
        """
        refuse_lazy(X, "X")
        given = getattr(self, "categorical_features", None) if self.traits.takes_categories else None
        models = [getattr(self, name, None) for name in _GIVEN]
        labels = {**_texts_for(models, X), **_labels_of(models)}
        texts = text_columns(X) if given is None and self._workers.count == 1 else {}
        if given is None and not labels and not texts and not category_columns(X):
            return CategoricalColumns()
        names = column_names(X)
        if names is None:
            width = np.shape(X)[1] if np.ndim(X) == 2 else 0
            names = tuple(f"x{f}" for f in range(width))
            priced = CostModel.of(self.costs, names).names
            names = priced if len(priced) == width else names
        labels = {name: known for name, known in labels.items() if name in names}
        texts = {f: values for f, values in texts.items() if names[f] not in labels}
        columns = [names[f] for f in sorted({*category_columns(X), *texts})]
        if labels and self.traits.takes_categories and given is None:
            choose_few_texts(texts, names, len(X))
            return find_categorical(dict.fromkeys(columns) | labels, X, names)
        if not self.traits.takes_categories and set(columns) <= set(labels):
            return CategoricalColumns(names, np.zeros(len(names), np.bool_), labels)
        if not self.traits.takes_categories:
            named, kind = next(name for name in columns if name not in labels), type(self).__name__
            what = "holds texts" if names.index(named) in texts else "is of a category dtype"
            raise DataError(
                f"X: column {named!r} {what}, and {kind} does not split by categories; give numbers, as "
                f"pd.get_dummies(X, columns=[{named!r}]) makes"
            )
        return find_categorical(given, X, names).of_all(self._workers)

    def _find_dates(self, X: Any, columns: CategoricalColumns) -> CategoricalColumns:
        """Add the columns of dates to the categorical ones: those of a frame, and of an array as the prices say.

        Dates that a given model takes as they are stay so, unless their prices have parts or an epoch.
        """
        names, shape = column_names(X), tuple[int, ...](getattr(X, "shape", ()))
        if self._is_encoded or len(shape) != 2 or (names is None and self.costs is None):
            return columns
        costs = None if self.costs is None else CostModel.of(self.costs, names or [f"x{f}" for f in range(shape[1])])
        asked = {} if costs is None else {price.name: price for price in costs.features if price.is_date}
        if names is not None:
            needed("pyarrow", "cli")
            from costframe.core.tables.date_columns import frame_dates

            dates = frame_dates(X, names, asked)
        else:
            names = costs.names if costs is not None and len(costs.names) == shape[1] else ()
            dates = {name: Dates(epoch=asked[name].epoch) for name in names if name in asked}
        dates = {name: date for name, date in dates.items() if name in asked or name not in columns.categories}
        return columns.with_dates(dates, names) if dates else columns

    def _names(self, names: Any, costs: CostModel | None = None) -> tuple[str, ...]:
        """Return names of X's columns: a frame's own, else those of a cost model of equal length, else x0, x1, ..."""
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

    def _read(self, X: Any, unread: Collection[str] = ()) -> F8:
        """Check rows to predict, and put a frame's columns in the order of training.

        Nothing is read of features in `unread`: a frame may lack them, and they are NaN, or as they are in float64.
        """
        known = vars(self)
        if (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X)
            and X.shape[1] == known.get("n_features_in_")
            and "predictor_" in known
            and "feature_names_in_" not in known
        ):
            return X  # a hundred times quicker than the checks below, which have nothing to refuse or to convert
        check_is_fitted(self, "predictor_")
        predictor = known["predictor_"]
        X = self._without(X, predictor.feature_names, unread) if unread else X
        rows = self._checked(X := self._in_training_order(X), "X", reset=False)
        if is_frame(X):
            names, labels = predictor.feature_names, self._columns.categories
            warn_of_frame(X, rows, names, labels, lambda: set(predictor.used_features).difference(unread))
        return rows

    def _without(self, X: Any, names: Sequence[str], unread: Collection[str]) -> Any:
        """Return rows to predict without values of some features; `names` are those of all, in the order of training.

        A frame's columns are known by position where those of training had no names.
        """
        refuse_lazy(X, "X")
        held = column_names(X)
        if held is None or hasattr(self, "feature_names_in_"):
            return blank_columns(X, names, unread)
        if len(held) != len(names):
            return X
        return blank_columns(X, held, [mine for mine, name in zip(held, names, strict=True) if name in unread])

    def _checked(self, X: Any, name: str, *, reset: bool) -> F8:
        """Check rows with scikit-learn; turn its errors into DataErrors that name the rows."""
        fewest = int(self._workers.count == 1)  # one of several may have no rows
        checks: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": False, "ensure_min_samples": fewest}
        if is_frame(X := as_frame(X, name)):
            needed("pyarrow", "cli")
            from costframe.core.tables.frame_rows import read_frame
            from costframe.core.tables.given_columns import column_types

            names = column_names(X) or self._columns.names or tuple(map(str, X.columns))
            with _name_errors(name):
                validate_data(self, X, reset=reset, skip_check_array=True)
            if reset and any(getattr(self, given, None) is not None for given in _GIVEN):
                self._types = column_types(X)
            hint = _HINT if self.traits.takes_categories and reset else ""
            X = read_frame(X, names, {} if self._is_encoded else self._columns.categories, name, hint)
            with _name_errors(name):
                rows: F8 = check_array(X, estimator=self, **checks)
        else:
            X = self._columns.encoded(X, name)
            refuse_text(X, name)
            with _name_errors(name):
                rows = np.asarray(validate_data(self, X, reset=reset, **checks))
            check_dates(rows, self._columns.names, self._columns.categories)
        if not fewest and not self._workers.any(len(rows)):
            raise DataError(f"{name}: expected rows, no worker has any")
        if reset:
            self._columns.check(rows, name)
        return rows

    def _in_training_order(self, X: Any) -> Any:
        """Put a frame's columns in the order of training; scikit-learn refuses a frame without some of them later."""
        refuse_lazy(X, "X")
        wanted, names = getattr(self, "feature_names_in_", None), column_names(X)
        return (
            select_columns(X, wanted) if wanted is not None and names is not None and set(wanted) <= set(names) else X
        )

    def _rows(
        self, X: F8, y: ArrayLike, weight: ArrayLike | None, qid: ArrayLike | None, suffix: str, *, first: bool
    ) -> Rows:
        if y is None:
            raise DataError(f"y{suffix}: requires y to be passed, but the target y is None")
        weights = check_weights(weight, len(X), f"sample_weight{suffix}", self._workers)
        keep = weights > 0
        try:
            target = column_or_1d(exact_labels(y), warn=True)
        except ValueError as error:
            raise DataError(f"y{suffix}: {error}") from None
        if len(target) != len(X):
            raise DataError(f"y{suffix}: expected {len(X)} labels, one a row, got {len(target)}")
        labels = self._encode(target[keep], int(keep.sum()), f"y{suffix}", first=first)
        queries = None if qid is None else check_queries(qid, len(X), f"qid{suffix}")[keep]
        weights = weights[keep] * self._class_weights(labels)
        rows = X if keep.all() else X[keep]  # copy only if rows are dropped
        return Rows(rows, labels, weights, queries, self._workers, getattr(self, "classes_", None))

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
        assert y is not None  # noqa: S101
        rows = self._checked(self._in_training_order(X), "X_val", reset=False)
        return self._rows(rows, y, weight, qid, "_val", first=False)

    def _class_weights(self, labels: NDArray[Any]) -> F8 | float:
        del labels
        return 1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags
