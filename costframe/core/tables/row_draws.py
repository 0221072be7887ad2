"""Draws and samples of rows: at random kind by kind, and by hashes, the same rows in any order of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1, F8, I8
from costframe.core.sums import to_grid
from costframe.core.tables.row_hashes import hash_table
from costframe.core.workers import ALONE, Workers

_Sample = tuple[NDArray[np.uint64], F8, F8, F8]
_BEGIN = (3 - 5**0.5) / 2  # of the first step: irrational, so that no step ends between two rows of equal weights
_SPREAD = 0x9E3779B97F4A7C15  # an odd number without pattern


def shuffle_kinds(kinds: I8, rng: np.random.Generator) -> tuple[I8, I8]:
    """Return the place of each item, kind after kind and each in random order, and its kind's first place: (n,)."""
    order = rng.permutation(len(kinds))
    order = order[np.argsort(kinds[order], kind="stable")]
    place = np.empty(len(kinds), np.int64)
    place[order] = np.arange(len(kinds))
    return place, np.searchsorted(kinds[order], kinds)


def draw(hashes: NDArray[np.uint64], share: float, number: int) -> B1:
    """Draw about this share of the rows, bool (n,), by their hashes and the number of the draw."""
    mixed = hash_table(np.empty((len(hashes), 0)), hashes ^ np.uint64(number * _SPREAD % 2**64))
    return np.asarray(uniform(mixed) < share)


def uniform(hashes: NDArray[np.uint64]) -> F8:
    """Return hashes as numbers from 0 to 1, of the same shape."""
    return np.asarray((hashes >> np.uint64(11)) * 2.0**-53)


def sample_rows(
    X: Any, weight: F8 | None, most: int, workers: Workers = ALONE, shares: F8 | None = None
) -> tuple[F8, F8, F8]:
    """Return the `most` distinct rows of all workers with the smallest hashes, and the weights of all their copies.

    These are float64 (m, d) and (m,), of rows (n, d) and their weights, ones by default; with them is the mean of the
    copies' `shares`, from (n, K) to (m, K), which sum to one, or have no columns by default. Rows whose weights are too
    small to count have equal shares.
    """
    weights = np.ones(len(X)) if weight is None else to_grid(np.asarray(weight, np.float64), workers)  # sums are exact
    parts = np.empty((len(X), 0)) if shares is None else shares * weights[:, np.newaxis]
    candidates = _smallest([(hash_table(X), weights, np.asarray(parts, np.float64), X)], most)
    _, mass, parts, rows = _smallest(workers.gather(candidates), most)
    counts = mass[:, np.newaxis] > 0
    return rows, mass, np.where(counts, parts, 1.0) / np.where(counts, mass[:, np.newaxis], max(parts.shape[1], 1))


def _smallest(parts: list[_Sample], most: int) -> _Sample:
    """Return the rows with the smallest hashes, without copies, of samples of hashes, weights, their parts and rows."""
    every = np.concatenate([part[0] for part in parts])
    few = np.partition(every, 4 * most)[: 4 * most] if len(every) > 4 * most else every  # enough without many copies
    known = np.unique(few)[:most]
    if len(known) < most:
        known = np.unique(every)[:most]
    limit = known[-1] if len(known) else 0
    near = [part[0] <= limit for part in parts]  # the others need not be copied
    hashes, mass, divided, rows = (
        np.concatenate([part[at][chosen] for part, chosen in zip(parts, near, strict=True)]) for at in range(4)
    )
    _, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    masses = np.asarray(np.bincount(place, mass, len(known)), np.float64)
    sums = np.zeros((len(known), divided.shape[1]))
    np.add.at(sums, place, divided)
    return known, masses, sums, np.ascontiguousarray(rows[first], np.float64)


@frozen(eq=False)
class RowDraw:
    """Drawn rows."""

    rows: I8  # (m,)
    share: F8  # (m,): their weights, which sum to one

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values, (m, ...), of the drawn rows, given those of all rows, (n, ...)."""
        return values[self.rows]


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
    keys = ascending[np.minimum(np.searchsorted(ends[1:], wanted), len(ascending) - 1)]
    drawn, times = np.unique(keys, return_counts=True)
    return RowDraw(by_key[np.searchsorted(ascending, drawn)], times / most)
