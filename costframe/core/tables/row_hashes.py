"""Hashes of rows, and draws and samples by them: the same rows in any order, and for any number of workers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.machine import run_parallel
from costframe.core.sums import to_grid
from costframe.core.workers import ALONE, Workers

_ROWS_PER_PART = 65_536
_BYTES = 1 << 26  # of a range of hashes that workers exchange
_Sample = tuple[NDArray[np.uint64], F8, F8]
_BEGIN = (3 - 5**0.5) / 2  # of the first step: irrational, so that no step ends between two rows of equal weights
_SPREAD = 0x9E3779B97F4A7C15  # an odd number without pattern


def hash_table(table: Any, start: NDArray[np.uint64] | None = None, *, n_threads: int = 1) -> NDArray[np.uint64]:
    """Return a hash of each row of numbers (n, d), mixed into `start` if given: uint64 (n,); equal for equal rows."""
    hashes = np.zeros(len(table), np.uint64) if start is None else start.copy()

    def hash_part(first: int) -> None:
        rows = np.ascontiguousarray(table[first : first + _ROWS_PER_PART], np.float64)
        engine.hash_rows(rows, hashes[first : first + _ROWS_PER_PART])

    run_parallel(hash_part, range(0, len(table), _ROWS_PER_PART), n_threads)
    return hashes


def draw(hashes: NDArray[np.uint64], share: float, number: int) -> B1:
    """Draw about this share of the rows, bool (n,), by their hashes and the number of the draw."""
    mixed = hash_table(np.empty((len(hashes), 0)), hashes ^ np.uint64(number * _SPREAD % 2**64))
    return np.asarray((mixed >> np.uint64(11)) * 2.0**-53 < share)


def number_copies(hashes: NDArray[np.uint64], workers: Workers = ALONE) -> I8:
    """Count the equal hashes before each, on workers of lower rank and then on this one: int64 (n,)."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    counts, known = np.diff(first, append=len(ordered)), ordered[first]
    before = np.zeros(len(first), np.int64)
    total = workers.count_all(len(known))
    n_ranges = -(-16 * total // _BYTES) if workers.count > 1 else 0  # the memory of a range is limited
    edges = [2**64 * number // n_ranges for number in range(n_ranges)]
    cuts = np.append(np.searchsorted(known, np.array(edges, np.uint64)), len(known)).tolist()
    for begin, end in pairwise(cuts):
        parts = workers.gather((known[begin:end], counts[begin:end]))
        for others, times in parts[: workers.rank]:
            at = np.searchsorted(others, known[begin:end]).clip(max=max(len(others) - 1, 0))
            if len(others):
                before[begin:end] += np.where(others[at] == known[begin:end], times[at], 0)
    copies = np.empty(len(hashes), np.int64)
    copies[order] = np.arange(len(ordered)) + np.repeat(before - first, counts)
    return copies


def sample_rows(X: Any, weight: F8 | None, most: int, workers: Workers = ALONE) -> tuple[F8, F8]:
    """Return the `most` distinct rows of all workers with the smallest hashes, and the weights of all their copies.

    These are float64 (m, d) and (m,), of rows (n, d) and their weights, ones by default.
    """
    grid = None if weight is None else to_grid(np.asarray(weight, np.float64), workers)  # sums are exact
    found = _smallest([(hash_table(X), np.ones(len(X)) if grid is None else grid, X)], most)
    _, mass, rows = _smallest(workers.gather(found), most)
    return rows, mass


def _smallest(parts: list[_Sample], most: int) -> _Sample:
    """Return the rows with the smallest hashes, without copies, of samples of hashes, weights and rows."""
    every = np.concatenate([part[0] for part in parts])
    few = np.partition(every, 4 * most)[: 4 * most] if len(every) > 4 * most else every  # enough without many copies
    known = np.unique(few)[:most]
    if len(known) < most:
        known = np.unique(every)[:most]
    limit = known[-1] if len(known) else 0
    near = [part[0] <= limit for part in parts]  # the others need not be copied
    hashes, mass, rows = (
        np.concatenate([part[at][chosen] for part, chosen in zip(parts, near, strict=True)]) for at in range(3)
    )
    _, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    masses = np.asarray(np.bincount(place, mass, len(known)), np.float64)
    return known, masses, np.ascontiguousarray(rows[first], np.float64)


@frozen(eq=False)
class RowDraw:
    """Drawn rows."""

    rows: I8  # (m,)
    share: F8  # (m,): their weights, which sum to one

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values, (m, ...), of the drawn rows, given those of all rows, (n, ...)."""
        return values[self.rows]


def hash_rows(columns: Iterable[Any], n_rows: int) -> NDArray[np.uint64]:
    """Return a hash of each row's values in columns, (n_rows,) each: uint64 (n_rows,)."""
    found = np.zeros(n_rows, np.uint64)
    for column in columns:
        found = hash_table(column[:, np.newaxis], found)
    return found


def draw_rows(key: NDArray[np.uint64], weight: F8, most: int) -> RowDraw:
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
