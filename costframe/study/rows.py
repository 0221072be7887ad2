"""Rows of a study: with weights, queries and groups; a share of them to hold out."""

from __future__ import annotations

import sys
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, column_or_1d

from costframe.core.arrays import I8
from costframe.core.errors import DataError, ParameterError, shown
from costframe.core.tables.frames import is_arrow, take_rows
from costframe.core.tables.row_labels import check_nested, check_queries, check_target, check_weights, exact_labels
from costframe.core.tables.rows import as_frame
from costframe.core.terms.classes import places
from costframe.datasets import dataset

_MOST_PARTS = 20  # that groups are dealt to, some of them to be held out


@frozen(eq=False)
class StudyRows:
    """Rows of a trial: X (n, d), y (n,), and weights, queries and groups or None."""

    X: Any
    y: Any
    weight: Any = None
    qid: Any = None
    groups: Any = None

    @classmethod
    def of(cls, X: Any, y: Any, weight: Any, qid: Any, suffix: str = "", groups: Any = None) -> StudyRows:
        """Make rows; refuse another number of labels, weights or queries than rows."""
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
        made = cls(X, column_or_1d(y, warn=True) if y.shape[1:] == (1,) else y, weight, qid)
        return made if groups is None else made.with_groups(np.asarray(groups), suffix)

    @classmethod
    def of_part(cls, part: dataset.PartRows) -> StudyRows:
        """Make rows of a part of a data set."""
        return cls(part.X, part.y, None, part.qid, part.groups)

    def with_groups(self, groups: NDArray[Any], suffix: str) -> StudyRows:
        """Return the rows in groups; refuse groups that cut a query."""
        if self.qid is not None:
            queries, units = (np.unique(values, return_inverse=True)[1] for values in (self.qid, groups))
            check_nested(queries, units, f"groups{suffix}")
        return evolve(self, groups=groups)

    @property
    def units(self) -> I8 | None:
        """The number of each row's group, or else query, whose rows stay together: (n,); None if rows are alone."""
        values = self.qid if self.groups is None else self.groups
        return None if values is None else np.unique(np.asarray(values), return_inverse=True)[1]

    @classmethod
    def if_any(cls, X: Any, y: Any, weight: Any, qid: Any, suffix: str, groups: Any = None) -> StudyRows | None:
        """Make rows of optional arguments, or None without X and y; refuse one of them without the other."""
        if (X is None) != (y is None):
            raise ParameterError(f"X{suffix} and y{suffix}: expected both or neither")
        if X is not None:
            return cls.of(X, y, weight, qid, suffix, groups)
        for name, values in (("sample_weight", weight), ("qid", qid), ("groups", groups)):
            if values is not None:
                raise ParameterError(f"{name}{suffix}: has no effect without X{suffix} and y{suffix}")
        return None

    def count_classes(self) -> int:
        """Return the number of classes; refuse labels that are none."""
        if self.y.dtype.kind == "f":
            check_target(self.y, len(self.y), "y")
        try:
            check_classification_targets(self.y)
        except ValueError as error:
            raise DataError(f"y: {error}") from error
        return len(np.unique(self.y))

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
        given = (self.X, self.y, self.weight, self.qid, self.groups)
        return StudyRows(*(None if values is None else take_rows(values, chosen) for values in given))

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
        return StudyRows(_stack(self.X, other.X), y, weight, qid, groups)


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
    """Return the weights and queries of rows as arguments of `fit`."""
    given = {"sample_weight": train.weight, "qid": train.qid}
    if valid is not None:
        given |= {"sample_weight_val": valid.weight, "qid_val": valid.qid}
    return {name: value for name, value in given.items() if value is not None}
