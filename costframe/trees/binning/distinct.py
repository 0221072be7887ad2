"""The values of features that have few, found in all rows: a rare value may be the one that matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.threads import run_parallel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["few_values"]

_ROWS_PER_PART = 65_536


def few_values(table: NDArray[np.generic], limit: int, *, n_threads: int = 1) -> list[NDArray[np.float64] | None]:
    """Find the distinct values, ascending and without NaN, of each column that has at most `limit`; None for others.

    Parameters
    ----------
    table : (n, d)
        Numbers.
    limit : int
        At most 255.
    n_threads : int
        Does not change the result.
    """
    from costframe.trees.binning.distinct_kernels import collect_distinct

    many = np.zeros(table.shape[1], np.bool_)  # what one part finds, later ones need not find again

    def collect(first: int) -> list[NDArray[np.float64]]:
        rows = np.ascontiguousarray(table[first : first + _ROWS_PER_PART], np.float64)
        values, counts = np.empty((table.shape[1], limit)), np.where(many, limit + 1, 0)
        collect_distinct(rows, rows.view(np.int64), values, counts)
        many[counts > limit] = True
        return [column[:count] for column, count in zip(values, counts, strict=True)]

    parts = run_parallel(collect, range(0, len(table), _ROWS_PER_PART), n_threads)
    columns = (
        None if too_many else np.unique(np.concatenate(found))
        for found, too_many in zip(zip(*parts, strict=True), many, strict=True)
    )
    return [None if values is None or len(values) > limit else values for values in columns]
