"""What the choice of bins needs to know of a table, from one pass over its rows, of any number of workers.

A sample has rows by the hash of their values, so it depends neither on the order of rows nor on how they are dealt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.exact_sums import exact_sum, to_grid
from costframe.core.tables.row_hashes import hash_table
from costframe.trees.binning.thresholds import distinct, few_values, join_few

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.workers import Workers

__all__ = ["Sketch", "WeightedTable"]


@frozen(eq=False)
class WeightedTable:
    """Rows to choose bins from: those of positive weight.

    Attributes
    ----------
    table : (n, d)
    weight : float64 (n,) or None
        On a grid, for exact sums; None if all are equal.
    n_rows, total_weight : int, float
        Of all workers, where weights are not None.
    """

    table: NDArray[np.generic]
    weight: NDArray[np.float64] | None
    n_rows: int
    total_weight: float
    workers: Workers

    @classmethod
    def of(cls, table: NDArray[np.generic], weight: NDArray[np.float64] | None, workers: Workers) -> WeightedTable:
        """Leave out rows of weight zero, and weights that are all equal."""
        if weight is None:
            return cls(table, None, workers.count_all(len(table)), 0.0, workers)
        kept = weight > 0
        n_rows, largest = workers.count_all(int(np.count_nonzero(kept))), workers.largest(weight.max(initial=0.0))
        some = table if kept.all() else table[kept]
        if not workers.any((kept & (weight != largest)).any()):
            return cls(some, None, n_rows, 0.0, workers)
        grid = to_grid(weight, workers)
        return cls(some, grid[kept], n_rows, exact_sum(grid, workers), workers)

    def values_of(self, columns: list[int]) -> dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return all distinct values, ascending, and their weights, of some columns that have rather few."""
        if not columns:
            return {}
        table, weight = self.table, self.weight
        found = [distinct(np.ascontiguousarray(table[:, column], np.float64), weight) for column in columns]
        joined = self.workers.gather(found)
        return {column: _join([part[at] for part in joined]) for at, column in enumerate(columns)}


def _join(
    parts: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Join distinct values with weights of several parts."""
    if len(parts) == 1:
        return parts[0]
    values, masses = (np.concatenate([np.empty(0), *each]) for each in zip(*parts, strict=True))
    return distinct(values, masses)


@frozen(eq=False)
class Sketch:
    """The values of columns with few, and a sample of rows for the others.

    Attributes
    ----------
    few : list of float64 (at most `limit`,) or None
        Distinct values of each column, ascending and without NaN; None for a column with more.
    sample : (m, d)
        All rows, or some 200,000 of them.
    weight : float64 (m,) or None
        What each counts for; None for ones.
    """

    few: list[NDArray[np.float64] | None]
    sample: NDArray[np.generic]
    weight: NDArray[np.float64] | None

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


def _draw(rows: WeightedTable, most: int, n_threads: int) -> tuple[NDArray[np.generic], NDArray[np.float64] | None]:
    """Draw rows by their hashes; a heavy row counts for its weight, others for one."""
    place = (hash_table(rows.table, n_threads=n_threads) >> np.uint64(11)) * 2.0**-53  # in [0, 1)
    if rows.weight is None:
        return rows.table[place < most / rows.n_rows], None
    share = rows.weight * (most / rows.total_weight)
    drawn = place < share
    return rows.table[drawn], np.maximum(share[drawn], 1.0)
