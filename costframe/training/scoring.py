"""Scores of predictions by name, higher is better, and the influences of rows on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.checks import check_choice

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Score = Callable[[Any, NDArray[np.float64], NDArray[np.float64] | None, ArrayLike | None], float]
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Influence = Callable[[Any, NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


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
    return SCORES[check_choice("score", name, tuple(SCORES))]


def influence(
    name: str,
    y: NDArray[Any],
    p: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
    qid: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Return the influence of each row on a score: the score's derivative by the row's weight, times the weight.

    The variance of the score over fresh rows is the sum of the squared influences; the variance of the difference of
    two models' scores on the same rows is that of their difference. A row with a whole weight w counts as w rows. In a
    ranking queries vary, not rows: the first row of a query has the query's influence.

    Parameters
    ----------
    name : str
        A score of `costframe.training.scoring`.
    y, p, weight, qid
        Labels, predictions, weights and queries of n rows, the arguments of the score.

    Returns
    -------
    float64 (n,)
        Sums to zero if all weights are one.
    """
    score_named(name)
    p = np.asarray(p, np.float64)
    if name == "ndcg@5":
        return _ndcg_influences(y, p, qid)
    given = np.ones(len(p)) if weight is None else np.asarray(weight, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = np.nan_to_num(_INFLUENCES[name](np.asarray(y), p, given))
    if (given == np.floor(given)).all():  # repeated rows
        moved = moved / np.sqrt(np.maximum(given, 1.0))
    return np.asarray(moved, np.float64)


def standard_error(moved: NDArray[np.floating[Any]]) -> float:
    """Return the standard error for influences (n,), with one more row of influence 1/n, so that it is never zero."""
    moved = np.asarray(moved, np.float64)
    rows = int(np.count_nonzero(moved)) or max(len(moved), 1)
    return float(np.sqrt(moved @ moved + 1.0 / rows**2))


def _accuracy_influences(y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    right = (p.argmax(axis=1) if p.ndim == 2 else p > 0.5) == y
    return np.asarray(weight * (right - np.average(right, weights=weight)) / weight.sum(), np.float64)


def _roc_auc_influences(y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    if p.ndim == 2 and p.shape[1] > 2:
        classes = range(p.shape[1])
        return np.asarray(np.mean([_area_influences(y == k, p[:, k], weight) for k in classes], axis=0), np.float64)
    return _area_influences(y == 1, p[:, 1] if p.ndim == 2 else p, weight)


def _area_influences(
    positive: NDArray[np.bool_], p: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the influences on the area under the ROC curve: each row's share of ordered pairs minus the area."""
    values, place = np.unique(p, return_inverse=True)
    ones, zeros = (np.bincount(place[rows], weight[rows], len(values)) for rows in (positive, ~positive))
    below, above = np.cumsum(zeros) - zeros / 2, ones.sum() - np.cumsum(ones) + ones / 2
    ordered = np.where(positive, below[place] / zeros.sum(), above[place] / ones.sum())
    area = float(ones @ below / (ones.sum() * zeros.sum()))
    return np.asarray(weight * (ordered - area) / np.where(positive, ones.sum(), zeros.sum()), np.float64)


def _average_precision_influences(
    y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the influences on the mean of the precision at each positive row."""
    p, positive = p[:, 1] if p.ndim == 2 else p, y == 1
    values, place = np.unique(-p, return_inverse=True)  # the highest first
    ones = np.bincount(place[positive], weight[positive], len(values))
    reached, hits = np.cumsum(np.bincount(place, weight, len(values))), np.cumsum(ones)
    precision, total = hits / reached, ones.sum()
    later = np.cumsum((ones / reached)[::-1])[::-1]  # sum of weight / rows reached, over positive rows ranked no higher
    missed = np.cumsum((ones * precision / reached)[::-1])[::-1]
    moved = positive * (precision[place] + later[place]) - missed[place] - positive * (ones @ precision / total)
    return np.asarray(weight * moved / total, np.float64)


def _r2_influences(y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    error, spread = (y - p) ** 2, (y - np.average(y, weights=weight)) ** 2
    total = weight @ spread
    return np.asarray(-weight * (error - spread * (weight @ error) / total) / total, np.float64)


def _ndcg_influences(y: NDArray[Any], p: NDArray[np.float64], qid: ArrayLike | None) -> NDArray[np.float64]:
    queries = np.zeros(len(p), np.int64) if qid is None else np.unique(np.asarray(qid), return_inverse=True)[1]
    each = ndcg_of_queries(y, p, queries)
    counted = ~np.isnan(each)
    moved = np.zeros(len(p))
    if counted.any():
        first = np.unique(queries, return_index=True)[1]
        moved[first[counted]] = (each[counted] - each[counted].mean()) / counted.sum()
    return moved


_INFLUENCES: dict[str, Influence] = {
    "accuracy": _accuracy_influences,
    "roc_auc": _roc_auc_influences,
    "average_precision": _average_precision_influences,
    "r2": _r2_influences,
}
