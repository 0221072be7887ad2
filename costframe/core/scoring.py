"""Scores of predictions, by name; higher is better in all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Score = Callable[[Any, NDArray[np.float64], NDArray[np.float64] | None, ArrayLike | None], float]

__all__ = ["SCORES", "default_score", "ndcg_at_5", "score_named"]


def accuracy(
    y: NDArray[np.int64], p: NDArray[np.float64], weight: NDArray[np.float64] | None, _qid: ArrayLike | None
) -> float:
    """Share of rows whose class code is the likeliest."""
    return float(np.average((p.argmax(axis=1) if p.ndim == 2 else p > 0.5) == y, weights=weight))


def roc_auc(
    y: NDArray[np.int64], p: NDArray[np.float64], weight: NDArray[np.float64] | None, _qid: ArrayLike | None
) -> float:
    """Area under the ROC curve; for more than two classes, the mean of one against the rest."""
    p = p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p
    if p.ndim == 1 and weight is None:
        return _rank_auc(y, p)
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, p, sample_weight=weight, multi_class="ovr"))


def _rank_auc(y: NDArray[np.int64], p: NDArray[np.float64]) -> float:
    """Area under the ROC curve by ranks (Mann and Whitney): a path asks for it after every tree."""
    from scipy.stats import rankdata

    ones = int(y.sum())
    pairs = ones * (len(y) - ones)
    return float((rankdata(p)[y == 1].sum() - ones * (ones + 1) / 2) / pairs) if pairs else float("nan")


def average_precision(
    y: NDArray[np.int64], p: NDArray[np.float64], weight: NDArray[np.float64] | None, _qid: ArrayLike | None
) -> float:
    """Average precision of class 1 against class 0."""
    from sklearn.metrics import average_precision_score

    p = p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p
    return float(average_precision_score(y, p, sample_weight=weight))


def r2(
    y: NDArray[np.float64], p: NDArray[np.float64], weight: NDArray[np.float64] | None, _qid: ArrayLike | None
) -> float:
    """Coefficient of determination."""
    from sklearn.metrics import r2_score

    return float(r2_score(y, p, sample_weight=weight))


def ndcg_at_5(
    y: NDArray[np.float64], p: NDArray[np.float64], _weight: NDArray[np.float64] | None, qid: ArrayLike | None
) -> float:
    """Mean over queries of NDCG at 5 with gains 2^y - 1; queries of one row or without a relevant one are left out."""
    from sklearn.metrics import ndcg_score

    queries = np.zeros(len(y), np.int64) if qid is None else np.unique(np.asarray(qid), return_inverse=True)[1]
    order = np.argsort(queries, kind="stable")
    ends = np.cumsum(np.bincount(queries)) if len(queries) else np.empty(0, np.int64)
    found = [
        ndcg_score([2.0 ** y[rows] - 1], [p[rows]], k=5)
        for rows in np.split(order, ends[:-1])
        if len(rows) > 1 and y[rows].max() > 0
    ]
    return float(np.mean(found)) if found else 0.0


SCORES: dict[str, Score] = {
    "accuracy": accuracy,
    "roc_auc": roc_auc,
    "average_precision": average_precision,
    "r2": r2,
    "ndcg@5": ndcg_at_5,
}


def default_score(task: str, n_classes: int) -> str:
    """Name the usual score of a task."""
    if task == "classification":
        return "roc_auc" if n_classes == 2 else "accuracy"
    return "ndcg@5" if task == "ranking" else "r2"


def score_named(name: str) -> Score:
    """Return a score by name, or refuse the name."""
    if name not in SCORES:
        raise ParameterError(f"score: expected one of {', '.join(SCORES)}, got {name!r}")
    return SCORES[name]
