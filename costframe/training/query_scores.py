"""Scores of rankings, means over queries."""

from __future__ import annotations

import re
from typing import Any, Self

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError

_NAME = re.compile(r"(?:(ndcg)|(precision|average_precision))@([1-9][0-9]{0,17})(?(2)(?::([1-9][0-9]{0,2}))?)")


@frozen
class QueryScore:
    """A score of the first places of each query, 1 at best; the score of a ranking is its mean over queries.

    NDCG has gains 2^y - 1, and counts each document once. For the other scores a document is relevant if its grade is
    at least `least`, by default if it is above half of the largest grade: 1 of 0 and 1, or 3 and 4 of 0 to 4; and a
    document of weight w takes w places, as if given w times. Precision is the share of relevant documents on all k
    places, empty ones are misses. Average precision is the sum of the precisions at relevant documents up to place k,
    divided by the number of relevant documents, at most k. Documents with equal predictions share their places evenly,
    as in scikit-learn; for average precision, the precision at each of them is that of the last.
    """

    kind: str
    places: int  # k, 1 or more
    least: int | None = None  # least relevant grade

    @classmethod
    def named(cls, name: object) -> Self | None:
        """Return the score called "ndcg@k", "precision@k" or "average_precision@k"; ":g" sets the least relevant grade.

        None for other names.
        """
        match = _NAME.fullmatch(name) if isinstance(name, str) else None
        if match is None:
            return None
        least = match[4]
        return cls(match[1] or match[2], int(match[3]), None if least is None else int(least))

    def __call__(self, y: NDArray[Any], p: F8, weight: F8 | None = None, qid: ArrayLike | None = None) -> float:
        """Return the mean over counted queries, see `by_query`; 0 if none counts. Some row must have grade `least`."""
        self.check_grades(y, "score")
        scores = self.by_query(y, p, weight, _numbered(qid, len(p)))
        scores = scores[~np.isnan(scores)]
        return float(scores.mean()) if len(scores) else 0.0

    def check_grades(self, y: NDArray[Any], where: str) -> None:
        """Refuse rows of which none has grade `least`; the error begins with `where`."""
        if self.least is not None and len(y) and (best := np.max(y)) < self.least:
            name = f"{self.kind}@{self.places}:{self.least}"
            raise DataError(f"{where}: no row is relevant for {name}, the highest grade is {best:g}")

    def influence(self, y: NDArray[Any], p: F8, weight: F8 | None, qid: ArrayLike | None) -> F8:
        """Return the influence of each query on the score, at its first row: float64 (n,)."""
        queries = _numbered(qid, len(p))
        scores = self.by_query(y, p, weight, queries)
        counted, moved = ~np.isnan(scores), np.zeros(len(p))
        if counted.any():
            first = np.unique(queries, return_index=True)[1]
            moved[first[counted]] = (scores[counted] - scores[counted].mean()) / counted.sum()
        return moved

    def by_query(self, y: NDArray[Any], p: F8, weight: F8 | None, queries: I8) -> F8:
        """Return the score of each query, numbered from 0: float64 (queries,).

        NaN for a query without a relevant row; NDCG also for a query of one row.
        """
        y, p = np.asarray(y, np.float64), np.asarray(p, np.float64)
        if not len(y):
            return np.empty(0)
        if self.kind == "ndcg":
            gain = 2.0**y - 1
            total = self._dcg(_Tied.of(queries, y, gain, None))
            counted = (np.bincount(queries) > 1) & (total > 0)
            reached = self._dcg(_Tied.of(queries, p, gain, None))
        else:
            relevant = (y > y.max() / 2) if self.least is None else y >= self.least
            worth = np.where(relevant, 1.0 if weight is None else weight, 0.0)
            total = np.asarray(np.bincount(queries, worth), np.float64)
            counted, tied = total > 0, _Tied.of(queries, p, worth, weight)
            if self.kind == "precision":
                reached, total = tied.worth_until(self.places), np.full(len(total), float(self.places))
            else:
                reached, total = tied.precisions_until(self.places), np.minimum(total, self.places)
        return np.asarray(np.divide(reached, total, out=np.full(len(total), np.nan), where=counted), np.float64)

    def _dcg(self, tied: _Tied) -> F8:
        places = min(self.places, int(tied.end.max()))
        discounts = np.append(0.0, np.cumsum(1 / np.log2(np.arange(2, places + 2))))
        first, last = (discounts[np.minimum(at, places).astype(np.int64)] for at in (tied.start, tied.end))
        return np.asarray(np.bincount(tied.query, tied.worth * (last - first) / (tied.end - tied.start)), np.float64)


@frozen(eq=False)
class _Tied:
    """Documents with equal predictions, together, in the order of queries and descending predictions; (m,) each.

    `worth` is the sum of their gains; in their query they take the places from `start` to `end`, numbers >= 0.
    """

    query: I8
    worth: F8
    start: F8
    end: F8

    @classmethod
    def of(cls, queries: I8, p: F8, worth: F8, weight: F8 | None) -> _Tied:
        order = np.lexsort((-p, queries))
        queries, p = queries[order], p[order]
        first = np.flatnonzero(np.append(True, (queries[1:] != queries[:-1]) | (p[1:] != p[:-1])))
        query = queries[first]
        size = np.diff(first, append=len(p)) if weight is None else np.add.reduceat(np.asarray(weight)[order], first)
        end = np.cumsum(size, dtype=np.float64)
        before = np.append(0.0, end)[np.searchsorted(query, query)]
        return cls(query, np.add.reduceat(worth[order], first), end - size - before, end - before)

    def worth_until(self, places: int) -> F8:
        """Return the gains of each query up to a place, which cuts ties in proportion: float64 (queries,)."""
        return np.asarray(np.bincount(self.query, self._parts(places)), np.float64)

    def precisions_until(self, places: int) -> F8:
        """Return the sum of precisions at each query's relevant documents up to a place: float64 (queries,)."""
        parts = self._parts(places)
        hits = np.cumsum(parts)
        hits -= np.append(0.0, hits)[np.searchsorted(self.query, self.query)]
        reached = np.minimum(self.end, places)
        return np.asarray(np.bincount(self.query, parts * hits / np.where(reached > 0, reached, 1.0)), np.float64)

    def _parts(self, places: int) -> F8:
        """Return the gains of tied documents that lie before a place: float64 (m,)."""
        size, taken = self.end - self.start, np.minimum(self.end, places) - np.minimum(self.start, places)
        return np.asarray(self.worth * np.divide(taken, size, out=np.zeros(len(size)), where=size > 0), np.float64)


def _numbered(qid: ArrayLike | None, n: int) -> I8:
    """Return the number of each row's query, from 0; all rows are one query without `qid`: int64 (n,)."""
    return np.zeros(n, np.int64) if qid is None else np.unique(np.asarray(qid), return_inverse=True)[1]
