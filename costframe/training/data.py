"""Training data of an algorithm: checked rows, labels, weights and prices, with validation or held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypedDict

import numpy as np
from attrs import evolve, field, frozen
from attrs.validators import instance_of, optional
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import DataError, ParameterError, shown
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.sums import exact_sum
from costframe.core.tables.categories import Categories
from costframe.core.workers import ALONE, Workers
from costframe.training.dominated import dominated_duplicates

USUAL_TRADEOFF = 1e-3  # without prices of errors
_LEAST_SIZE, _MOST_SIZE = 1e-75, 1e75  # sums of weights times squared labels over any number of rows are still doubles
_MANY = 255  # mean number of repetitions of a row that the tree engine can count


class FitRows(TypedDict, total=False):
    """The arguments of `fit` beside rows, labels and weights: validation data, queries of both, and tests made.

    A method that takes them too says `**others: Unpack[FitRows]`, and passes them on to `training_data`.
    """

    X_val: Any
    y_val: ArrayLike | None
    sample_weight_val: ArrayLike | None
    qid: ArrayLike | None
    qid_val: ArrayLike | None
    made: Any
    made_val: Any


@frozen
class Traits:
    """What an algorithm does otherwise than most: its estimators have one as their class attribute `traits`.

    Attributes
    ----------
    takes_categories : bool
        It splits by categories: it has a parameter `categorical_features`, and uses `TrainingData.categorical`.
    searches_sets : bool
        It searches sets of features during training; for all others, sweeps and searches do it.
    searches_thresholds : bool
        Validation rows choose it in detail, as thresholds of many models; sweeps and searches then estimate it on rows
        that chose nothing.
    trains_on_validation : bool
        It trains on validation rows too, and estimates scores out of fold; of rows in groups, which its folds do not
        know, sweeps and searches keep the validation rows for estimates.
    plans_bills : bool
        With a tradeoff of None, where prices have errors, it minimizes the bill itself; for all others, None is a
        tradeoff that follows from the prices.
    trains_together : bool
        `_train` combines what it takes from rows over `Rows.workers`, so that any number of workers train the model of
        one.
    prices_rounds : bool
        It counts prices of further rounds in training; all others refuse such prices.
    most_classes_saved : int or None
        The most classes for which `cf.save` takes its predictors, 0 for none; None if it takes all.
    """

    takes_categories: bool = field(default=False, validator=instance_of(bool))
    searches_sets: bool = field(default=False, validator=instance_of(bool))
    searches_thresholds: bool = field(default=False, validator=instance_of(bool))
    trains_on_validation: bool = field(default=False, validator=instance_of(bool))
    plans_bills: bool = field(default=False, validator=instance_of(bool))
    trains_together: bool = field(default=False, validator=instance_of(bool))
    prices_rounds: bool = field(default=False, validator=instance_of(bool))
    most_classes_saved: int | None = field(default=None, validator=optional(instance_of(int)))

    @classmethod
    def of(cls, kind: object) -> Traits:
        """Return those of an estimator or its class; the usual ones for a class that has none."""
        traits = getattr(kind, "traits", None)
        return traits if isinstance(traits, Traits) else cls()


@frozen(eq=False)
class Rows:
    """Rows with labels and positive weights: all of them, or the part that one of several workers has.

    Attributes
    ----------
    X : float64 (n, d)
        May hold NaN (missing) and infinities.
    y : float64 (n,), or int64 class codes
    weight : float64 (n,)
        Positive.
    qid : int64 (n,) or None
        Query of each row, for rankings; a worker has all rows of its queries.
    labels : (K,) or None
        Class labels, in the order of their codes.
    units : int64 (n,) or None
        The row of the records, or the query, of which each row is a completed copy; copies stay together in folds.
    groups : int64 (n,) or None
        Numbers from 0: donors and those whom they give are of one group, which folds do not part, as values of a donor
        in other rows would tell its label.
    workers : Workers
        The workers whose rows, together, are all rows. What follows from all rows, as `total_weight`, is the same on
        every worker, and all must ask for it.
    """

    X: F8
    y: NDArray[Any]
    weight: F8
    qid: I8 | None = None
    workers: Workers = field(default=ALONE, repr=False)
    labels: NDArray[Any] | None = field(default=None, repr=False)
    units: I8 | None = field(default=None, repr=False)
    groups: I8 | None = field(default=None, repr=False)

    def __len__(self) -> int:
        """Count this worker's rows."""
        return len(self.X)

    @cached_property
    def total_rows(self) -> int:
        """Number of rows of all workers."""
        return self.workers.count_all(len(self))

    def take(self, chosen: NDArray[Any]) -> Rows:
        """Keep some rows, by number or by mask."""
        others = self.qid, self.units, self.groups
        queries, *copied = (None if values is None else values[chosen] for values in others)
        return Rows(self.X[chosen], self.y[chosen], self.weight[chosen], queries, self.workers, self.labels, *copied)

    @property
    def together(self) -> I8 | None:
        """The number of each row's record or query, whose rows stay together in folds: int64 (n,); None if alone."""
        return self.qid if self.units is None else self.units

    @cached_property
    def uneven_weight(self) -> F8 | None:
        """The weights, or None if all are one, on all workers."""
        return self.weight if self.workers.any((self.weight != 1).any()) else None

    @cached_property
    def counts(self) -> I8 | None:
        """Number of times each row counts, int64 (n,), if all weights are whole numbers, not all one, and not huge.

        None otherwise: each row counts once.
        """
        weight = self.weight
        if self.uneven_weight is None or self.total_weight > _MANY * self.total_rows:
            return None
        return None if self.workers.any((weight != np.floor(weight)).any()) else weight.astype(np.int64)

    @property
    def repeats(self) -> I8:
        """Number of times each row counts, ones if `counts` is None: int64 (n,)."""
        return np.ones(len(self), np.int64) if self.counts is None else self.counts

    @cached_property
    def total_repeats(self) -> int:
        """Sum of `repeats` of all workers."""
        return self.workers.count_all(int(self.repeats.sum()))

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights: n, as the equations use it."""
        return exact_sum(self.weight, self.workers)

    def check_sizes(self, suffix: str = "") -> None:
        """Refuse labels and weights whose squares are not doubles.

        Parameters
        ----------
        suffix : str
            Suffix of the names `y` and `sample_weight`, for example "_val".

        Raises
        ------
        DataError
            If the largest label or weight of all workers is neither zero nor between 1e-75 and 1e75.
        """
        for name, values in (("y", self.y), ("sample_weight", self.weight)):
            largest = self.workers.largest(float(np.abs(values).max(initial=0)))
            if largest and not _LEAST_SIZE <= largest <= _MOST_SIZE:
                raise DataError(
                    f"{name}{suffix}: expected numbers of a size between {_LEAST_SIZE:g} and {_MOST_SIZE:g}, "
                    f"the largest is {largest:g}; change their unit"
                )

    def mean(self, values: F8) -> float:
        """Return the weighted mean of finite values of all workers' rows, from those of this one's: float64 (n,)."""
        return exact_sum(values * self.weight, self.workers) / self.total_weight

    def influence(self, values: F8) -> F8:
        """Return the influence of each row on that mean, whose error follows from it: float64 (n,)."""
        return np.asarray(self.weight * (values - self.mean(values)) / self.total_weight)


@frozen(eq=False)
class TrainingData:
    """The checked arguments of `fit`.

    Attributes
    ----------
    train : Rows
    valid : Rows or None
    costs : CostModel
    prices : PriceArrays
        The prices in `costs`, in the order of X's columns.
    n_classes : int
        2 or more for classification, else 0.
    categorical : bool (d,), or None
        Columns of X that hold categories; None if not one does.
    categories : mapping of str to tuple of str
        Labels of the columns whose categories are texts; X holds their positions.
    tradeoff : float
        The estimator's, or the usual one.
    """

    train: Rows
    valid: Rows | None
    costs: CostModel
    prices: PriceArrays
    n_classes: int = 0
    categorical: B1 | None = None
    categories: Categories = field(factory=dict)
    tradeoff: float = USUAL_TRADEOFF

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of X's columns."""
        return self.prices.names

    def dominated_duplicates(self) -> B1:
        """Find columns with the values of another column that never costs more, in training rows: bool (d,)."""
        return dominated_duplicates(self.train.X, self.prices)

    def joined_rows(self) -> Rows:
        """Return training and validation rows as one table, queries of validation after those of training.

        Raises
        ------
        DataError
            If only one of them has queries.
        """
        if self.valid is None:
            return self.train
        train, other = both = self.train, self.valid
        for name, known, missing in (("qid_val", "qid", other), ("qid", "qid_val", train)):
            if missing.qid is None and (train.qid is not None or other.qid is not None):
                raise DataError(f"{name}: expected the query of each row, as for {known}, got None")
        queries = None
        if train.qid is not None and other.qid is not None:
            queries = np.concatenate([train.qid, other.qid + train.qid.max(initial=-1) + 1])
        X, y, weight = (np.concatenate([getattr(rows, name) for rows in both]) for name in ("X", "y", "weight"))
        units, groups = _join_units(train, other), _join_groups(train, other)
        return evolve(train, X=X, y=y, weight=weight, qid=queries, units=units, groups=groups)

    def reading_only(self, columns: Sequence[int]) -> TrainingData:
        """Return the same data with all other columns constant, so that a model trained on it never reads these.

        Columns that are prices of errors stay: they are free, and scores look at them.
        """
        width = len(self.feature_names)
        chosen = np.asarray(columns if len(columns) else np.empty(0, np.int64))
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or not ((chosen >= 0) & (chosen < width)).all():
            raise ParameterError(f"columns: expected numbers of columns from 0 to {width - 1}, got {shown(columns)}")
        if self.costs.errors is not None and (priced := self.costs.errors.columns):
            chosen = np.union1d(chosen, [self.feature_names.index(name) for name in priced])

        def hide(rows: Rows) -> Rows:
            X = np.zeros_like(rows.X)
            X[:, chosen] = rows.X[:, chosen]
            return evolve(rows, X=X)

        return evolve(self, train=hide(self.train), valid=None if self.valid is None else hide(self.valid))


def _join_units(one: Rows, other: Rows) -> I8 | None:
    """Return the units of rows followed by others, which share none; None if both have none."""
    if one.units is None and other.units is None:
        return None
    first, second = (
        rows.units if rows.units is not None else np.arange(len(rows)) if rows.qid is None else rows.qid
        for rows in (one, other)
    )
    return np.concatenate([first, second + int(first.max(initial=-1)) + 1])


def _join_groups(one: Rows, other: Rows) -> I8 | None:
    """Return the groups of rows followed by others, which share no donors, so that a number may stand for one of each.

    Rows that are no copies are dealt to all groups, by their order; copies without groups are one.
    """
    if one.groups is None and other.groups is None:
        return None
    count = max(int(rows.groups.max(initial=0)) + 1 for rows in (one, other) if rows.groups is not None)

    def number(rows: Rows) -> I8:
        if rows.groups is not None:
            return rows.groups
        return np.arange(len(rows)) % count if rows.units is None else np.zeros(len(rows), np.int64)

    return np.concatenate([number(one), number(other)])
