"""Draws of rows by weight that do not depend on the order of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.tables.row_hashes import hash_table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

__all__ = ["RowDraw", "draw_rows", "hash_rows"]

_BEGIN = (3 - 5**0.5) / 2  # of the first step: irrational, so that no step ends between two rows of equal weights


@frozen(eq=False)
class RowDraw:
    """Drawn rows.

    Attributes
    ----------
    rows : int64 (m,)
    share : float64 (m,)
        Their weights, which sum to one.
    """

    rows: NDArray[np.int64]
    share: NDArray[np.float64]

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values, (m, ...), of the drawn rows, given those of all rows, (n, ...)."""
        return values[self.rows]


def hash_rows(columns: Iterable[Any], n_rows: int) -> NDArray[np.uint64]:
    """Return a hash of each row's values in columns, (n_rows,) each: uint64 (n_rows,)."""
    found = np.zeros(n_rows, np.uint64)
    for column in columns:
        found = hash_table(column[:, np.newaxis], found)
    return found


def draw_rows(key: NDArray[np.uint64], weight: NDArray[np.float64], most: int) -> RowDraw:
    """Return all rows, or `most` drawn by weight at equal distances in the order of keys, if there are more.

    Parameters
    ----------
    key : uint64 (n,)
        Of each row; rows with equal keys must be alike. Has no effect on few rows.
    weight : float64 (n,)
        Not all zero.
    most : int
    """
    if len(weight) <= most:
        return RowDraw(np.arange(len(weight)), weight / weight.sum())
    by_key = np.argsort(key, kind="stable")
    ascending, ends = key[by_key], np.append(0.0, np.cumsum(weight[by_key]))
    wanted = ends[-1] * (np.arange(most) + _BEGIN) / most
    found = ascending[np.minimum(np.searchsorted(ends[1:], wanted), len(ascending) - 1)]
    drawn, times = np.unique(found, return_counts=True)
    return RowDraw(by_key[np.searchsorted(ascending, drawn)], times / most)
