"""Draws of rows by weight that depend neither on the order of rows nor on how they are dealt into parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from attrs import frozen

from costframe.core.tables.row_hashes import hash_table
from costframe.core.workers import ALONE, Workers

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

__all__ = ["RowDraw", "draw_rows", "hash_rows"]

_BEGIN = (3 - 5**0.5) / 2  # of the first step: irrational, so that no step ends between two rows of equal weights
_BITS = 4  # of a key that one round finds

V = TypeVar("V", bound="NDArray[Any]")


@frozen(eq=False)
class RowDraw:
    """Rows drawn from those of all workers, in an order that all know.

    Attributes
    ----------
    rows : int64 (m,)
        Those of this worker.
    order : int64 (M,)
        Places of all drawn rows in the list of all workers' rows, by rank.
    share : float64 (M,)
        Weights of all drawn rows; they sum to one.
    workers : Workers
    """

    rows: NDArray[np.int64]
    order: NDArray[np.int64]
    share: NDArray[np.float64]
    workers: Workers = ALONE

    def of(self, values: V) -> V:
        """Return the values, (M, ...), of the drawn rows of all workers, given those of this one's rows, (n, ...)."""
        found: V = np.concatenate(self.workers.gather(values[self.rows]))[self.order]  # type: ignore[assignment]
        return found


def hash_rows(columns: Iterable[Any], n_rows: int) -> NDArray[np.uint64]:
    """Return a hash of each row's values in columns, (n_rows,) each: uint64 (n_rows,)."""
    found = np.zeros(n_rows, np.uint64)
    for column in columns:
        found = hash_table(column[:, np.newaxis], found)
    return found


def draw_rows(key: NDArray[np.uint64], weight: NDArray[np.float64], most: int, workers: Workers = ALONE) -> RowDraw:
    """Return all rows, or `most` drawn by weight at equal distances in the order of keys, if there are more.

    Parameters
    ----------
    key : uint64 (n,)
        Of each row; rows with equal keys must be alike. Has no effect on few rows.
    weight : float64 (n,)
        Not all workers' are zero.
    most : int
    workers : Workers
    """
    if workers.count_all(len(weight)) <= most:
        everyone = np.concatenate(workers.gather(weight))
        return RowDraw(np.arange(len(weight)), np.arange(len(everyone)), everyone / everyone.sum(), workers)
    by_key = np.argsort(key, kind="stable")
    ascending, ends = key[by_key], np.append(0.0, np.cumsum(weight[by_key]))
    total = float(workers.add_up(ends[-1:])[0])
    drawn, times = np.unique(
        _find_keys(ascending, ends, total * (np.arange(most) + _BEGIN) / most, workers), return_counts=True
    )
    at = np.searchsorted(ascending, drawn)
    there = np.append(ascending, np.uint64(0))[at] == drawn
    there &= at < len(key)
    owner = workers.count - workers.max(np.where(there, float(workers.count - workers.rank), 0.0)).astype(np.int64)
    order = np.argsort(np.argsort(owner, kind="stable"), kind="stable")
    return RowDraw(by_key[at[there & (owner == workers.rank)]], order, times / most, workers)


def _find_keys(
    ascending: NDArray[np.uint64], ends: NDArray[np.float64], wanted: NDArray[np.float64], workers: Workers
) -> NDArray[np.uint64]:
    """Return the least keys up to which all workers' rows have the wanted weights: uint64 (wanted,)."""
    if workers.count == 1:
        return ascending[np.minimum(np.searchsorted(ends[1:], wanted), len(ascending) - 1)]
    found = np.zeros(len(wanted), np.uint64)
    for shift in range(64 - _BITS, -1, -_BITS):
        known, place = np.unique(found, return_inverse=True)
        steps = np.arange(1, 2**_BITS, dtype=np.uint64) << np.uint64(shift)
        below = ends[np.searchsorted(ascending, known[:, np.newaxis] + (steps - np.uint64(1)), side="right")]
        passed = (workers.add_up(below)[place] < wanted[:, np.newaxis]).sum(axis=1)
        found += passed.astype(np.uint64) << np.uint64(shift)
    return found
