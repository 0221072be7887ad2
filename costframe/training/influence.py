"""Influences of rows on scores, for standard errors and paired comparisons of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.training.scoring import ndcg_of_queries, score_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Influence = Callable[[Any, NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]

__all__ = ["influence", "standard_error"]


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
        return _ndcg(y, p, qid)
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


def _accuracy(y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    right = (p.argmax(axis=1) if p.ndim == 2 else p > 0.5) == y
    return np.asarray(weight * (right - np.average(right, weights=weight)) / weight.sum(), np.float64)


def _roc_auc(y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    if p.ndim == 2 and p.shape[1] > 2:
        classes = range(p.shape[1])
        return np.asarray(np.mean([_area(y == k, p[:, k], weight) for k in classes], axis=0), np.float64)
    return _area(y == 1, p[:, 1] if p.ndim == 2 else p, weight)


def _area(positive: NDArray[np.bool_], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the influences on the area under the ROC curve: each row's share of ordered pairs minus the area."""
    values, place = np.unique(p, return_inverse=True)
    ones, zeros = (np.bincount(place[rows], weight[rows], len(values)) for rows in (positive, ~positive))
    below, above = np.cumsum(zeros) - zeros / 2, ones.sum() - np.cumsum(ones) + ones / 2
    ordered = np.where(positive, below[place] / zeros.sum(), above[place] / ones.sum())
    area = float(ones @ below / (ones.sum() * zeros.sum()))
    return np.asarray(weight * (ordered - area) / np.where(positive, ones.sum(), zeros.sum()), np.float64)


def _average_precision(y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
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


def _r2(y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    error, spread = (y - p) ** 2, (y - np.average(y, weights=weight)) ** 2
    total = weight @ spread
    return np.asarray(-weight * (error - spread * (weight @ error) / total) / total, np.float64)


def _ndcg(y: NDArray[Any], p: NDArray[np.float64], qid: ArrayLike | None) -> NDArray[np.float64]:
    queries = np.zeros(len(p), np.int64) if qid is None else np.unique(np.asarray(qid), return_inverse=True)[1]
    each = ndcg_of_queries(y, p, queries)
    counted = ~np.isnan(each)
    moved = np.zeros(len(p))
    if counted.any():
        first = np.unique(queries, return_index=True)[1]
        moved[first[counted]] = (each[counted] - each[counted].mean()) / counted.sum()
    return moved


_INFLUENCES: dict[str, Influence] = {
    "accuracy": _accuracy,
    "roc_auc": _roc_auc,
    "average_precision": _average_precision,
    "r2": _r2,
}
