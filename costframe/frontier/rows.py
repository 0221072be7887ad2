"""Rows of searches and sweeps: parts to hold out, and folds of train and valid."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from sklearn.utils.validation import _num_samples

from costframe.core.errors import DataError, ParameterError, shown
from costframe.core.tables.rows import check_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Fold", "Rows", "folds_of"]

FOLDS, LEAST = 5, 3  # one fold is held out, one stops the training, the others train
FEW_ROWS, FEW_QUERIES = 1000, 100  # with fewer in valid, folds improve the estimates


@frozen(eq=False)
class Rows:
    """Rows of a trial: X (n, d), y (n,), and weights and queries or None."""

    X: Any
    y: Any
    weight: Any = None
    qid: Any = None

    @classmethod
    def of(cls, X: Any, y: Any, weight: Any, qid: Any, suffix: str = "") -> Rows:
        """Make rows; refuse another number of labels, weights or queries than rows."""
        if y is None:
            raise DataError(f"y{suffix}: expected one label a row, got None")
        try:
            n = _num_samples(X)
        except TypeError:
            raise DataError(f"X{suffix}: expected a table of rows, got {type(X).__name__}") from None
        if weight is not None and np.ndim(weight) == 0:
            weight = check_weights(weight, n, f"sample_weight{suffix}")
        for name, values in (("y", y), ("sample_weight", weight), ("qid", qid)):
            if values is not None and np.shape(values)[:1] != (n,):
                given = np.shape(values)[0] if np.ndim(values) else repr(values)
                raise DataError(f"{name}{suffix}: expected one value a row, {n}, got {given}")
        try:
            np.unique(np.asarray(y))
        except TypeError as error:
            raise DataError(f"y{suffix}: expected labels of one kind: {error}") from None
        return cls(X, y, weight, qid)

    def hold_out(self, share: float, seed: Any, *, classes: bool) -> tuple[Rows, Rows]:
        """Split into training rows and a held-out share of rows, or of the queries of a ranking."""
        from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
        from sklearn.utils import check_random_state

        try:
            check_random_state(seed)
        except ValueError as error:
            raise ParameterError(f"random_state: {error}") from None
        queries = None if classes else self.qid
        kind = StratifiedShuffleSplit if classes else ShuffleSplit if queries is None else GroupShuffleSplit
        splitter = kind(n_splits=1, test_size=share, random_state=seed)
        try:
            parts = next(splitter.split(np.zeros(len(self.y)), np.asarray(self.y), queries))
        except ValueError as error:
            raise DataError(f"y: no rows can be held out; give X_val and y_val: {error}") from error
        return self.take(parts[0]), self.take(parts[1])

    def codes(self, model: Any) -> NDArray[Any]:
        """Return the labels, as class codes for a classifier, that scores compare predictions with."""
        classes = getattr(model, "classes_", None)
        return np.asarray(self.y, np.float64) if classes is None else np.searchsorted(classes, np.asarray(self.y))

    def take(self, chosen: NDArray[np.int64]) -> Rows:
        """Keep some rows, by number."""
        from sklearn.utils import _safe_indexing

        given = (self.X, self.y, self.weight, self.qid)
        return Rows(*(None if each is None else _safe_indexing(each, chosen) for each in given))

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
        qid = None if self.qid is None else np.concatenate([np.asarray(self.qid), np.asarray(other.qid)])
        return Rows(_stack(self.X, other.X), y, weight, qid)


def _stack(one: Any, other: Any) -> Any:
    """Stack two pandas or polars frames, or two arrays."""
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
    place: NDArray[np.int64]  # (rows of out,): positions among the rows of train followed by those of valid


def folds_of(train: Rows, valid: Rows, count: int | None, *, classes: bool, seed: int = 0) -> tuple[Fold, ...]:
    """Divide train and valid into `count` folds with equal shares of `classes`, if the labels are classes.

    None chooses the default number, or no folds if valid is large, or a class or the queries are too few.
    """
    whole = count is None or (isinstance(count, int | np.integer) and not isinstance(count, bool))
    if not whole or (count is not None and (count < 0 or 0 < count < LEAST)):
        raise ParameterError(f"folds: expected 0, or a whole number >= {LEAST}, got {shown(count)}")
    if count == 0 or (count is None and not (_is_small(valid) and _fit_together(train, valid))):
        return ()
    rows, number = train.append(valid), FOLDS if count is None else count
    groups = np.arange(len(rows.y)) if rows.qid is None else np.unique(np.asarray(rows.qid), return_inverse=True)[1]
    kinds = np.unique(np.asarray(rows.y), return_inverse=True)[1] if classes else np.zeros(len(rows.y), np.int64)
    fewest = int(np.bincount(kinds).min()) if rows.qid is None else int(groups.max()) + 1
    if fewest < number:
        if count is None:
            return ()
        what = "queries" if rows.qid is not None else "rows of each class" if classes else "rows"
        raise ParameterError(f"folds: {count} need as many {what}, the smallest number in train and valid is {fewest}")
    first = np.unique(groups, return_index=True)[1]
    fold = _deal(kinds[first], number, np.random.default_rng(seed))[groups]
    return tuple(_make_fold(rows, fold, k, number) for k in range(number))


def _is_small(valid: Rows) -> bool:
    return len(valid.y) < FEW_ROWS if valid.qid is None else len(np.unique(np.asarray(valid.qid))) < FEW_QUERIES


def _fit_together(train: Rows, valid: Rows) -> bool:
    """Return whether the rows of both can form one table: frames with the same columns."""
    if type(train.X) is not type(valid.X) or hasattr(train.X, "toarray"):
        return False
    kinds = [(list(rows.X.columns), list(rows.X.dtypes)) for rows in (train, valid) if hasattr(rows.X, "dtypes")]
    return not kinds or kinds[0] == kinds[1]


def _deal(kinds: NDArray[np.int64], number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the folds of n items, dealt in turn and in random order, kind by kind: int64 (n,)."""
    order = rng.permutation(len(kinds))
    fold = np.empty(len(kinds), np.int64)
    fold[order[np.argsort(kinds[order], kind="stable")]] = np.arange(len(kinds)) % number
    return fold


def _make_fold(rows: Rows, fold: NDArray[np.int64], k: int, number: int) -> Fold:
    out, valid = np.flatnonzero(fold == k), np.flatnonzero(fold == (k + 1) % number)
    rest = np.flatnonzero((fold != k) & (fold != (k + 1) % number))
    return Fold(rows.take(rest), rows.take(valid), rows.take(out), out)
