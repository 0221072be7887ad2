"""What an algorithm is given to train on: checked rows, labels, weights and prices, perhaps validation rows."""

from __future__ import annotations

from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.categories import is_missing
from costframe.core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.categories import Categories
    from costframe.core.costs import CostModel
    from costframe.core.price_arrays import PriceArrays

__all__ = [
    "Rows",
    "TrainingData",
    "check_flag",
    "check_number",
    "check_queries",
    "check_target",
    "check_weights",
    "given_or",
]

_MANY = 255  # repetitions of a row in the mean; the engine has bits for so many


@frozen(eq=False)
class Rows:
    """Rows with their labels. Rows of weight zero are not among them.

    Attributes
    ----------
    X : float64 (n, d)
        May hold NaN (missing) and infinities.
    y : float64 (n,), or int64 class codes
    weight : float64 (n,)
        Positive.
    qid : int64 (n,) or None
        Query of each row, for rankings.
    """

    X: NDArray[np.float64]
    y: NDArray[Any]
    weight: NDArray[np.float64]
    qid: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.X)

    def take(self, chosen: NDArray[Any]) -> Rows:
        """Keep some rows, by number or by mask."""
        queries = None if self.qid is None else self.qid[chosen]
        return Rows(self.X[chosen], self.y[chosen], self.weight[chosen], queries)

    def evenly(self, most: int) -> Rows:
        """Keep so many rows at most, taken evenly."""
        if len(self) <= most:
            return self
        return self.take(np.unique(np.linspace(0, len(self) - 1, most).astype(np.int64)))

    @cached_property
    def uneven_weight(self) -> NDArray[np.float64] | None:
        """The weights, or None if all are one."""
        return None if (self.weight == 1).all() else self.weight

    @property
    def counts(self) -> NDArray[np.int64] | None:
        """int64 (n,): how many rows each one is, where weights say so: whole numbers, not all one, and not huge.

        None otherwise: then each is one.
        """
        weight = self.weight
        if self.uneven_weight is None or self.total_weight > _MANY * len(weight) or (weight != np.floor(weight)).any():
            return None
        return weight.astype(np.int64)

    @property
    def repeats(self) -> NDArray[np.int64]:
        """int64 (n,): `counts`, ones where there are none."""
        return np.ones(len(self), np.int64) if self.counts is None else self.counts

    @property
    def total_weight(self) -> float:
        """Sum of the weights: n, as the equations use it."""
        return float(self.weight.sum())


@frozen(eq=False)
class TrainingData:
    """Everything that `fit` was given.

    Attributes
    ----------
    train : Rows
    valid : Rows or None
    costs : CostModel
    prices : PriceArrays
        The same in the order of X's columns.
    n_classes : int
        2 or more for classification, else 0.
    categorical : bool (d,), or None
        Which columns of X hold categories; None: none does.
    categories : mapping of str to tuple of str
        The labels of those whose categories are texts; X holds their positions.
    """

    train: Rows
    valid: Rows | None
    costs: CostModel
    prices: PriceArrays
    n_classes: int = 0
    categorical: NDArray[np.bool_] | None = None
    categories: Categories = field(factory=dict)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of X's columns."""
        return self.prices.names

    def reading_only(self, columns: Sequence[int]) -> TrainingData:
        """Return the same rows with all other columns constant, so that nothing that is trained on them reads those."""
        width = len(self.feature_names)
        chosen = np.asarray(columns if len(columns) else np.empty(0, np.int64))
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or not ((chosen >= 0) & (chosen < width)).all():
            raise ParameterError(f"columns: expected numbers of columns from 0 to {width - 1}, got {columns!r}")

        def hide(rows: Rows) -> Rows:
            X = np.zeros_like(rows.X)
            X[:, chosen] = rows.X[:, chosen]
            return evolve(rows, X=X)

        return evolve(self, train=hide(self.train), valid=None if self.valid is None else hide(self.valid))


def check_weights(sample_weight: ArrayLike | None, n_rows: int, name: str) -> NDArray[np.float64]:
    """Return float64 (n_rows,) weights, ones by default; they must be finite, >= 0, and not all zero."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name}: expected numbers, got {sample_weight!r}") from None
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise DataError(f"{name}: expected one weight a row, shape ({n_rows},), got {weight.shape}")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise DataError(
            f"{name}: expected finite numbers >= 0, got {weight[~(np.isfinite(weight) & (weight >= 0))][0]}"
        )
    if not (weight > 0).any():
        raise DataError(f"{name}: expected some positive weight, all are zero")
    return weight


def check_target(y: ArrayLike, n_rows: int, name: str) -> NDArray[np.float64]:
    """Return float64 (n_rows,) labels; refuse missing or infinite ones."""
    try:
        target = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name}: expected numbers, got labels that are none") from None
    except OverflowError:
        raise DataError(f"{name}: expected numbers, got a whole number beyond all doubles") from None
    if target.shape != (n_rows,):
        raise DataError(f"{name}: expected one label a row, shape ({n_rows},), got {target.shape}")
    if not np.isfinite(target).all():
        # "NaN" and "infinity" are the words scikit-learn's own checks look for.
        raise DataError(
            f"{name}: expected finite labels, got NaN or infinity in row {int(np.argmin(np.isfinite(target)))}"
        )
    return target


def check_number(
    name: str, value: Any, *, low: float = 0.0, strict: bool = False, high: float = np.inf, whole: bool = False
) -> Any:
    """Return the setting if it is a number in its range, or refuse it by name."""
    kind = "a whole number" if whole else "a number"
    right = isinstance(value, int | np.integer) if whole else isinstance(value, int | float | np.integer | np.floating)
    above = f"> {low}" if strict else f">= {low}"
    upto = "" if high == np.inf else f" and <= {high}"
    if isinstance(value, bool) or not right or not (low < value if strict else low <= value) or not value <= high:
        raise ParameterError(f"{name}: expected {kind} {above}{upto}, got {value!r}")
    if not (whole or _is_finite(value)):
        raise ParameterError(f"{name}: expected a finite number, got {value!r}")
    return value


def _is_finite(value: Any) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # a whole number beyond all doubles
        return False


def given_or(name: str, value: Any, default: Any, **limits: Any) -> Any:
    """Return the algorithm's default for None, else the value if it is in its range; limits as for `check_number`."""
    return default if value is None else check_number(name, value, **limits)


def check_flag(name: str, value: Any) -> bool:
    """Return the setting if it is true or false, or refuse it by name."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def check_queries(qid: ArrayLike, n_rows: int, name: str) -> NDArray[np.int64]:
    """Return the queries of rows as numbers; refuse others than one a row, and missing ones."""
    queries = np.asarray(qid)
    if queries.shape != (n_rows,):
        raise DataError(f"{name}: expected one query a row, shape ({n_rows},), got {queries.shape}")
    missing = np.zeros(n_rows, np.bool_)
    if queries.dtype.kind in "fmM":
        missing = np.isnan(queries)
    elif queries.dtype.kind == "O":
        missing[:] = [is_missing(query) for query in queries]
    if missing.any():
        raise DataError(f"{name}: expected the query of each row, it is missing in row {int(missing.argmax())}")
    try:
        return np.unique(queries, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise DataError(f"{name}: expected queries of one kind: {error}") from None
