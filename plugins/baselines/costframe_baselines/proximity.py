"""The proximity rule of early exits in rankings: rows leave that score far below the fifth best of their query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_baselines.exits import ExitTable

__all__ = ["drop_rows", "proximity_exits", "tried_proximities"]

_PLACE = 5  # of the row to which all others of the query are compared


def fifth_best(scores: NDArray[np.float64], qid: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the fifth best score of each row's query, minus infinity for queries of fewer rows: float64 (n,).

    Queries are numbers from 0, as from `check_queries`; some may have no row.
    """
    size = np.bincount(qid)
    best = scores[np.lexsort((-scores, qid))]
    fifth, enough = np.full(len(size), -np.inf), size >= _PLACE
    fifth[enough] = best[(np.cumsum(size) - size)[enough] + _PLACE - 1]
    return np.asarray(fifth[qid])


def drop_rows(
    scores: NDArray[np.float64], qid: NDArray[np.int64], number: int, n_exits: int, s: float
) -> NDArray[np.bool_]:
    """Return the rows that leave at exit i = `number` of E = `n_exits`, of those still there: bool (n,).

    They score below the fifth best of their query by at least (E - i) s / (E - 1); all stay in a query of fewer rows.
    Sample weights have no effect, as predictions know none.
    """
    gap = fifth_best(scores, qid) - scores
    return (gap > 0) & (gap >= (n_exits - number) / (n_exits - 1) * s)


def proximity_exits(table: ExitTable, s: float) -> NDArray[np.int64]:
    """Return the exit of each row of a table with queries: int64 (n,)."""
    assert table.rows.qid is not None  # noqa: S101 - rankings have queries
    last, n = len(table.scores) - 1, len(table.rows)
    if s == -np.inf:
        return np.zeros(n, np.int64)
    rows, exits = np.arange(n), np.full(n, last)
    for number in range(1, last) if s < np.inf else ():
        leaves = drop_rows(table.scores[number, rows, 0], table.rows.qid[rows], number, last, s)
        exits[rows[leaves]] = number
        rows = rows[~leaves]
    return exits


def tried_proximities(table: ExitTable) -> NDArray[np.float64]:
    """Return the thresholds s at which a row leaves at an exit, if none left before: float64, distinct, ascending."""
    assert table.rows.qid is not None  # noqa: S101 - rankings have queries
    last, found = len(table.scores) - 1, [np.empty(0)]
    for number in range(1, last):
        gap = fifth_best(table.scores[number, :, 0], table.rows.qid) - table.scores[number, :, 0]
        found.append(gap[(gap > 0) & (gap < np.inf)] * (last - 1) / (last - number))
    return np.unique(np.concatenate(found))
