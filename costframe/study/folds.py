"""Folds of train and valid: of a number, by a splitter, of valid alone, or in the shares of both."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import B1, I8
from costframe.core.errors import ParameterError, shown
from costframe.core.tables.row_draws import shuffle_kinds
from costframe.study.rows import StudyRows

FOLDS, LEAST = 5, 3  # one fold is held out, one stops the training, the others train
FEW_ROWS, FEW_QUERIES = 1000, 100  # with fewer in valid, folds improve the estimates
_CHOOSE_WELL = 10_000  # rows of valid
_FEW_SEARCHED, _FEW_EVENTS, _OUTER = 5_000, 200, 3  # most rows and events that repeat a search, and number of its folds
_FEWEST_HALVED = 10  # rows, queries or groups of each class in valid; scores of fewer are often undefined


@frozen(eq=False)
class Fold:
    """Rows for training, for early stopping, and for estimates."""

    train: StudyRows
    valid: StudyRows
    out: StudyRows
    place: I8  # (rows of out,): positions among all rows that folds hold out, of train before valid


def folds_of(
    train: StudyRows, valid: StudyRows, count: int | None, *, classes: bool, seed: int = 0
) -> tuple[Fold, ...]:
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


def count_outer_folds(train: StudyRows, valid: StudyRows, *, classes: bool) -> int:
    """Return the number of folds that repeat a whole search, if rows or events are few; else 0.

    Events are the rows of the rarest class. There are few folds, as each repeats all fits of the search.
    """
    if not _fit_together(train, valid):
        return 0
    rows = _without_columns(train).append(_without_columns(valid))  # large tables are only counted
    fewest = _fewest(rows, classes=classes)
    few = len(rows.y) <= _FEW_SEARCHED or (classes and fewest <= _FEW_EVENTS)
    return _OUTER if few and fewest >= _FEWEST_HALVED else 0


def halves_of(train: StudyRows, valid: StudyRows, *, classes: bool) -> tuple[Fold, ...]:
    """Divide valid into two halves that stop the training and estimate in turn; () if valid has too few of a class."""
    if len(valid.y) < _FEWEST_HALVED or _fewest(valid, classes=classes) < _FEWEST_HALVED:
        return ()
    half_of = _number_folds(valid, 2, 0, classes=classes)
    places = [np.flatnonzero(half_of == k) for k in range(2)]
    return tuple(Fold(train, valid.take(other), valid.take(out), out) for out, other in (places, places[::-1]))


def folds_alike(train: StudyRows, valid: StudyRows, *, classes: bool) -> tuple[Fold, ...]:
    """Divide train and valid into folds whose other rows train and stop in the shares of train and valid.

    They are for models that valid chooses in detail: with fewer rows to choose by, these would be much worse. There are
    none if valid has so many rows that it estimates its own choices well, or if a class has too few.
    """
    if len(valid.y) > _CHOOSE_WELL or not _fit_together(train, valid):
        return ()
    rows, folds = train.append(valid), []
    if _fewest(rows, classes=classes) < _FEWEST_HALVED:
        return ()
    fold = _number_folds(rows, FOLDS, 0, classes=classes)
    for k in range(FOLDS):
        out, rest = np.flatnonzero(fold == k), rows.take(np.flatnonzero(fold != k))
        training, stopping = map(rest.take, rest.hold_out(len(valid.y) / len(rows.y), 0, classes=classes))
        folds.append(Fold(training, stopping, rows.take(out), out))
    return tuple(folds)


def folds_by(train: StudyRows, valid: StudyRows, splitter: Any, order: I8) -> tuple[Fold, ...]:
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


def _kinds_and_units(rows: StudyRows, *, classes: bool) -> tuple[I8, I8]:
    """Return the class of each row, or 0, and the number of its group or query, or its own: int64 (n,) each."""
    kinds = np.unique(np.asarray(rows.y), return_inverse=True)[1] if classes else np.zeros(len(rows.y), np.int64)
    return kinds, np.arange(len(rows.y)) if rows.units is None else rows.units


def _absent(rows: StudyRows) -> B1 | None:
    """Return which rows have a weight of 0, if any: bool (n,)."""
    absent = None if rows.weight is None else np.asarray(rows.weight) == 0
    return absent if absent is not None and absent.any() else None


def _without_columns(rows: StudyRows) -> StudyRows:
    return evolve(rows, X=np.empty((len(rows.y), 0)))


def _fewest(rows: StudyRows, *, classes: bool) -> int:
    """Return the number of rows, queries or groups of the class with the fewest, of those with a weight above 0."""
    kinds, units = _kinds_and_units(rows, classes=classes)
    if (absent := _absent(rows)) is not None:
        kinds, units = kinds[~absent], units[~absent]
    room = int(units.max(initial=0)) + 1
    return int(np.unique(np.unique(kinds * room + units) // room, return_counts=True)[1].min(initial=len(rows.y)))


def _number_folds(rows: StudyRows, number: int, seed: int, *, classes: bool) -> I8:
    """Return a fold for each row, with whole queries and groups, and even shares of classes: int64 (n,)."""
    if classes and rows.groups is not None:
        return rows.fold_groups(number, seed)
    kinds, units = _kinds_and_units(rows, classes=classes)
    if (absent := _absent(rows)) is not None:
        kinds = np.where(absent, kinds.max() + 1, kinds)  # so that the others are dealt evenly
    first = np.unique(units, return_index=True)[1]
    place, _ = shuffle_kinds(kinds[first], np.random.default_rng(seed))
    return (place % number)[units]


def _is_small(valid: StudyRows) -> bool:
    few_units = valid.units is not None and len(np.unique(valid.units)) < FEW_QUERIES
    return few_units or (valid.qid is None and valid.least_tested < FEW_ROWS)


def _fit_together(train: StudyRows, valid: StudyRows) -> bool:
    """Return whether the rows of both can form one table: frames with the same columns."""
    if type(train.X) is not type(valid.X) or hasattr(train.X, "toarray"):
        return False
    kinds = [(list(rows.X.columns), list(rows.X.dtypes)) for rows in (train, valid) if hasattr(rows.X, "dtypes")]
    return not kinds or kinds[0] == kinds[1]


def _make_fold(rows: StudyRows, fold: I8, k: int, number: int) -> Fold:
    out, valid = np.flatnonzero(fold == k), np.flatnonzero(fold == (k + 1) % number)
    rest = np.flatnonzero((fold != k) & (fold != (k + 1) % number))
    return Fold(rows.take(rest), rows.take(valid), rows.take(out), out)
