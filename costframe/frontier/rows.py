"""Rows that a trial fits or measures, in whatever form they were given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rows"]


@frozen(eq=False)
class Rows:
    """Rows that a trial fits or measures: X (n, d), y (n,), and weights and queries or None."""

    X: Any
    y: Any
    weight: Any = None
    qid: Any = None

    def codes(self, model: Any) -> NDArray[Any]:
        """Return what scores compare predictions with."""
        classes = getattr(model, "classes_", None)
        return np.asarray(self.y, np.float64) if classes is None else np.searchsorted(classes, np.asarray(self.y))

    def take(self, chosen: NDArray[np.int64]) -> Rows:
        """Keep some rows, by number."""
        from sklearn.utils import _safe_indexing

        given = (self.X, self.y, self.weight, self.qid)
        return Rows(*(None if each is None else _safe_indexing(each, chosen) for each in given))

    def followed_by(self, other: Rows) -> Rows:
        """Append other rows, whose X is of the same kind; weights are ones where only the others have some."""
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
        return Rows(_stacked(self.X, other.X), y, weight, qid)


def _stacked(one: Any, other: Any) -> Any:
    """Put frames of pandas or polars, or arrays, below one another."""
    library = type(one).__module__.partition(".")[0]
    if library in {"pandas", "polars"}:
        return sys.modules[library].concat([one, other])
    return np.concatenate([np.asarray(one), np.asarray(other)])
