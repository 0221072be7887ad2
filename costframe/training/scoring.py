"""Scores of predictions by name, higher is better, and the influences of rows on them.

Names are `SCORES`, and "ndcg@k", "precision@k" and "average_precision@k" for any whole k >= 1 (`QueryScore`). As errors
are better if they are lower, their negatives are scores, with scikit-learn's names; `SHORT_NAMES` also call them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.checks import check_choice
from costframe.core.errors import ParameterError
from costframe.training.influences import INFLUENCES, cross_entropies, f1_counts
from costframe.training.query_scores import QueryScore

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Score = Callable[[Any, NDArray[np.float64], NDArray[np.float64] | None, ArrayLike | None], float]


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


def negative_root_mean_squared_error(
    y: NDArray[np.float64], p: NDArray[np.float64], weight: NDArray[np.float64] | None, _qid: ArrayLike | None
) -> float:
    """Return minus the square root of the mean squared error, in the unit of the labels."""
    return -float(np.sqrt(np.average((np.asarray(y) - p) ** 2, weights=weight)))


def negative_log_loss(
    y: NDArray[np.int64], p: NDArray[np.float64], weight: NDArray[np.float64] | None, _qid: ArrayLike | None
) -> float:
    """Return minus the mean cross-entropy, in nats; probabilities below 2.2e-16 count as 2.2e-16."""
    return -float(np.average(cross_entropies(np.asarray(y), p), weights=weight))


def f1(
    y: NDArray[np.int64], p: NDArray[np.float64], weight: NDArray[np.float64] | None, _qid: ArrayLike | None
) -> float:
    """Return F1 of class 1 of two classes; for more, the mean over classes with a row or a prediction.

    It is 0 if no row is of class 1 or predicted as such.
    """
    hits, sizes = f1_counts(np.asarray(y), p, np.ones(len(p)) if weight is None else np.asarray(weight, np.float64))
    return float(np.mean(2 * hits[sizes > 0] / sizes[sizes > 0])) if sizes.any() else 0.0


SCORES: dict[str, Score] = {
    "accuracy": accuracy,
    "roc_auc": roc_auc,
    "neg_log_loss": negative_log_loss,
    "f1": f1,
    "average_precision": average_precision,
    "r2": r2,
    "neg_root_mean_squared_error": negative_root_mean_squared_error,
}
SHORT_NAMES = {"log_loss": "neg_log_loss", "rmse": "neg_root_mean_squared_error"}
NAMES_BY_QUERY = ("ndcg@5", "precision@5", "average_precision@5")  # or another whole number in place of 5
ndcg_at_5 = QueryScore("ndcg", 5)


def default_score(task: str, n_classes: int) -> str:
    """Return the name of a task's default score."""
    if task == "classification":
        return "roc_auc" if n_classes == 2 else "accuracy"
    return "ndcg@5" if task == "ranking" else "r2"


def best_value(name: str) -> float:
    """Return the score of perfect predictions: 0 of negative errors, else 1."""
    return 0.0 if SHORT_NAMES.get(name, name).startswith("neg_") else 1.0


def task_scores(task: str, n_classes: int) -> tuple[str, ...]:
    """Return the names of the scores that a task has; those of rankings have any whole number in place of 5."""
    if task == "classification":
        return ("accuracy", "roc_auc", "neg_log_loss", "f1", *(("average_precision",) if n_classes == 2 else ()))
    return NAMES_BY_QUERY if task == "ranking" else ("r2", "neg_root_mean_squared_error")


def score_named(name: str) -> Score:
    """Return a score by name, or refuse the name."""
    by_query = QueryScore.named(name)
    if by_query is not None:
        return by_query
    try:
        known = check_choice("score", name, (*SCORES, *SHORT_NAMES, *NAMES_BY_QUERY))
    except ParameterError as error:
        if not isinstance(name, str) or "@" not in name:
            raise
        hint = "any k from 1 to 10^18 - 1 may replace 5, and precision@k:g sets the least relevant grade g, 1 to 999"
        raise ParameterError(f"{error}; {hint}") from None
    return SCORES[SHORT_NAMES.get(known, known)]


def refuse_unfit_score(name: str, y: NDArray[Any], p: NDArray[np.float64]) -> None:
    """Refuse a known score that is not for such labels, whole numbers for classes, and predictions."""
    classes = np.issubdtype(np.asarray(y).dtype, np.integer)
    fitting = (
        task_scores("classification", p.shape[1] if p.ndim == 2 else 2) if classes else task_scores("regression", 0)
    )
    if SHORT_NAMES.get(name, name) not in fitting and (classes or QueryScore.named(name) is None):
        fitting = fitting if classes else (*fitting, *NAMES_BY_QUERY)
        kind = "classes" if classes else "numbers"
        raise ParameterError(f"scoring: labels that are {kind} have {', '.join(fitting)}, not {name!r}")


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
        As for `score_named`.
    y, p, weight, qid
        Labels, predictions, weights and queries of n rows, the arguments of the score.

    Returns
    -------
    float64 (n,)
        Sums to zero if all weights are one.
    """
    score, p = score_named(name), np.asarray(p, np.float64)
    if isinstance(score, QueryScore):
        return score.influence(y, p, weight, qid)
    given = np.ones(len(p)) if weight is None else np.asarray(weight, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = np.nan_to_num(INFLUENCES[SHORT_NAMES.get(name, name)](np.asarray(y), p, given))
    if (given == np.floor(given)).all():  # repeated rows
        moved = moved / np.sqrt(np.maximum(given, 1.0))
    return np.asarray(moved, np.float64)


def standard_error(moved: NDArray[np.floating[Any]]) -> float:
    """Return the standard error for influences (n,), with one more row of influence 1/n, so that it is never zero."""
    moved = np.asarray(moved, np.float64)
    rows = int(np.count_nonzero(moved)) or max(len(moved), 1)
    return float(np.sqrt(moved @ moved + 1.0 / rows**2))
