"""The proximity rule of early exits in rankings: rows leave that score far below the fifth best of their query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_baselines.exits import ExitTable

__all__ = ["QueryOrder", "drop_rows", "proximity_exits", "tried_proximities"]

_PLACE = 5  # of the row to which all others of the query are compared
_ROUNDING = 1e-9


@frozen(eq=False)
class QueryOrder:
    """Queries of rows, numbered from 0.

    Attributes
    ----------
    query : int64 (n,)
    weight : float64 (n,)
        A row of weight two is two rows.
    """

    query: NDArray[np.int64]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, qid: NDArray[np.int64], weight: NDArray[np.float64] | None = None) -> QueryOrder:
        """Give queries numbers."""
        query = np.unique(qid, return_inverse=True)[1].astype(np.int64)
        return cls(query, np.ones(len(qid)) if weight is None else weight)

    def take(self, rows: NDArray[np.int64]) -> QueryOrder:
        """Keep some rows."""
        return QueryOrder(self.query[rows], self.weight[rows])

    def fifth_best(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the fifth best score of each row's query, minus infinity for queries of fewer rows: float64 (n,)."""
        if not len(scores):
            return np.empty(0)
        order = np.lexsort((-scores, self.query))
        query, weight = self.query[order], self.weight[order]
        begin = np.flatnonzero(np.append(True, np.diff(query) > 0))
        total = np.cumsum(weight)
        before = np.append(0.0, total[begin[1:] - 1])
        place = total - np.repeat(before, np.diff(np.append(begin, len(query))))
        enough = np.flatnonzero(place >= _PLACE - _ROUNDING)
        first = enough[np.unique(query[enough], return_index=True)[1]]
        fifth = np.full(int(self.query.max()) + 1, -np.inf)
        fifth[query[first]] = scores[order][first]
        return np.asarray(fifth[self.query])


def drop_rows(scores: NDArray[np.float64], order: QueryOrder, number: int, n_exits: int, s: float) -> NDArray[np.bool_]:
    """Return the rows that leave at exit i = `number` of E = `n_exits`, of those still there: bool (n,).

    They score below the fifth best of their query by at least (E - i) s / (E - 1); all stay in a query of fewer rows.
    """
    gap = order.fifth_best(scores) - scores
    return (gap > 0) & (gap >= (n_exits - number) / (n_exits - 1) * s)


def proximity_exits(table: ExitTable, s: float) -> NDArray[np.int64]:
    """Return the exit of each row of a table with queries: int64 (n,)."""
    assert table.rows.qid is not None  # noqa: S101 - rankings have queries
    last, n = len(table.scores) - 1, len(table.rows)
    if s == -np.inf:
        return np.zeros(n, np.int64)
    rows, exits = np.arange(n), np.full(n, last)
    order = QueryOrder.of(table.rows.qid, table.rows.weight)
    for number in range(1, last) if s < np.inf else ():
        leaves = drop_rows(table.scores[number, rows, 0], order.take(rows), number, last, s)
        exits[rows[leaves]] = number
        rows = rows[~leaves]
    return exits


def tried_proximities(table: ExitTable) -> NDArray[np.float64]:
    """Return the thresholds s at which a row leaves at an exit, if none left before: float64, distinct, ascending."""
    assert table.rows.qid is not None  # noqa: S101 - rankings have queries
    last, order = len(table.scores) - 1, QueryOrder.of(table.rows.qid, table.rows.weight)
    found = [np.empty(0)]
    for number in range(1, last):
        gap = order.fifth_best(table.scores[number, :, 0]) - table.scores[number, :, 0]
        found.append(gap[(gap > 0) & (gap < np.inf)] * (last - 1) / (last - number))
    return np.unique(np.concatenate(found))
