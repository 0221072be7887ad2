"""Scores of predictions by name; a higher score is better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Score = Callable[[Any, NDArray[np.float64], NDArray[np.float64] | None, ArrayLike | None], float]

__all__ = ["SCORES", "default_score", "ndcg_at_5", "ndcg_of_queries", "score_named"]


def accuracy(
    y: NDArray[np.int64], p: NDArray[np.float64], weight: NDArray[np.float64] | None, _qid: ArrayLike | None
) -> float:
    """Return the share of rows whose class is the likeliest."""
    return float(np.average((p.argmax(axis=1) if p.ndim == 2 else p > 0.5) == y, weights=weight))


def roc_auc(
    y: NDArray[np.int64], p: NDArray[np.float64], weight: NDArray[np.float64] | None, _qid: ArrayLike | None
) -> float:
    """Return the area under the ROC curve, a mean over classes if there are more than two; NaN if one is empty."""
    p = p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p
    if p.ndim == 1:
        return _area(np.asarray(y) == 1, p, np.ones(len(p)) if weight is None else np.asarray(weight, np.float64))
    if len(np.unique(y)) < p.shape[1]:
        return float("nan")
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, p, sample_weight=weight, multi_class="ovr"))


def _area(positive: NDArray[np.bool_], p: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the share of pairs of both classes in the right order, ties half; fast, for paths call it often."""
    order = np.argsort(p)
    p, ones = p[order], np.where(positive, weight, 0.0)[order]
    zeros = weight[order] - ones
    last = np.append(np.flatnonzero(p[1:] != p[:-1]), len(p) - 1) if len(p) else np.empty(0, np.int64)
    ones, zeros = (np.diff(np.cumsum(each)[last], prepend=0.0) for each in (ones, zeros))  # of rows that tie
    below, pairs = np.cumsum(zeros) - zeros, float(ones.sum() * zeros.sum())
    return float((ones * (below + 0.5 * zeros)).sum() / pairs) if pairs else float("nan")


def average_precision(
    y: NDArray[np.int64], p: NDArray[np.float64], weight: NDArray[np.float64] | None, _qid: ArrayLike | None
) -> float:
    """Return the average precision of class 1 against class 0."""
    p = p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p
    weights, order = np.ones(len(p)) if weight is None else np.asarray(weight, np.float64), np.argsort(-p)
    ones, p = np.where(np.asarray(y) == 1, weights, 0.0)[order], p[order]
    last = np.append(np.flatnonzero(p[1:] != p[:-1]), len(p) - 1)  # of rows that tie
    found, drawn = np.cumsum(ones)[last], np.cumsum(weights[order])[last]
    precision = found / np.where(drawn > 0, drawn, 1.0)
    return float((np.diff(found, prepend=0.0) * precision).sum() / found[-1]) if found[-1] else 0.0


def r2(
    y: NDArray[np.float64], p: NDArray[np.float64], weight: NDArray[np.float64] | None, _qid: ArrayLike | None
) -> float:
    """Return the coefficient of determination."""
    from sklearn.metrics import r2_score

    return float(r2_score(y, p, sample_weight=weight))


def ndcg_at_5(
    y: NDArray[np.float64], p: NDArray[np.float64], _weight: NDArray[np.float64] | None, qid: ArrayLike | None
) -> float:
    """Return the mean NDCG at 5, with gains 2^y - 1, of the queries with more than one row and a relevant one."""
    queries = np.zeros(len(y), np.int64) if qid is None else np.unique(np.asarray(qid), return_inverse=True)[1]
    each = ndcg_of_queries(y, p, queries)
    return float(np.mean(each[~np.isnan(each)])) if (~np.isnan(each)).any() else 0.0


def ndcg_of_queries(y: NDArray[Any], p: NDArray[np.float64], queries: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return NDCG at 5 of each query, numbered from 0: float64 (queries,), NaN for one row or no relevant row."""
    y = np.asarray(y, np.float64)
    ideal, size = _dcg_at_5(queries, y, y), np.bincount(queries)
    counted = (size > 1) & (ideal > 0)
    return np.asarray(np.divide(_dcg_at_5(queries, p, y), ideal, out=np.full(len(ideal), np.nan), where=counted))


def _dcg_at_5(queries: NDArray[np.int64], p: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return DCG at 5 of each query, by descending p, with ties as in scikit-learn: float64 (queries,)."""
    order = np.lexsort((-p, queries))
    queries, p, gain = queries[order], p[order], 2.0 ** y[order] - 1
    first = np.searchsorted(queries, queries)  # of the query
    rank = np.arange(len(queries)) - first
    discount = np.where(rank < 5, 1 / np.log2(rank + 2), 0.0)
    tied = np.cumsum(np.append(True, (np.diff(queries) != 0) | (np.diff(p) != 0))) - 1 if len(p) else rank
    mean_gain = np.bincount(tied, gain) / np.bincount(tied)
    return np.asarray(np.bincount(queries, discount * mean_gain[tied]), np.float64)


SCORES: dict[str, Score] = {
    "accuracy": accuracy,
    "roc_auc": roc_auc,
    "average_precision": average_precision,
    "r2": r2,
    "ndcg@5": ndcg_at_5,
}


def default_score(task: str, n_classes: int) -> str:
    """Return the name of a task's default score."""
    if task == "classification":
        return "roc_auc" if n_classes == 2 else "accuracy"
    return "ndcg@5" if task == "ranking" else "r2"


def score_named(name: str) -> Score:
    """Return a score by name, or refuse the name."""
    if name not in SCORES:
        raise ParameterError(f"score: expected one of {', '.join(SCORES)}, got {name!r}")
    return SCORES[name]
