"""Scores of predictions by name, higher is better, and the influences of rows on them.

Names are `SCORES`, computed here because paths call them often, all others of scikit-learn that need only labels and
predictions (`LibraryScore`), and "ndcg@k", "precision@k" and "average_precision@k" for any whole k >= 1 (`QueryScore`).
`resolve_score` reads what a caller gives, a name, a scorer or a function, and every other function takes its result. As
errors are better if they are lower, their negatives are scores, with scikit-learn's names; `SHORT_NAMES` also call
them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import F8
from costframe.core.errors import ParameterError, shown, suggestion
from costframe.core.prices.error_prices import ErrorPrices
from costframe.training.basic_scores import SCORES, Score
from costframe.training.error_costs import ERROR_COST, ErrorCosts
from costframe.training.library_scores import LibraryScore, library_names, read_scorer
from costframe.training.query_scores import QueryScore

LABELS = {
    "accuracy": "accuracy",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "neg_log_loss": "negative log loss",
    "f1": "F1",
    "r2": "R²",
    "neg_root_mean_squared_error": "negative RMSE",
    ERROR_COST: "negative error cost",
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
    if name == ERROR_COST:
        return 0.0
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
    score = QueryScore.named(name) or (SCORES.get(SHORT_NAMES.get(name, name)) if isinstance(name, str) else None)
    if score is None:
        score = LibraryScore.named(name)
    if score is not None:
        return score
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


def with_labels(score: str | LibraryScore, labels: NDArray[Any] | None, X: Any = None) -> str | LibraryScore:
    """Return a score for codes of these class labels, or for numbers, and for rows X, (n, d).

    Only a caller's own depends on the labels, and only the cost of errors whose prices are a column on the rows.
    """
    return score.with_labels(labels, X) if isinstance(score, LibraryScore) else score


def error_cost(errors: ErrorPrices, names: Iterable[str]) -> LibraryScore:
    """Return the score that is minus the mean cost of errors, for rows with columns of these names."""
    costs = ErrorCosts(errors, tuple(names))
    return LibraryScore(ERROR_COST, costs, of_classes=not errors.is_regression, own=True)


def refuse_unfit_score(name: str | LibraryScore, y: NDArray[Any], p: F8) -> None:
    """Refuse a known score that is not for such labels, whole numbers for classes, and predictions."""
    classes = np.issubdtype(np.asarray(y).dtype, np.integer)
    if classes or not isinstance(score_named(name), QueryScore):
        n_classes = (p.shape[1] if p.ndim == 2 else 2) if classes else 0
        check_fitting("scoring", name, "classification" if classes else "regression", n_classes)
