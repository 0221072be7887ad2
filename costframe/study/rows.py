"""Rows of a study: with weights, queries and groups; a share of them to hold out."""

from __future__ import annotations

import functools
import itertools
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, column_or_1d

from costframe.core.arrays import I8
from costframe.core.errors import DataError, ParameterError, shown
from costframe.core.predictors.fitted import kind_of
from costframe.core.prices.costs import CostModel
from costframe.core.tables.frames import is_arrow, is_frame, take_rows
from costframe.core.tables.row_labels import check_nested, check_queries, check_target, check_weights, exact_labels
from costframe.core.tables.rows import as_frame
from costframe.core.terms.classes import places
from costframe.datasets import dataset
from costframe.records.made import check_mask_length
from costframe.records.readings import BY_COLUMNS, BY_LABEL, Reading
from costframe.records.table import RecordedTable, complete_table
from costframe.records.whole_rows import find_givers
from costframe.training.learning import COPIES, RECORDED, TESTED, find_tested

_MOST_PARTS = 20  # that groups are dealt to, some of them to be held out


@frozen(eq=False)
class StudyRows:
    """Rows of a trial: X (n, d), y (n,), and weights, queries and groups or None.

    Where prices or a mask say that tests were not made, `recorded` knows which.
    """

    X: Any
    y: Any
    weight: Any = None
    qid: Any = None
    groups: Any = None
    made: Any = None  # the mask that the caller gives, (n, d)
    recorded: RecordedTable | None = None

    @classmethod
    def of(
        cls, X: Any, y: Any, weight: Any, qid: Any, suffix: str = "", groups: Any = None, made: Any = None
    ) -> StudyRows:
        """Make rows; refuse another number of labels, weights, queries or rows of a mask than rows."""
        X = as_frame(X)
        if y is None:
            raise DataError(f"y{suffix}: requires y to be passed, but the target y is None")
        try:
            n = _num_samples(X)
        except TypeError:
            raise DataError(f"X{suffix}: expected a table of rows, got {type(X).__name__}") from None
        if not (hasattr(X, "__getitem__") or hasattr(X, "toarray")):  # what is sparse is refused by its name
            X = np.asarray(X)
        y, weight, qid = (None if values is None else np.asarray(exact_labels(values)) for values in (y, weight, qid))
        if weight is not None and weight.ndim == 0:
            weight = check_weights(weight, n, f"sample_weight{suffix}")
        for name, values in (("y", y), ("sample_weight", weight), ("qid", qid)):
            if values is not None and values.shape[:1] != (n,):
                given = values.shape[0] if values.ndim else repr(values.item())
                raise DataError(f"{name}{suffix}: expected one value a row, {n}, got {given}")
        try:
            np.unique(y)
        except TypeError as error:
            raise DataError(f"y{suffix}: expected labels of one kind: {error}") from None
        if groups is not None:
            check_queries(groups, n, f"groups{suffix}", "group")
        mask = _as_mask(made, X, n, suffix)
        rows = cls(X, column_or_1d(y, warn=True) if y.shape[1:] == (1,) else y, weight, qid, made=mask)
        return rows if groups is None else rows.with_groups(np.asarray(groups), suffix)

    @classmethod
    def of_part(cls, part: dataset.PartRows) -> StudyRows:
        """Make rows of a part of a data set."""
        return cls(part.X, part.y, None, part.qid, part.groups, part.made)

    def with_groups(self, groups: NDArray[Any], suffix: str) -> StudyRows:
        """Return the rows in groups; refuse groups that cut a query."""
        if self.qid is not None:
            queries, units = (np.unique(values, return_inverse=True)[1] for values in (self.qid, groups))
            check_nested(queries, units, f"groups{suffix}")
        return evolve(self, groups=groups)

    def with_records(
        self, costs: CostModel, names: Sequence[str], *, by_class: bool, categorical: Collection[str] = ()
    ) -> StudyRows:
        """Return the rows with what is known of their tests, by the prices, or by their own mask.

        Columns named `categorical` are categories, as those of a frame are that hold no numbers.
        """
        recorded = RecordedTable.of(
            self.X,
            self.y,
            names,
            costs.panels,
            self.made,
            by_class=by_class,
            weight=self.weight,
            categorical=categorical,
        )
        return evolve(self, recorded=recorded)

    def with_records_of(self, data: dataset.Dataset) -> StudyRows:
        """Return rows of a data set with what is known of their tests."""
        if not data.has_records:
            return self
        return self.with_records(
            data.costs, data.feature_names, by_class=data.task != "regression", categorical=data.categorical
        )

    def with_records_for(self, model: Any, costs: CostModel | None = None) -> StudyRows:
        """Return rows with what is known of their tests, for a fitted estimator, by prices, by default its own."""
        names = model.predictor_.feature_names
        prices = CostModel.of(model.costs_ if costs is None else costs, names)
        if not prices.panels and self.made is None:
            return self
        return self.with_records(prices, names, by_class=kind_of(model) != "regressor")

    def with_mask(self) -> StudyRows:
        """Return the rows with a mask of what is known of their tests."""
        return self if self.recorded is None else evolve(self, made=self.recorded.cells)

    def completed(self, more_donors: StudyRows | None = None) -> Iterator[StudyRows]:
        """Return completed copies of the rows, in which all tests were made; the rows alone, if they were anyway.

        Tests that were not made are those of other rows, and of `more_donors`, rows of the same table.
        """
        if more_donors is not None and self.lacks_tests:
            first = np.arange(len(self.y))
            return (copy.take(first) for copy in self.append(more_donors).completed())
        return self._filled_by(None if self.recorded is None else self.recorded.donors, BY_LABEL)

    def completed_by(self, reading: Reading, copies: int) -> Iterator[StudyRows]:
        """Return completed copies by a reading of the records; with "columns", rows have the labels of their donors."""
        donors = None if self.recorded is None else self.recorded.donors_by(reading, copies)
        return self._filled_by(donors, reading)

    def _filled_by(self, donors: I8 | None, reading: Reading) -> Iterator[StudyRows]:
        """Yield a copy of the rows for each one of their donors; the rows alone, if these are None."""
        if donors is None or self.recorded is None or self.recorded.records is None:
            yield self
            return
        for copy in donors:
            X = complete_table(self.X, copy, self.recorded.records, self.recorded.names)
            y = np.asarray(self.y)[find_givers(copy)] if reading == BY_COLUMNS else self.y
            yield evolve(self, X=X, y=y, made=None, recorded=None)

    def to_learn(self, how: str) -> StudyRows:
        """Return the rows that an estimator of another library learns from; see `learn_from`."""
        if self.recorded is None or self.recorded.records is None or how == RECORDED:
            return self
        if how == TESTED:
            has_classes = self.recorded.by_class and self.qid is None
            return self.take(find_tested(self.recorded.records, self.recorded.y, "X", has_classes=has_classes))
        copies = list(itertools.islice(self.completed(), COPIES))
        joined = functools.reduce(StudyRows.append, copies)
        if self.weight is None:
            return joined
        return evolve(joined, weight=joined.weight / len(copies))

    @property
    def lacks_tests(self) -> bool:
        """Whether some rows have not had a test."""
        return self.recorded is not None and self.recorded.records is not None

    @property
    def least_tested(self) -> int:
        """Number of rows that have had the test which the fewest have had; of all rows, if none lacks any."""
        if self.recorded is None or self.recorded.records is None:
            return len(self.y)
        return int(self.recorded.records.made.sum(axis=0).min())

    @property
    def mislead_own_folds(self) -> bool:
        """Whether estimates from an algorithm's own folds of them are none of fresh rows: of groups, or tests made."""
        return self.groups is not None or self.lacks_tests

    @property
    def units(self) -> I8 | None:
        """The number of each row's group, or else query, whose rows stay together: (n,); None if rows are alone."""
        values = self.qid if self.groups is None else self.groups
        return None if values is None else np.unique(np.asarray(values), return_inverse=True)[1]

    @classmethod
    def if_any(
        cls, X: Any, y: Any, weight: Any, qid: Any, suffix: str, groups: Any = None, made: Any = None
    ) -> StudyRows | None:
        """Make rows of optional arguments, or None without X and y; refuse one of them without the other."""
        if (X is None) != (y is None):
            raise ParameterError(f"X{suffix} and y{suffix}: expected both or neither")
        if X is not None:
            return cls.of(X, y, weight, qid, suffix, groups, made)
        for name, values in (("sample_weight", weight), ("qid", qid), ("groups", groups), ("made", made)):
            if values is not None:
                raise ParameterError(f"{name}{suffix}: has no effect without X{suffix} and y{suffix}")
        return None

    def list_classes(self) -> NDArray[Any]:
        """Return the classes, ascending, (K,); refuse labels that are none."""
        if self.y.dtype.kind == "f":
            check_target(self.y, len(self.y), "y")
        try:
            check_classification_targets(self.y)
        except ValueError as error:
            raise DataError(f"y: {error}") from error
        return np.unique(self.y)

    def hold_out(self, share: float, seed: Any, *, classes: bool) -> tuple[I8, I8]:
        """Return the numbers of training rows and of a held-out share of rows, or of the groups or queries."""
        from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
        from sklearn.utils import check_random_state

        try:
            check_random_state(seed)
        except ValueError as error:
            raise ParameterError(f"random_state: {error}") from None
        units = None if classes else self.units
        kind = StratifiedShuffleSplit if classes else ShuffleSplit if units is None else GroupShuffleSplit
        splitter = kind(n_splits=1, test_size=share, random_state=seed)
        try:
            if classes and self.groups is not None:
                return self._hold_out_groups(share, seed)
            train, valid = next(splitter.split(np.zeros(len(self.y)), np.asarray(self.y), units))
        except ValueError as error:
            raise DataError(f"y: no rows can be held out; give X_val and y_val: {error}") from error
        return train, valid

    def _hold_out_groups(self, share: float, seed: Any) -> tuple[I8, I8]:
        """Hold out whole groups, with about a share of the rows of each class: some of many folds.

        Each class keeps rows to train on, if there are such folds: its only group is not held out.
        """
        most = min(_MOST_PARTS, len(np.unique(self.groups)))
        if most < 2:
            raise ValueError("there is one group only")
        parts = Fraction(share).limit_denominator(most)
        held, count = (parts.numerator, parts.denominator) if 0 < parts < 1 else (1 if parts < 1 else most - 1, most)
        fold, y = self.fold_groups(count, seed), np.asarray(self.y)
        is_held = fold < held
        for shift in range(1, count):
            if len(np.unique(y[~is_held])) == len(np.unique(y)):
                break
            is_held = (fold + shift) % count < held
        return np.flatnonzero(~is_held), np.flatnonzero(is_held)

    def fold_groups(self, count: int, seed: Any) -> I8:
        """Return a fold for each row, whole groups with even shares of the classes in each: int64 (n,)."""
        from sklearn.model_selection import StratifiedGroupKFold

        fold, splitter = np.empty(len(self.y), np.int64), StratifiedGroupKFold(count, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")  # it may be in fewer folds
            for number, (_, out) in enumerate(splitter.split(np.zeros(len(fold)), np.asarray(self.y), self.units)):
                fold[out] = number
        return fold

    def codes(self, model: Any) -> NDArray[Any]:
        """Return the labels, as class codes for a classifier, that scores compare predictions with."""
        classes = getattr(model, "classes_", None)
        if classes is None:
            return np.asarray(self.y, np.float64)
        return places(self.y, np.asarray(classes))

    def take(self, chosen: I8) -> StudyRows:
        """Keep some rows, by number."""
        given = (self.X, self.y, self.weight, self.qid, self.groups, self.made)
        X, y, *units = (None if values is None else take_rows(values, chosen) for values in given)
        taken = StudyRows(X, y, *units)
        return taken if self.recorded is None else evolve(taken, recorded=self.recorded.take(chosen))

    def append(self, other: StudyRows) -> StudyRows:
        """Append other rows with X of the same type; if only one part has weights, the other gets ones."""
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate(
                [
                    np.ones(len(rows.y)) if rows.weight is None else np.asarray(rows.weight, np.float64)
                    for rows in (self, other)
                ]
            )
        y = np.concatenate([np.asarray(self.y), np.asarray(other.y)])
        qid, groups = (
            None if numbers is None else np.concatenate([np.asarray(numbers), np.asarray(others)])
            for numbers, others in ((self.qid, other.qid), (self.groups, other.groups))
        )
        made = None if self.made is None or other.made is None else _stack(self.made, other.made)
        recorded = None
        if self.recorded is not None and other.recorded is not None:
            recorded = self.recorded.append(other.recorded)
        return StudyRows(_stack(self.X, other.X), y, weight, qid, groups, made, recorded)


def _as_mask(made: Any, X: Any, n: int, suffix: str) -> Any:
    """Return the mask that a caller gives for n rows; True is one by which all tests were made."""
    if made is None:
        return None
    if made is True:
        return np.ones((n, np.shape(X)[1] if np.ndim(X) == 2 else 0), np.bool_)
    check_mask_length(made, n, suffix)
    return made if is_frame(made) else np.asarray(made)


def _stack(first: Any, second: Any) -> Any:
    """Stack two data frames of a library, or two arrays."""
    if is_arrow(first):
        return sys.modules["pyarrow"].concat_tables([first, second], promote_options="permissive")
    library = type(first).__module__.partition(".")[0]
    if library in {"pandas", "polars"}:
        return sys.modules[library].concat([first, second])
    return np.concatenate([np.asarray(first), np.asarray(second)])


def check_groups(train: StudyRows, valid: StudyRows | None, name: str = "_val") -> None:
    """Refuse validation rows, or others by a `name`, whose groups are unknown, or are in train too."""
    if valid is None or (train.groups is None and valid.groups is None):
        return
    for suffix, other, rows in (("", name, train), (name, "", valid)):
        if rows.groups is None:
            raise ParameterError(
                f"groups{suffix}: expected the group of each row of X{suffix}, as groups{other} has them"
            )
    if len(both := np.intersect1d(train.groups, valid.groups)):
        raise DataError(f"groups{name}: group {shown(both[0].item())} is in X too; rows of a group stay together")


def optional_arguments(train: StudyRows, valid: StudyRows | None = None) -> dict[str, Any]:
    """Return the weights, queries and masks of rows as arguments of `fit`."""
    given = {"sample_weight": train.weight, "qid": train.qid, "made": train.made}
    if valid is not None:
        given |= {"sample_weight_val": valid.weight, "qid_val": valid.qid, "made_val": valid.made}
    return {name: value for name, value in given.items() if value is not None}
