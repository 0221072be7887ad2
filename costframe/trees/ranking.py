"""The losses of rankings: pairwise logistic loss, and LambdaRank's bound on lost NDCG."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar, Literal, final

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.checks import check_choice
from costframe.core.errors import DataError, ParameterError
from costframe.core.machine import run_parallel
from costframe.core.sums import exact_sum
from costframe.core.workers import ALONE, Workers
from costframe.training.data import Rows
from costframe.training.losses import Loss, RowLoss, SquaredLoss

Derive = Callable[[slice, I8, F8, F8], None]

_PAIRS_PER_PART = 200_000
_LARGEST_WHOLE = 2.0**53  # whole numbers up to here are exact


class _Ranking:
    """The base of ranking losses: one score, no link, and a baseline of zero."""

    n_outputs: ClassVar = 1
    link: ClassVar[Literal["identity"]] = "identity"

    def baseline(self, rows: Rows) -> F8:
        """Return zero, as all constants rank alike: float64 (1,)."""
        del rows
        return np.zeros(1)


@final
@frozen
class PairwiseLoss(_Ranking):
    """Mean over queries of the mean of log(1 + exp(f_j - f_i)) over their pairs of rows with grades y_i > y_j.

    The mean leaves out queries without two different grades. Weights: see `Queries`; the weight of a pair is the
    product of its rows' counts.
    """

    def for_rows(self, rows: Rows) -> RowLoss:
        """Return the loss of these rows in their queries."""
        return _PairsOfRows(rows)


@final
@frozen
class LambdaRankLoss(_Ranking):
    """Mean over queries of 1 - NDCG at a truncation, with gains 2^y - 1; its derivatives are LambdaRank's.

    NDCG has no useful derivatives. LambdaRank takes those of sum |dNDCG_ij| log(1 + exp(f_j - f_i)) over pairs
    with y_i > y_j, where dNDCG_ij is the change of NDCG if the two changed places, held fixed. As in LightGBM,
    |dNDCG_ij| is divided by 0.01 + |f_i - f_j| (unless all scores of the query are equal), and a query's derivatives
    are multiplied by log2(1 + S)/S, where S is the sum of their absolute values, so that no query dominates. One factor
    for all rows and rounds makes the bound equal to the loss for constant scores: gains of splits are in units of NDCG,
    and a tradeoff is the NDCG accepted per unit of cost per row.

    Unlike in LightGBM, positions below the truncation have no discount, and all orders of tied rows are equally likely:
    the change of a pair is the mean over these orders. So the order of rows has no effect. The mean leaves out queries
    without two different grades. Weights: see `Queries`.

    Parameters
    ----------
    truncation : int
        Positions that count.
    """

    truncation: int = 30

    def __attrs_post_init__(self) -> None:
        if self.truncation < 1:
            raise ParameterError(f"truncation: must be at least 1, got {self.truncation}")

    def for_rows(self, rows: Rows) -> RowLoss:
        """Return the loss of these rows in their queries."""
        return _LambdasOfRows(rows, self.truncation)


def ranking_loss(objective: str | None) -> Loss:
    """Return a loss by name: "lambdarank" (the default), "pairwise", or "squared", which regresses the grades."""
    losses: dict[str, Loss] = {"pairwise": PairwiseLoss(), "squared": SquaredLoss()}
    known = (None, "lambdarank", *losses)
    return losses.get(check_choice("objective", objective, known), LambdaRankLoss())


@frozen(eq=False)
class Queries:
    """The queries of rows in any order, and the meaning of the rows' weights.

    If a query's weights are whole numbers, their greatest common divisor is the weight of the query, and the quotients
    are copies of each row, which takes as many positions in a ranking. For other weights, the mean is the weight of the
    query, and rows have weights relative to it and one position each.
    """

    order: I8  # (n,): rows sorted by query
    starts: I8  # (queries + 1,): first place of each query's rows among these
    weight: F8  # (queries,): of each query
    # counts, spans (n,): in sorted order: weights relative to the query's, and positions
    counts: F8
    spans: F8
    workers: Workers = ALONE  # whose queries these are a part of; means are over all

    @classmethod
    def of(cls, rows: Rows) -> Queries:
        """Sort rows by query; a DataError refuses rows without queries."""
        if rows.qid is None:
            raise DataError("qid: expected the query of each row, a ranking loss compares rows of one query; got None")
        order = np.argsort(rows.qid, kind="stable")
        queries = rows.qid[order]
        starts = np.append(np.flatnonzero(np.diff(queries, prepend=queries[:1] - 1)), len(queries))
        weight, counts, spans = np.empty(len(starts) - 1), np.empty(len(order)), np.ones(len(order))
        given = rows.weight[order]
        for q, (begin, end) in enumerate(pairwise(starts)):
            weight[q], whole = _query_weight(given[begin:end])
            counts[begin:end] = given[begin:end] / weight[q]
            if whole:
                spans[begin:end] = counts[begin:end]
        return cls(order, starts.astype(np.int64), weight, counts, spans, rows.workers)

    def __len__(self) -> int:
        """Count the queries."""
        return len(self.weight)

    def call_by_part(self, function: Callable[[slice, I8], object], n_threads: int = 1) -> None:
        """Call a function for parts of the queries, with their sorted rows and each query's first place among these.

        Parts have similar numbers of pairs, and do not depend on the number of threads.
        """
        sizes = np.diff(self.starts).astype(np.float64)
        part = (np.cumsum(sizes**2) // _PAIRS_PER_PART).astype(np.int64)
        cuts = np.flatnonzero(np.concatenate([[True], part[1:] != part[:-1], [True]]))

        def call(cut: int) -> None:
            starts = self.starts[cuts[cut] : cuts[cut + 1] + 1]
            function(slice(starts[0], starts[-1]), starts - starts[0])

        run_parallel(call, range(len(cuts) - 1), n_threads)

    def mean(self, values: F8, some: B1) -> float:
        """Return the weighted mean over some queries; zero for an empty set."""
        weight = np.where(some, self.weight, 0.0)
        total = exact_sum(weight, self.workers)
        return exact_sum(values * weight, self.workers) / total if total > 0 else 0.0


def _query_weight(weights: F8) -> tuple[float, bool]:
    """Return the weight of a query from its rows' weights, and whether the quotients are whole."""
    if (weights == weights[0]).all():
        return float(weights[0]), True
    if weights.max() <= _LARGEST_WHOLE and (weights == np.floor(weights)).all():
        return float(np.gcd.reduce(weights.astype(np.int64))), True
    return float(weights.mean()), False


class _OfRows:
    """A ranking loss of given rows, with their grades and weights; it ignores the arguments `y` and `weight`.

    Boosting reduces the sum total weight * mean loss. So a row's derivative is that of its query's loss times (total
    weight of rows) / (total weight of queries) / (the row's count).
    """

    def __init__(self, rows: Rows) -> None:
        self._queries = Queries.of(rows)
        self._grades = np.asarray(rows.y, np.float64)[self._queries.order]
        low, high = (bound.reduceat(self._grades, self._queries.starts[:-1]) for bound in (np.minimum, np.maximum))
        self._differ = low < high
        weight = exact_sum(self._queries.weight[self._differ], rows.workers)
        self._scale = rows.total_weight / weight if weight > 0 else 0.0

    def gradients(
        self, y: ArrayLike, scores: F8, *, n_threads: int = 1
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return first and second derivatives, without weights: float32 (n, 1) each."""
        del y
        gradient, hessian = np.empty(len(self._grades)), np.empty(len(self._grades))
        derive = self._derivatives(self._sorted(scores))
        self._queries.call_by_part(lambda rows, starts: derive(rows, starts, gradient[rows], hessian[rows]), n_threads)
        both = np.empty((2, len(self._grades), 1), np.float32)
        both[0, self._queries.order, 0] = self._scale * gradient
        both[1, self._queries.order, 0] = self._scale * hessian
        return both[0], both[1]

    def mean(self, y: ArrayLike, scores: F8, weight: ArrayLike | None = None) -> float:
        """Return the weighted mean over queries."""
        del y, weight
        return self._queries.mean(self._losses(self._sorted(scores)), self._differ)

    def _sorted(self, scores: F8) -> F8:
        if scores.shape != (len(self._grades), 1):
            raise DataError(f"scores: must have shape {(len(self._grades), 1)}, got {scores.shape}")
        return np.ascontiguousarray(scores[self._queries.order, 0])

    def _derivatives(self, ordered: F8) -> Derive:
        """Return a function that derives some queries, from all rows' scores in sorted order."""
        raise NotImplementedError

    def _losses(self, ordered: F8) -> F8:
        """float64 (queries,)."""
        raise NotImplementedError


@final
class _PairsOfRows(_OfRows):
    """Pairwise logistic loss of given rows."""

    def _derivatives(self, ordered: F8) -> Derive:
        arrays = ordered, self._grades, self._queries.counts
        return lambda rows, *written: engine.pair_gradients(*(values[rows] for values in arrays), *written)

    def _losses(self, ordered: F8) -> F8:
        losses = np.empty(len(self._queries))
        engine.pair_losses(ordered, self._grades, self._queries.counts, self._queries.starts, losses)
        return losses


@final
class _LambdasOfRows(_OfRows):
    """LambdaRank of given rows; all orders of tied rows are equally likely."""

    def __init__(self, rows: Rows, truncation: int) -> None:
        super().__init__(rows)
        self._discounts = 1.0 / np.log2(2.0 + np.arange(truncation))
        self._gains = np.expm1(np.log(2.0) * self._grades)
        ideal = self._sum_gains(self._grades)
        self._gains /= np.repeat(np.where(ideal > 0, ideal, 1.0), np.diff(self._queries.starts))
        self._scale *= self._unit()

    def _derivatives(self, ordered: F8) -> Derive:
        counts, spans = self._queries.counts, self._queries.spans

        def derive(rows: slice, starts: I8, gradient: F8, hessian: F8) -> None:
            arrays = ordered[rows], self._gains[rows], counts[rows], spans[rows]
            engine.lambda_gradients(*arrays, starts, self._discounts, gradient, hessian)

        return derive

    def _losses(self, ordered: F8) -> F8:
        """1 - NDCG."""
        return np.maximum(1.0 - self._sum_gains(ordered), 0.0)

    def _sum_gains(self, ordered: F8) -> F8:
        """Return discounted sums of gains of rows ranked by these scores: float64 (queries,)."""
        gains, queries = np.empty(len(self._queries)), self._queries
        engine.discounted_gains(ordered, self._gains, queries.spans, queries.starts, self._discounts, gains)
        return gains

    def _unit(self) -> float:
        """Find the factor that makes the bound equal to the loss for constant scores.

        There a pair's slope is half its weight and its curvature a quarter: a query's bound is log(2) times the sum of
        the weights, or 2 log(2) times the sum of all rows' curvatures.
        """
        constant, queries = np.zeros(len(self._grades)), self._queries
        gradient, hessian = np.empty(len(constant)), np.empty(len(constant))
        self._derivatives(constant)(slice(None), queries.starts, gradient, hessian)
        bound = 2 * np.log(2.0) * np.add.reduceat(queries.counts * hessian, queries.starts[:-1])
        bounds = queries.mean(bound, self._differ)
        return queries.mean(self._losses(constant), self._differ) / bounds if bounds > 0 else 0.0
