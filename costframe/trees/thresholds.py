"""The upper ends of one feature's bins, and what their choice needs to know of a table, from one pass over its rows."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError
from costframe.core.machine import run_parallel
from costframe.core.sums import exact_sum, to_grid
from costframe.core.tables.row_hashes import hash_table
from costframe.core.workers import Workers

_ROWS_PER_PART = 65_536
NO_CATEGORY = np.array([np.inf])  # the only bin of a feature without values; no category is infinite
_CLIPPINGS = 3  # a share shrinks as heavy values are clipped; whole weights stay exact for this many steps


def between_values(values: F8) -> F8:
    """Return a threshold between any two adjacent values of a distinct ascending series, and +inf at the end."""
    return np.append(midpoints(values[:-1], values[1:]), np.inf)


def at_quantiles(values: F8, masses: F8, max_bins: int) -> F8:
    """Choose at most `max_bins` ascending thresholds, with +inf as the last, for more distinct values, ascending, (m,).

    The k-th cut comes after the first value at which the cumulated weight reaches k / max_bins of the whole. A value
    heavier than one bin's share counts as one share, as it fills one bin anyway: a feature with mostly zeros still gets
    fine bins for the rest.
    """
    cuts = _quantile_cuts(masses, max_bins)
    return np.append(midpoints(values[cuts], values[cuts + 1]), np.inf)


def quantile_columns(columns: F8, max_bins: int) -> list[F8 | None]:
    """Choose thresholds as `at_quantiles` does for each contiguous column, (k, n), of rows that count once; sort it.

    None for few values.
    """
    cuts, counts = np.empty((len(columns), max_bins)), np.empty(len(columns), np.int64)
    engine.choose_cuts(columns, _CLIPPINGS, cuts, counts)
    return [column[:count].copy() if count else None for column, count in zip(cuts, counts, strict=True)]


def midpoints(below: F8, above: F8) -> F8:
    """Find a double t with `below <= t < above` for each pair, half-way if rounding and infinities allow."""
    with np.errstate(over="ignore", invalid="ignore"):  # the code below corrects infinities
        middle = below / 2 + above / 2  # never overflows
    return np.where((below <= middle) & (middle < above), middle, below)


def distinct(column: F8, weight: F8 | None) -> tuple[F8, F8]:
    """Find distinct values, ascending and without NaN, and the weight of each: float64 (m,) each."""
    order = None if weight is None else np.argsort(column, kind="stable")
    ordered = np.sort(column) if order is None else column[order]
    ordered = ordered[: np.searchsorted(ordered, np.inf, side="right")]  # NaN is at the end
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)].nonzero()[0]
    if weight is None or order is None:
        masses = np.diff(first, append=len(ordered)).astype(np.float64)
    else:
        masses = np.add.reduceat(weight[order[: len(ordered)]], first) if len(first) else np.empty(0)
    return ordered[first], masses


def _quantile_cuts(masses: F8, max_bins: int) -> I8:
    """Find cuts by max_bins * cumulated weight >= k * whole: exact for whole weights, so that weights equal copies."""
    for _ in range(_CLIPPINGS):
        whole = masses.sum()
        if not (masses * max_bins > whole).any():
            break
        masses = np.minimum(masses * max_bins, whole)
    cumulated = np.cumsum(masses)
    cuts = np.unique(np.searchsorted(cumulated * max_bins, np.arange(1, max_bins) * cumulated[-1]))
    return cuts[cuts < len(masses) - 1]


def choose_categories(values: F8, masses: F8, max_bins: int) -> F8:
    """Choose the categories that have a bin: all, or the `max_bins` heaviest ones, of equals the lowest; ascending.

    Of a column they are given as its distinct values, float64 (m,), and the weight of each, if there are more than
    bins.
    """
    if not np.isfinite(values).all():
        raise DataError("X: categories must be finite numbers or missing, got an infinite one")
    if len(values) > max_bins:
        values = np.sort(values[np.argsort(-masses, kind="stable")[:max_bins]])
    return values if len(values) else NO_CATEGORY


def few_values(table: NDArray[np.generic], limit: int, *, n_threads: int = 1) -> list[F8 | None]:
    """Find the distinct values, ascending and without NaN, of each column with at most `limit` <= 255; None for others.

    It reads all rows of the table (n, d), as a rare value may matter.
    """
    many = np.zeros(table.shape[1], np.bool_)  # columns that later parts may skip

    def collect(first: int) -> list[F8]:
        rows = np.ascontiguousarray(table[first : first + _ROWS_PER_PART], np.float64)
        values, counts = np.empty((table.shape[1], limit)), np.where(many, limit + 1, 0)
        engine.collect_distinct(rows, values, counts)
        many[counts > limit] = True
        return [column[:count] for column, count in zip(values, counts, strict=True)]

    parts = run_parallel(collect, range(0, len(table), _ROWS_PER_PART), n_threads)
    if not parts:
        return [np.empty(0)] * table.shape[1]
    return [
        None if too_many else join_few(list(values), limit)
        for values, too_many in zip(zip(*parts, strict=True), many, strict=True)
    ]


def join_few(parts: list[F8 | None], limit: int) -> F8 | None:
    """Join distinct values of a column in several parts, None for many; return them, or None for more than `limit`."""
    known = [values for values in parts if values is not None]
    joined = np.unique(np.concatenate([np.empty(0), *known]))
    return None if len(known) < len(parts) or len(joined) > limit else joined


@frozen(eq=False)
class WeightedTable:
    """Rows to choose bins from: those of positive weight."""

    table: NDArray[np.generic]  # (n, d)
    weight: F8 | None  # (n,): on a grid, for exact sums; None if all are equal
    # n_rows, total_weight: of all workers, where weights are not None
    n_rows: int
    total_weight: float
    workers: Workers

    @classmethod
    def of(cls, table: NDArray[np.generic], weight: F8 | None, workers: Workers) -> WeightedTable:
        """Leave out rows of weight zero, and weights that are all equal."""
        if weight is None:
            return cls(table, None, workers.count_all(len(table)), 0.0, workers)
        counted = weight > 0
        n_rows, largest = workers.count_all(int(np.count_nonzero(counted))), workers.largest(weight.max(initial=0.0))
        some = table if counted.all() else table[counted]
        if not workers.any((counted & (weight != largest)).any()):
            return cls(some, None, n_rows, 0.0, workers)
        grid = to_grid(weight, workers)
        return cls(some, grid[counted], n_rows, exact_sum(grid, workers), workers)

    def values_of(self, columns: list[int]) -> dict[int, tuple[F8, F8]]:
        """Return all distinct values, ascending, and their weights, of some columns that have rather few."""
        if not columns:
            return {}
        table, weight = self.table, self.weight
        masses_of = [distinct(np.ascontiguousarray(table[:, column], np.float64), weight) for column in columns]
        joined = self.workers.gather(masses_of)
        return {column: _join([part[at] for part in joined]) for at, column in enumerate(columns)}


def _join(parts: list[tuple[F8, F8]]) -> tuple[F8, F8]:
    """Join distinct values with weights of several parts."""
    if len(parts) == 1:
        return parts[0]
    values, masses = (np.concatenate([np.empty(0), *arrays]) for arrays in zip(*parts, strict=True))
    return distinct(values, masses)


@frozen(eq=False)
class Sketch:
    """The values of columns with few, and a sample of rows for the others."""

    # (at most `limit`,): distinct values of each column, ascending and without NaN; None for a column with more
    few: list[F8 | None]
    sample: NDArray[np.generic]  # (m, d): all rows, or some 200,000 of them
    weight: F8 | None  # (m,): what each counts for; None for ones

    @classmethod
    def of(cls, rows: WeightedTable, limit: int, most: int, n_threads: int) -> Sketch:
        """Look at all rows once; a row is in the sample with a probability in proportion to its weight."""
        few = rows.workers.gather(few_values(rows.table, limit, n_threads=n_threads))
        drawn = _draw(rows, most, n_threads) if rows.n_rows > most else (rows.table, rows.weight)
        sampled = rows.workers.gather(drawn)
        if len(sampled) == 1:
            return cls(few[0], *sampled[0])
        weight = None if rows.weight is None else np.concatenate([w for _, w in sampled if w is not None])
        joined = [join_few(list(column), limit) for column in zip(*few, strict=True)]
        return cls(joined, np.concatenate([block for block, _ in sampled]), weight)


def _draw(rows: WeightedTable, most: int, n_threads: int) -> tuple[NDArray[np.generic], F8 | None]:
    """Draw rows by their hashes; a heavy row counts for its weight, others for one."""
    place = (hash_table(rows.table, n_threads=n_threads) >> np.uint64(11)) * 2.0**-53  # in [0, 1)
    if rows.weight is None:
        return rows.table[place < most / rows.n_rows], None
    share = rows.weight * (most / rows.total_weight)
    drawn = place < share
    return rows.table[drawn], np.maximum(share[drawn], 1.0)
