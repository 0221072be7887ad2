"""Scores of predictions by name, higher is better, and the influences of rows on them.

Names are `SCORES`, computed here because paths call them often, all others of scikit-learn that need only labels and
predictions (`LibraryScore`), and "ndcg@k", "precision@k" and "average_precision@k" for any whole k >= 1 (`QueryScore`).
`resolve_score` reads what a caller gives, a name, a scorer or a function, and every other function takes its result. As
errors are better if they are lower, their negatives are scores, with scikit-learn's names; `SHORT_NAMES` also call
them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import DataError, ParameterError, shown, suggestion
from costframe.core.prices.error_prices import ErrorPrices
from costframe.training.error_costs import ERROR_COST, ErrorCosts
from costframe.training.library_scores import LibraryScore, QueryScore, library_names, read_scorer

Influence = Callable[[Any, F8, F8], F8]
Score = Callable[[Any, F8, F8 | None, ArrayLike | None], float]

PARTS = 40  # of rows, some of each left out in turn


def cross_entropies(y: I8, p: F8) -> F8:
    """Return the cross-entropy of each row, from probabilities of class 1 or of all classes: float64 (n,)."""
    likely = p[np.arange(len(p)), np.asarray(y, np.int64)] if p.ndim == 2 else np.where(y == 1, p, 1 - p)
    return np.asarray(-np.log(np.maximum(likely, np.finfo(np.float64).eps)), np.float64)


def guesses(p: F8) -> I8:
    """Return the likeliest class of each row, from probabilities of class 1 or of all classes: int64 (n,)."""
    return np.asarray(p.argmax(axis=1) if p.ndim == 2 else p > 0.5, np.int64)


def _brier(y: NDArray[Any], p: F8) -> F8:
    if p.ndim == 2 and p.shape[1] > 2:
        return np.asarray(((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1), np.float64)
    return np.asarray(((p[:, 1] if p.ndim == 2 else p) - y) ** 2, np.float64)


def _mean_of(loss: Callable[[Any, Any], Any]) -> Influence:
    """Return the influences on minus the mean of a loss of labels and predictions."""

    def moved(y: Any, p: F8, weight: F8) -> F8:
        each = np.asarray(loss(y, p), np.float64)
        return np.asarray(-weight * (each - np.average(each, weights=weight)) / weight.sum(), np.float64)

    return moved


_of_squares = _mean_of(lambda y, p: (y - p) ** 2)


def _rmse(y: NDArray[Any], p: F8, weight: F8) -> F8:
    return np.asarray(_of_squares(y, p, weight) / (2 * np.sqrt(np.average((y - p) ** 2, weights=weight))), np.float64)


def _r2(y: NDArray[Any], p: F8, weight: F8) -> F8:
    error, spread = (y - p) ** 2, (y - np.average(y, weights=weight)) ** 2
    total = weight @ spread
    return np.asarray(-weight * (error - spread * (weight @ error) / total) / total, np.float64)


INFLUENCES: dict[str, Influence] = {
    "accuracy": _mean_of(lambda y, p: guesses(p) != y),
    "neg_log_loss": _mean_of(cross_entropies),
    "neg_brier_score": _mean_of(_brier),
    "r2": _r2,
    "neg_root_mean_squared_error": _rmse,
    "neg_mean_squared_error": _of_squares,
    "neg_mean_absolute_error": _mean_of(lambda y, p: abs(y - p)),
    "neg_mean_absolute_percentage_error": _mean_of(lambda y, p: abs(y - p) / np.maximum(abs(y), np.finfo(float).eps)),
    "neg_mean_squared_log_error": _mean_of(lambda y, p: (np.log1p(y) - np.log1p(p)) ** 2),
    "neg_mean_poisson_deviance": _mean_of(lambda y, p: 2 * (p - y + np.where(y > 0, y * np.log(y / p), 0.0))),
    "neg_mean_gamma_deviance": _mean_of(lambda y, p: 2 * (np.log(p / y) + y / p - 1)),
}


def kinds_of(y: NDArray[Any], p: F8, *, of_classes: bool, labels_only: bool) -> I8:
    """Return a number of each row, the same for rows that move a score by about as much: int64 (n,).

    They have equal labels and predictions; only the likeliest class counts with `labels_only`. Probabilities of class 1
    of two classes are equal if they lie at the same twentieth between the rows of both classes.
    """
    shown: Any = p[:, 1] if of_classes and p.ndim == 2 and p.shape[1] == 2 else p
    if of_classes and labels_only:
        shown = guesses(p)
    elif of_classes and shown.ndim == 1:
        ranks = [np.sort(shown[y == k]) for k in (0, 1)]
        below = [np.searchsorted(each, shown, side) / max(len(each), 1) for each in ranks for side in ("left", "right")]
        shown = np.floor(np.minimum(np.mean(below, axis=0), 1 - 1e-9) * PARTS / 2)
    return np.unique(np.column_stack([y, shown]), axis=0, return_inverse=True)[1].ravel()


def jackknife(score: Callable[[I8], float], kinds: I8, weight: F8, units: I8 | None = None) -> F8:
    """Return the influence of each row on a score of rows by number: float64 (n,).

    If there are at most `PARTS` kinds of rows, a few rows of a kind are left out at a time, at most half of them, and
    all of the kind have the mean influence of these. Else rows, or whole units of rows, are dealt to parts by chance,
    and a part is left out at a time. Its rows, or the first rows of its units, share its influence so that their
    squares add up to its square.
    """
    moved, rows = np.zeros(len(weight)), np.arange(len(weight))
    alike = kinds.max(initial=-1) < PARTS
    part = kinds
    if not alike:
        units = rows if units is None else units
        part = np.random.default_rng(0).permutation(int(units.max()) + 1)[units] % PARTS
    whole, total = score(rows), weight.sum()
    for number in range(int(part.max(initial=-1)) + 1):
        chosen = np.flatnonzero(part == number)
        left_out = chosen[:: max(2, 2 * PARTS * len(chosen) // len(rows))] if alike else chosen
        kept = np.delete(rows, left_out)
        try:
            lost = (whole - score(kept)) * weight[kept].sum() / total
        except DataError:  # a class has no other row
            continue
        if alike:
            moved[chosen] = lost * weight[chosen] / weight[left_out].sum()
        else:
            assert units is not None  # noqa: S101 - see above
            first = chosen[np.unique(units[chosen], return_index=True)[1]]
            moved[first] = lost * weight[first] / np.linalg.norm(weight[first])
    return np.nan_to_num(moved)


def accuracy(y: I8, p: F8, weight: F8 | None, _qid: ArrayLike | None) -> float:
    """Return the share of rows whose class is the likeliest."""
    return float(np.average(guesses(p) == y, weights=weight))


def roc_auc(y: I8, p: F8, weight: F8 | None, _qid: ArrayLike | None) -> float:
    """Return the area under the ROC curve, a mean over classes if there are more than two; NaN if one is empty."""
    p = p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p
    if p.ndim == 1:
        return _area(np.asarray(y) == 1, p, np.ones(len(p)) if weight is None else np.asarray(weight, np.float64))
    if len(np.unique(y)) < p.shape[1]:
        return float("nan")
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, p, sample_weight=weight, multi_class="ovr"))


def _area(positive: B1, p: F8, weight: F8) -> float:
    """Return the share of pairs of both classes in the right order, ties half; fast, for paths call it often."""
    order = np.argsort(p)
    p, ones = p[order], np.where(positive, weight, 0.0)[order]
    zeros = weight[order] - ones
    last = np.append(np.flatnonzero(p[1:] != p[:-1]), len(p) - 1) if len(p) else np.empty(0, np.int64)
    ones, zeros = (np.diff(np.cumsum(each)[last], prepend=0.0) for each in (ones, zeros))  # of rows that tie
    below, pairs = np.cumsum(zeros) - zeros, float(ones.sum() * zeros.sum())
    return float((ones * (below + 0.5 * zeros)).sum() / pairs) if pairs else float("nan")


def average_precision(y: I8, p: F8, weight: F8 | None, _qid: ArrayLike | None) -> float:
    """Return the average precision of class 1 against class 0."""
    p = p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p
    weights, order = np.ones(len(p)) if weight is None else np.asarray(weight, np.float64), np.argsort(-p)
    ones, p = np.where(np.asarray(y) == 1, weights, 0.0)[order], p[order]
    last = np.append(np.flatnonzero(p[1:] != p[:-1]), len(p) - 1)  # of rows that tie
    found, drawn = np.cumsum(ones)[last], np.cumsum(weights[order])[last]
    precision = found / np.where(drawn > 0, drawn, 1.0)
    return float((np.diff(found, prepend=0.0) * precision).sum() / found[-1]) if found[-1] else 0.0


def r2(y: F8, p: F8, weight: F8 | None, _qid: ArrayLike | None) -> float:
    """Return the coefficient of determination."""
    from sklearn.metrics import r2_score

    return float(r2_score(y, p, sample_weight=weight))


def negative_root_mean_squared_error(y: F8, p: F8, weight: F8 | None, _qid: ArrayLike | None) -> float:
    """Return minus the square root of the mean squared error, in the unit of the labels."""
    return -float(np.sqrt(np.average((np.asarray(y) - p) ** 2, weights=weight)))


def negative_log_loss(y: I8, p: F8, weight: F8 | None, _qid: ArrayLike | None) -> float:
    """Return minus the mean cross-entropy, in nats; probabilities below 2.2e-16 count as 2.2e-16."""
    return -float(np.average(cross_entropies(np.asarray(y), p), weights=weight))


def f1(y: I8, p: F8, weight: F8 | None, _qid: ArrayLike | None) -> float:
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


def influence(
    name: str | LibraryScore,
    y: NDArray[Any],
    p: F8,
    weight: F8 | None = None,
    qid: ArrayLike | None = None,
    units: I8 | None = None,
) -> F8:
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
    if isinstance(score, LibraryScore) and isinstance(score.scorer, ErrorCosts):
        exact = _mean_of(score.scorer.of_rows)
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
    return of_repeats(moved, given)


def of_repeats(moved: F8, weight: F8) -> F8:
    """Return influences, (n,), of weighted rows so that whole weights count as repeated rows."""
    if (weight == np.floor(weight)).all():
        moved = moved / np.sqrt(np.maximum(weight, 1.0))
    return np.asarray(moved, np.float64)


def standard_error(moved: NDArray[np.floating[Any]]) -> float:
    """Return the standard error for influences (n,), with one more row of influence 1/n, so that it is never zero."""
    moved = np.asarray(moved, np.float64)
    rows = int(np.count_nonzero(moved)) or max(len(moved), 1)
    return float(np.sqrt(moved @ moved + 1.0 / rows**2))
