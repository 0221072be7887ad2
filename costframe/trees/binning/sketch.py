"""What the choice of bins needs to know of a table, from one pass over blocks of rows, of any number of workers.

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
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe.core.workers import Workers

    Blocks = Iterator[tuple[NDArray[np.generic], NDArray[np.float64] | None]]

__all__ = ["Sketch", "WeightedTable"]


@frozen(eq=False)
class WeightedTable:
    """Rows to choose bins from: those of positive weight, block by block.

    Attributes
    ----------
    table : (n, d), or a table of blocks
    weight : float64 (n,) or None
        On a grid, for exact sums; None if all are equal.
    kept : bool (n,) or None
        Rows of positive weight; None for all.
    n_rows, total_weight : int, float
        Of all workers, where weights are not None.
    """

    table: NDArray[np.generic]
    weight: NDArray[np.float64] | None
    kept: NDArray[np.bool_] | None
    n_rows: int
    total_weight: float
    workers: Workers

    @classmethod
    def of(cls, table: NDArray[np.generic], weight: NDArray[np.float64] | None, workers: Workers) -> WeightedTable:
        """Leave out rows of weight zero, and weights that are all equal."""
        if weight is None:
            return cls(table, None, None, workers.count_all(len(table)), 0.0, workers)
        kept = weight > 0
        n_rows, dropped = workers.count_all(int(np.count_nonzero(kept))), workers.any(not kept.all())
        largest = workers.largest(weight.max(initial=0.0))
        some = kept if dropped else None
        if not workers.any((kept & (weight != largest)).any()):
            return cls(table, None, some, n_rows, 0.0, workers)
        grid = to_grid(weight, workers)
        return cls(table, grid, some, n_rows, exact_sum(grid, workers), workers)

    def blocks(self) -> Blocks:
        """Yield blocks of rows with their weights."""
        begin = 0
        for block in self.table.blocks() if hasattr(self.table, "blocks") else [self.table]:
            here = slice(begin, begin + len(block))
            begin += len(block)
            weight = None if self.weight is None else self.weight[here]
            if self.kept is not None and not self.kept[here].all():
                some = self.kept[here]
                yield block[some], None if weight is None else weight[some]
            else:
                yield block, weight

    def values_of(self, columns: list[int]) -> dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return all distinct values, ascending, and their weights, of some columns that have rather few."""
        if not columns:
            return {}
        found: list[list[tuple[NDArray[np.float64], NDArray[np.float64]]]] = [[] for _ in columns]
        for block, weight in self.blocks():
            for each, column in zip(found, columns, strict=True):
                each.append(distinct(np.ascontiguousarray(block[:, column], np.float64), weight))
        joined = self.workers.gather([_join(each) for each in found])
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
        few: list[list[NDArray[np.float64] | None]] = []
        sampled: list[tuple[NDArray[np.generic], NDArray[np.float64] | None]] = []
        for block, weight in rows.blocks():
            few.append(few_values(block, limit, n_threads=n_threads))
            sampled.append(_draw(block, weight, rows, most, n_threads) if rows.n_rows > most else (block, weight))
        few = [each for part in rows.workers.gather(few) for each in part]
        sampled = [each for part in rows.workers.gather(sampled) for each in part]
        if len(sampled) == 1:
            return cls(few[0], *sampled[0])
        weight = None if rows.weight is None else np.concatenate([w for _, w in sampled if w is not None])
        joined = [join_few(list(column), limit) for column in zip(*few, strict=True)]
        return cls(joined, np.concatenate([block for block, _ in sampled]), weight)


def _draw(
    block: NDArray[np.generic], weight: NDArray[np.float64] | None, rows: WeightedTable, most: int, n_threads: int
) -> tuple[NDArray[np.generic], NDArray[np.float64] | None]:
    """Draw rows by their hashes; a heavy row counts for its weight, others for one."""
    place = (hash_table(block, n_threads=n_threads) >> np.uint64(11)) * 2.0**-53  # in [0, 1)
    if weight is None:
        return block[place < most / rows.n_rows], None
    share = weight * (most / rows.total_weight)
    drawn = place < share
    return block[drawn], np.maximum(share[drawn], 1.0)
