"""Folds of train and valid: held-out rows, and rows that train and stop the training in each fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.frontier.rows import Rows

__all__ = ["Fold", "folds_of"]

FOLDS, LEAST = 5, 3  # one fold is held out, one stops the training, the others train
FEW_ROWS, FEW_QUERIES = 1000, 100  # with fewer in valid, folds improve the estimates


@frozen(eq=False)
class Fold:
    """Rows for training, for early stopping, and for estimates.

    Attributes
    ----------
    train, valid, out : Rows
    place : int64 (rows of out,)
        Positions of these among the rows of train followed by those of valid.
    """

    train: Rows
    valid: Rows
    out: Rows
    place: NDArray[np.int64]


def folds_of(train: Rows, valid: Rows, count: int | None, *, classes: bool, seed: int = 0) -> tuple[Fold, ...]:
    """Divide train and valid into folds; return () if valid is large, or a class or the queries are too few.

    Parameters
    ----------
    train, valid : Rows
    count : int or None
        Number of folds, 0 for none; None chooses the default number or none.
    classes : bool
        Whether the labels are classes, which folds share evenly.
    seed : int
    """
    whole = count is None or (isinstance(count, int | np.integer) and not isinstance(count, bool))
    if not whole or (count is not None and (count < 0 or 0 < count < LEAST)):
        raise ParameterError(f"folds: expected 0, or a whole number >= {LEAST}, got {count!r}")
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
