"""Scores of predictions by name, higher is better, and the influences of rows on them.

Names are `SCORES`, computed here because paths call them often, all others of scikit-learn that need only labels and
predictions (`LibraryScore`), and "ndcg@k", "precision@k" and "average_precision@k" for any whole k >= 1 (`QueryScore`).
`resolve_score` reads what a caller gives, a name, a scorer or a function, and every other function takes its result. As
errors are better if they are lower, their negatives are scores, with scikit-learn's names; `SHORT_NAMES` also call
them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import ParameterError, shown, suggestion
from costframe.training.influences import INFLUENCES, cross_entropies, guesses, jackknife, kinds_of
from costframe.training.library_scores import LibraryScore, library_names, read_scorer
from costframe.training.query_scores import QueryScore

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Score = Callable[[Any, NDArray[np.float64], NDArray[np.float64] | None, ArrayLike | None], float]


def accuracy(
    y: NDArray[np.int64], p: NDArray[np.float64], weight: NDArray[np.float64] | None, _qid: ArrayLike | None
) -> float:
    """Return the share of rows whose class is the likeliest."""
    return float(np.average(guesses(p) == y, weights=weight))


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
    worth, guess = np.ones(len(p)) if weight is None else np.asarray(weight, np.float64), guesses(p)
    n_classes = p.shape[1] if p.ndim == 2 else 2
    hits, guessed, rows = (
        np.asarray(np.bincount(of, each, n_classes), np.float64)[int(n_classes == 2) :]
        for of, each in ((y, worth * (guess == y)), (guess, worth), (y, worth))
    )
    sizes = guessed + rows
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
LABELS = {
    "accuracy": "accuracy",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "neg_log_loss": "negative log loss",
    "f1": "F1",
    "r2": "R²",
    "neg_root_mean_squared_error": "negative RMSE",
}
SHORT_NAMES = {"log_loss": "neg_log_loss", "rmse": "neg_root_mean_squared_error"}
NAMES_BY_QUERY = ("ndcg@5", "precision@5", "average_precision@5")  # or another whole number in place of 5
ndcg_at_5 = QueryScore("ndcg", 5)


def default_score(task: str, n_classes: int) -> str:
    """Return the name of a task's default score."""
    if task == "classification":
        return "roc_auc" if n_classes == 2 else "accuracy"
    return "ndcg@5" if task == "ranking" else "r2"


def resolve_score(scoring: Any, parameter: str = "scoring") -> str | LibraryScore:
    """Return the name of the score that a caller gives, or a score of the caller's own; see `read_scorer`."""
    if not isinstance(scoring, str | LibraryScore):
        return read_scorer(scoring, parameter)
    score_named(scoring, parameter)
    return scoring


@functools.cache
def best_value(name: str) -> float:
    """Return the score of perfect predictions: 0 of negative errors, else 1; infinity if no bound is known."""
    if "(" in name:  # a caller's own
        return np.inf
    score = score_named(name)
    if isinstance(score, LibraryScore):
        return score.best
    return 0.0 if SHORT_NAMES.get(name, name).startswith("neg_") else 1.0


def task_scores(task: str, n_classes: int) -> tuple[str, ...]:
    """Return the names of a task's scores, without most of scikit-learn's; those of rankings stand for any k."""
    if task == "classification":
        return ("accuracy", "roc_auc", "neg_log_loss", "f1", *(("average_precision",) if n_classes == 2 else ()))
    return NAMES_BY_QUERY if task == "ranking" else ("r2", "neg_root_mean_squared_error")


def check_fitting(parameter: str, name: str | LibraryScore, task: str, n_classes: int) -> None:
    """Refuse a score that a task does not have, and an unknown one; the error begins with `parameter`."""
    score, fitting, reason = score_named(name, parameter), task_scores(task, n_classes), None
    if isinstance(score, LibraryScore) and task != "ranking":
        reason = score.refusal(n_classes)
        fits = reason is None
    else:
        fits = SHORT_NAMES.get(str(name), name) in fitting or (task == "ranking" and isinstance(score, QueryScore))
    if not fits:
        kind = f"{task} of {n_classes} classes" if n_classes else task
        more = "" if task == "ranking" else " or another that scikit-learn has for it"
        why = f", which is {reason}" if reason else ""
        raise ParameterError(f"{parameter}: {kind} has {', '.join(fitting)}{more}, not {str(name)!r}{why}")


def score_named(name: str | LibraryScore, parameter: str = "score") -> Score:
    """Return a score by name, a caller's own as it is, or refuse the name; the error begins with `parameter`."""
    if isinstance(name, LibraryScore):
        return name
    found = QueryScore.named(name) or (SCORES.get(SHORT_NAMES.get(name, name)) if isinstance(name, str) else None)
    if found is None:
        found = LibraryScore.named(name)
    if found is not None:
        return found
    known = (*SCORES, *SHORT_NAMES, *NAMES_BY_QUERY)
    hint = "any k from 1 to 10^18 - 1 may replace 5, and precision@k:g sets the least relevant grade g, 1 to 999"
    raise ParameterError(
        f"{parameter}: expected {', '.join(map(repr, known))} or another name of sklearn.metrics.get_scorer_names(), "
        f"got {shown(name)}{suggestion(name, dict.fromkeys([*known, *library_names()]))}"
        f"{f'; {hint}' if isinstance(name, str) and '@' in name else ''}"
    )


def score_label(name: str) -> str:
    """Return the name of a score in pictures."""
    score = QueryScore.named(name)
    if score is None:
        return LABELS.get(name, name)
    kind = {"ndcg": "NDCG", "average_precision": "average precision"}.get(score.kind, score.kind)
    return f"{kind}@{score.places}" + (f", relevant from grade {score.least}" if score.least else "")


def with_labels(score: str | LibraryScore, labels: NDArray[Any] | None) -> str | LibraryScore:
    """Return a score for codes of these class labels, or for numbers; only a caller's own depends on them."""
    return score.with_labels(labels) if isinstance(score, LibraryScore) else score


def refuse_unfit_score(name: str | LibraryScore, y: NDArray[Any], p: NDArray[np.float64]) -> None:
    """Refuse a known score that is not for such labels, whole numbers for classes, and predictions."""
    classes = np.issubdtype(np.asarray(y).dtype, np.integer)
    if classes or not isinstance(score_named(name), QueryScore):
        n_classes = (p.shape[1] if p.ndim == 2 else 2) if classes else 0
        check_fitting("scoring", name, "classification" if classes else "regression", n_classes)


def influence(
    name: str | LibraryScore,
    y: NDArray[Any],
    p: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
    qid: ArrayLike | None = None,
    units: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return the influence of each row on a score: the score's derivative by the row's weight, times the weight.

    The variance of the score over fresh rows is the sum of the squared influences; the variance of the difference of
    two models' scores on the same rows is that of their difference. A row with a whole weight w counts as w rows. In a
    ranking queries vary, not rows: the first row of a query has the query's influence. Means of rows or queries have
    exact influences, other scores those of a jackknife.

    Parameters
    ----------
    name : str, or a caller's own score
        As for `score_named`.
    y, p, weight, qid
        Labels, predictions, weights and queries of n rows, the arguments of the score.
    units : int64 (n,), optional
        Number, from 0, of each row's group, if rows of a group vary together; a group's influence is the sum of its
        rows'.

    Returns
    -------
    float64 (n,)
        Sums to zero if all weights are one; about zero if from a jackknife.
    """
    score, p, y = score_named(name), np.asarray(p, np.float64), np.asarray(y)
    if isinstance(score, QueryScore):
        return score.influence(y, p, weight, qid)
    given = np.ones(len(p)) if weight is None else np.asarray(weight, np.float64)
    if str(name) in {"roc_auc", "roc_auc_ovr"} and p.ndim == 2 and p.shape[1] > 2:  # the mean over classes
        each = [influence("roc_auc", (y == k).astype(int), column, weight) for k, column in enumerate(p.T)]
        return np.asarray(np.mean(each, axis=0), np.float64)
    exact = INFLUENCES.get(SHORT_NAMES.get(str(name), str(name)))
    with np.errstate(invalid="ignore", divide="ignore"):
        if exact is not None:
            moved = np.nan_to_num(exact(y, p, given))
        else:
            rows, moved = np.flatnonzero(given > 0), np.zeros(len(p))
            labels_only = score.labels_only if isinstance(score, LibraryScore) else score is f1
            of_classes = score.of_classes if isinstance(score, LibraryScore) else True
            moved[rows] = jackknife(
                lambda kept: score(y[rows[kept]], p[rows[kept]], None if weight is None else given[rows[kept]], None),
                kinds_of(y[rows], p[rows], of_classes=of_classes, labels_only=labels_only),
                given[rows],
                None if units is None else units[rows],
            )
    if (given == np.floor(given)).all():  # repeated rows
        moved = moved / np.sqrt(np.maximum(given, 1.0))
    return np.asarray(moved, np.float64)


def standard_error(moved: NDArray[np.floating[Any]]) -> float:
    """Return the standard error for influences (n,), with one more row of influence 1/n, so that it is never zero."""
    moved = np.asarray(moved, np.float64)
    rows = int(np.count_nonzero(moved)) or max(len(moved), 1)
    return float(np.sqrt(moved @ moved + 1.0 / rows**2))
