"""Rows of studies: parts to hold out, and folds of train and valid."""

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

from costframe.core.arrays import B1, I8
from costframe.core.errors import DataError, ParameterError, shown
from costframe.core.predictors.classes import places
from costframe.core.tables.frames import is_arrow, take_rows
from costframe.core.tables.rows import as_frame, check_nested, check_queries, check_target, check_weights, exact_labels
from costframe.datasets import Dataset, dataset
from costframe.frontier.checks import check_share

FOLDS, LEAST = 5, 3  # one fold is held out, one stops the training, the others train
_MOST_PARTS = 20  # that groups are dealt to, some of them to be held out
FEW_ROWS, FEW_QUERIES = 1000, 100  # with fewer in valid, folds improve the estimates
_CHOOSE_WELL = 10_000  # rows of valid
_FEW_SEARCHED, _FEW_EVENTS, _OUTER = 5_000, 200, 3  # most rows and events that repeat a search, and number of its folds
_FEWEST_HALVED = 10  # rows, queries or groups of each class in valid; scores of fewer are often undefined


@frozen(eq=False)
class Rows:
    """Rows of a trial: X (n, d), y (n,), and weights, queries and groups or None."""

    X: Any
    y: Any
    weight: Any = None
    qid: Any = None
    groups: Any = None

    @classmethod
    def of(cls, X: Any, y: Any, weight: Any, qid: Any, suffix: str = "", groups: Any = None) -> Rows:
        """Make rows; refuse another number of labels, weights or queries than rows."""
        X = as_frame(X)
        if y is None:
            raise DataError(f"y{suffix}: requires y to be passed, but the target y is None")
        try:
            n = _num_samples(X)
        except TypeError:
            raise DataError(f"X{suffix}: expected a table of rows, got {type(X).__name__}") from None
        if not hasattr(X, "__getitem__"):
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
    def of_part(cls, part: dataset.Rows) -> Rows:
        """Make rows of a part of a data set."""
        return cls(part.X, part.y, None, part.qid, part.groups)

    def with_groups(self, groups: NDArray[Any], suffix: str) -> Rows:
        """Return the rows in groups; refuse groups that cut a query."""
        if self.qid is not None:
            queries, units = (np.unique(each, return_inverse=True)[1] for each in (self.qid, groups))
            check_nested(queries, units, f"groups{suffix}")
        return evolve(self, groups=groups)

    @property
    def units(self) -> I8 | None:
        """The number of each row's group, or else query, whose rows stay together: (n,); None if rows are alone."""
        values = self.qid if self.groups is None else self.groups
        return None if values is None else np.unique(np.asarray(values), return_inverse=True)[1]

    @classmethod
    def if_any(cls, X: Any, y: Any, weight: Any, qid: Any, suffix: str, groups: Any = None) -> Rows | None:
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

    def take(self, chosen: I8) -> Rows:
        """Keep some rows, by number."""
        given = (self.X, self.y, self.weight, self.qid, self.groups)
        return Rows(*(None if each is None else take_rows(each, chosen) for each in given))

    def append(self, other: Rows) -> Rows:
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
            None if one is None else np.concatenate([np.asarray(one), np.asarray(another)])
            for one, another in ((self.qid, other.qid), (self.groups, other.groups))
        )
        return Rows(_stack(self.X, other.X), y, weight, qid, groups)


def _stack(one: Any, other: Any) -> Any:
    """Stack two data frames of a library, or two arrays."""
    if is_arrow(one):
        return sys.modules["pyarrow"].concat_tables([one, other], promote_options="permissive")
    library = type(one).__module__.partition(".")[0]
    if library in {"pandas", "polars"}:
        return sys.modules[library].concat([one, other])
    return np.concatenate([np.asarray(one), np.asarray(other)])


@frozen(eq=False)
class Fold:
    """Rows for training, for early stopping, and for estimates."""

    train: Rows
    valid: Rows
    out: Rows
    place: I8  # (rows of out,): positions among all rows that folds hold out, of train before valid


@frozen(eq=False)
class Division:
    """Rows to train on, to stop and choose by, and to test on, and folds of the first two."""

    train: Rows
    valid: Rows
    test: Rows | None
    folds: tuple[Fold, ...] = ()
    folds_repeat: bool = False  # whether folds repeat single fits of estimators with a tradeoff too

    @classmethod
    def of_data(cls, data: Dataset, cv: Any = 0) -> Division:
        """Divide a data set by its parts, and train and valid into a number of folds, or by a splitter."""
        train, valid, test = map(Rows.of_part, map(data.part, ("train", "valid", "test")))
        order = np.arange(len(train.y) + len(valid.y))
        return cls(
            train, valid, test, _folds(train, valid, cv, order, classes=data.task == "classification"), cv is not None
        )

    @classmethod
    def of_rows(
        cls, rows: Rows, valid: Rows | None, test: Rows | None, *, cv: Any, share: float, seed: Any, classes: bool
    ) -> Division:
        """Hold out a share of rows for validation if there are none, and make folds: of a number, or by a splitter."""
        order = np.arange(len(rows.y) + (0 if valid is None else len(valid.y)))
        if valid is None:
            check_share("validation_fraction", share)
            parts = rows.hold_out(share, seed, classes=classes)
            order, (rows, valid) = np.concatenate(parts), map(rows.take, parts)
        return cls(rows, valid, test, _folds(rows, valid, cv, order, classes=classes), cv is not None)


def _folds(train: Rows, valid: Rows, cv: Any, order: I8, *, classes: bool) -> tuple[Fold, ...]:
    """Divide train and valid into a number of folds, or by a splitter; see `folds_of` and `folds_by`."""
    splits = hasattr(cv, "split") or hasattr(cv, "__iter__")
    if splits and not isinstance(cv, str):
        return folds_by(train, valid, cv, order)
    return folds_of(train, valid, cv, classes=classes)


def check_groups(train: Rows, valid: Rows | None, name: str = "_val") -> None:
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


def folds_of(train: Rows, valid: Rows, count: int | None, *, classes: bool, seed: int = 0) -> tuple[Fold, ...]:
    """Divide train and valid into `count` folds with equal shares of `classes`, if the labels are classes.

    None chooses the default number, or no folds if valid is large, or a class or the queries are too few.
    """
    whole = count is None or (isinstance(count, int | np.integer) and not isinstance(count, bool))
    if not whole or (count is not None and (count < 0 or 0 < count < LEAST)):
        raise ParameterError(f"cv: expected 0, or a whole number >= {LEAST}, got {shown(count)}")
    if count == 0 or (count is None and not (_is_small(valid) and _fit_together(train, valid))):
        return ()
    rows, number = train.append(valid), FOLDS if count is None else count
    if (fewest := _fewest(rows, classes=classes)) < number:
        if count is None:
            return ()
        what = "rows" if rows.units is None else "queries" if rows.groups is None else "groups"
        what += " of each class" if classes else ""
        raise ParameterError(f"cv: {count} need as many {what}, the smallest number in train and valid is {fewest}")
    fold = _number_folds(rows, number, seed, classes=classes)
    return tuple(_make_fold(rows, fold, k, number) for k in range(number))


def count_outer_folds(train: Rows, valid: Rows, *, classes: bool) -> int:
    """Return the number of folds that repeat a whole search, if rows or events are few; else 0.

    Events are the rows of the rarest class. There are few folds, as each repeats all fits of the search.
    """
    if not _fit_together(train, valid):
        return 0
    rows = _without_columns(train).append(_without_columns(valid))  # large tables are only counted
    fewest = _fewest(rows, classes=classes)
    few = len(rows.y) <= _FEW_SEARCHED or (classes and fewest <= _FEW_EVENTS)
    return _OUTER if few and fewest >= _FEWEST_HALVED else 0


def halves_of(train: Rows, valid: Rows, *, classes: bool) -> tuple[Fold, ...]:
    """Divide valid into two halves that stop the training and estimate in turn; () if valid has too few of a class."""
    if len(valid.y) < _FEWEST_HALVED or _fewest(valid, classes=classes) < _FEWEST_HALVED:
        return ()
    half = _number_folds(valid, 2, 0, classes=classes)
    places = [np.flatnonzero(half == k) for k in range(2)]
    return tuple(Fold(train, valid.take(other), valid.take(out), out) for out, other in (places, places[::-1]))


def folds_alike(train: Rows, valid: Rows, *, classes: bool) -> tuple[Fold, ...]:
    """Divide train and valid into folds whose other rows train and stop in the shares of train and valid.

    They are for models that valid chooses in detail: with fewer rows to choose by, these would be much worse. There are
    none if valid has so many rows that it estimates its own choices well, or if a class has too few.
    """
    if len(valid.y) > _CHOOSE_WELL or not _fit_together(train, valid):
        return ()
    rows, made = train.append(valid), []
    if _fewest(rows, classes=classes) < _FEWEST_HALVED:
        return ()
    fold = _number_folds(rows, FOLDS, 0, classes=classes)
    for k in range(FOLDS):
        out, rest = np.flatnonzero(fold == k), rows.take(np.flatnonzero(fold != k))
        kept = rest.hold_out(len(valid.y) / len(rows.y), 0, classes=classes)
        made.append(Fold(rest.take(kept[0]), rest.take(kept[1]), rows.take(out), out))
    return tuple(made)


def _kinds_and_units(rows: Rows, *, classes: bool) -> tuple[I8, I8]:
    """Return the class of each row, or 0, and the number of its group or query, or its own: int64 (n,) each."""
    kinds = np.unique(np.asarray(rows.y), return_inverse=True)[1] if classes else np.zeros(len(rows.y), np.int64)
    return kinds, np.arange(len(rows.y)) if rows.units is None else rows.units


def _absent(rows: Rows) -> B1 | None:
    """Return which rows have a weight of 0, if any: bool (n,)."""
    absent = None if rows.weight is None else np.asarray(rows.weight) == 0
    return absent if absent is not None and absent.any() else None


def _without_columns(rows: Rows) -> Rows:
    return evolve(rows, X=np.empty((len(rows.y), 0)))


def _fewest(rows: Rows, *, classes: bool) -> int:
    """Return the number of rows, queries or groups of the class with the fewest, of those with a weight above 0."""
    kinds, units = _kinds_and_units(rows, classes=classes)
    if (absent := _absent(rows)) is not None:
        kinds, units = kinds[~absent], units[~absent]
    room = int(units.max(initial=0)) + 1
    return int(np.unique(np.unique(kinds * room + units) // room, return_counts=True)[1].min(initial=len(rows.y)))


def _number_folds(rows: Rows, number: int, seed: int, *, classes: bool) -> I8:
    """Return a fold for each row, with whole queries and groups, and even shares of classes: int64 (n,)."""
    if classes and rows.groups is not None:
        return rows.fold_groups(number, seed)
    kinds, units = _kinds_and_units(rows, classes=classes)
    if (absent := _absent(rows)) is not None:
        kinds = np.where(absent, kinds.max() + 1, kinds)  # so that the others are dealt evenly
    first = np.unique(units, return_index=True)[1]
    return _deal(kinds[first], number, np.random.default_rng(seed))[units]


def folds_by(train: Rows, valid: Rows, splitter: Any, order: I8) -> tuple[Fold, ...]:
    """Divide train and valid into the parts that a splitter of scikit-learn holds out, one after another.

    `order`, int64, has the number of each row of train, then of valid, in the table that the splitter splits. It must
    hold out each row once, and groups or queries as a whole.
    """
    from sklearn.model_selection import check_cv

    rows, place = train.append(valid), np.argsort(order)
    table = rows.take(place)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The groups parameter is ignored")  # the check below finds cut queries
            parts = list(check_cv(splitter).split(table.X, np.asarray(table.y), table.units))
    except (TypeError, ValueError) as error:
        hint = "; give groups to fit" if table.units is None and "groups" in str(error) else ""
        raise ParameterError(f"cv: {str(error).removesuffix('.')}{hint}") from error
    kind, n = type(splitter).__name__, len(order)
    if len(parts) < LEAST:
        raise ParameterError(f"cv: expected at least {LEAST} parts, got {len(parts)} of {kind}")
    held = np.concatenate([out for _, out in parts])
    if not np.array_equal(np.sort(held), np.arange(n)) or any(len(rest) + len(out) != n for rest, out in parts):
        raise ParameterError(f"cv: expected a splitter that holds out each row once, as KFold does, got {kind}")
    fold = np.empty(n, np.int64)
    for number, (_, out) in enumerate(parts):
        fold[place[out]] = number
    units = np.arange(n) if rows.units is None else rows.units
    if len(np.unique(units * len(parts) + fold)) > len(np.unique(units)):
        what = "queries" if rows.groups is None else "groups"
        raise ParameterError(f"cv: expected a splitter that holds out whole {what}, as GroupKFold does, got {kind}")
    return tuple(_make_fold(rows, fold, number, len(parts)) for number in range(len(parts)))


def _is_small(valid: Rows) -> bool:
    few_units = valid.units is not None and len(np.unique(valid.units)) < FEW_QUERIES
    return few_units or (valid.qid is None and len(valid.y) < FEW_ROWS)


def _fit_together(train: Rows, valid: Rows) -> bool:
    """Return whether the rows of both can form one table: frames with the same columns."""
    if type(train.X) is not type(valid.X) or hasattr(train.X, "toarray"):
        return False
    kinds = [(list(rows.X.columns), list(rows.X.dtypes)) for rows in (train, valid) if hasattr(rows.X, "dtypes")]
    return not kinds or kinds[0] == kinds[1]


def _deal(kinds: I8, number: int, rng: np.random.Generator) -> I8:
    """Return the folds of n items, dealt in turn and in random order, kind by kind: int64 (n,)."""
    order = rng.permutation(len(kinds))
    fold = np.empty(len(kinds), np.int64)
    fold[order[np.argsort(kinds[order], kind="stable")]] = np.arange(len(kinds)) % number
    return fold


def _make_fold(rows: Rows, fold: I8, k: int, number: int) -> Fold:
    out, valid = np.flatnonzero(fold == k), np.flatnonzero(fold == (k + 1) % number)
    rest = np.flatnonzero((fold != k) & (fold != (k + 1) % number))
    return Fold(rows.take(rest), rows.take(valid), rows.take(out), out)
