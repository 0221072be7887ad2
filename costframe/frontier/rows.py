"""Rows of a trial, in the user's form."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from sklearn.utils.validation import _num_samples

from costframe.core.errors import DataError, ParameterError
from costframe.core.tables.rows import check_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rows"]


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
