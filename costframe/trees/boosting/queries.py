"""Rows by query, as ranking losses go through them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.errors import DataError
from costframe.core.threads import run_parallel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.training.data import Rows

__all__ = ["Queries"]

_PAIRS_PER_PART = 200_000
_LARGEST_WHOLE = 2.0**53  # whole numbers up to here are exact


@frozen(eq=False)
class Queries:
    """Queries of a set of rows, which need not lie together, and what the rows' weights mean in them.

    Where a query's weights are whole numbers, their greatest common divisor is the weight of the query, and the
    quotients say how often each row is given: such a row takes as many positions in a ranking. Other weights are those
    of the query in the mean, and of rows relative to it, each of which takes one position.

    Attributes
    ----------
    order : int64 (n,)
        Rows sorted by query.
    starts : int64 (queries + 1,)
        Where each query's rows begin among these.
    weight : float64 (queries,)
        Of each query.
    counts, spans : float64 (n,)
        In sorted order: weights relative to the query's, and positions.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    weight: NDArray[np.float64]
    counts: NDArray[np.float64]
    spans: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Rows) -> Queries:
        """Sort rows by query.

        Raises
        ------
        DataError
            If the rows have no queries.
        """
        if rows.qid is None:
            raise DataError("qid: expected the query of each row, a ranking loss compares rows of one query; got None")
        order = np.argsort(rows.qid, kind="stable")
        queries = rows.qid[order]
        starts = np.flatnonzero(np.concatenate([[True], queries[1:] != queries[:-1], [True]]))
        weight, counts, spans = np.empty(len(starts) - 1), np.empty(len(order)), np.ones(len(order))
        given = rows.weight[order]
        for q, (begin, end) in enumerate(pairwise(starts)):
            weight[q], whole = _query_weight(given[begin:end])
            counts[begin:end] = given[begin:end] / weight[q]
            if whole:
                spans[begin:end] = counts[begin:end]
        return cls(order, starts.astype(np.int64), weight, counts, spans)

    def __len__(self) -> int:
        """Count the queries."""
        return len(self.weight)

    def each(self, function: Callable[[slice, slice, NDArray[np.int64]], object], n_threads: int = 1) -> None:
        """Call a function with some queries, their sorted rows, and where each begins among these, until all are done.

        Parts hold about as many pairs as others, and do not depend on the number of threads.
        """
        sizes = np.diff(self.starts).astype(np.float64)
        part = (np.cumsum(sizes**2) // _PAIRS_PER_PART).astype(np.int64)
        cuts = np.flatnonzero(np.concatenate([[True], part[1:] != part[:-1], [True]]))

        def call(cut: int) -> None:
            first, last = cuts[cut], cuts[cut + 1]
            starts = self.starts[first : last + 1]
            function(slice(first, last), slice(starts[0], starts[-1]), starts - starts[0])

        run_parallel(call, range(len(cuts) - 1), n_threads)

    def mean(self, values: NDArray[np.float64], some: NDArray[np.bool_]) -> float:
        """Weighted mean over some of the queries; zero of none."""
        weight = np.where(some, self.weight, 0.0)
        total = float(weight.sum())
        return float((values * weight).sum()) / total if total > 0 else 0.0


def _query_weight(weights: NDArray[np.float64]) -> tuple[float, bool]:
    """Return the weight of a query of rows with these weights, and whether what rows have of it is whole."""
    if (weights == weights[0]).all():
        return float(weights[0]), True
    if weights.max() <= _LARGEST_WHOLE and (weights == np.floor(weights)).all():
        return float(np.gcd.reduce(weights.astype(np.int64))), True
    return float(weights.mean()), False
