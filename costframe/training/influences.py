"""The influence of rows on a score, and the standard error that follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError
from costframe.training.basic_scores import cross_entropies, f1, guesses
from costframe.training.error_costs import ErrorCosts
from costframe.training.library_scores import LibraryScore
from costframe.training.query_scores import QueryScore
from costframe.training.scoring import SHORT_NAMES, score_named

Influence = Callable[[Any, F8, F8], F8]
_PARTS = 40  # of rows, some of each left out in turn


def _brier(y: NDArray[Any], p: F8) -> F8:
    if p.ndim == 2 and p.shape[1] > 2:
        return np.asarray(((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1), np.float64)
    return np.asarray(((p[:, 1] if p.ndim == 2 else p) - y) ** 2, np.float64)


def _mean_of(loss: Callable[[Any, Any], Any]) -> Influence:
    """Return the influences on minus the mean of a loss of labels and predictions."""

    def moved(y: Any, p: F8, weight: F8) -> F8:
        losses = np.asarray(loss(y, p), np.float64)
        return np.asarray(-weight * (losses - np.average(losses, weights=weight)) / weight.sum(), np.float64)

    return moved


# Stands below the functions that it names.
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


def group_alike(y: NDArray[Any], p: F8, *, of_classes: bool, labels_only: bool) -> I8:
    """Return a number of each row, the same for rows that move a score by about as much: int64 (n,).

    They have equal labels and predictions; only the likeliest class counts with `labels_only`. Probabilities of class 1
    of two classes are equal if they lie at the same twentieth between the rows of both classes.
    """
    shown: Any = p[:, 1] if of_classes and p.ndim == 2 and p.shape[1] == 2 else p
    if of_classes and labels_only:
        shown = guesses(p)
    elif of_classes and shown.ndim == 1:
        ranks = [np.sort(shown[y == k]) for k in (0, 1)]
        below = [
            np.searchsorted(ranked, shown, side) / max(len(ranked), 1) for ranked in ranks for side in ("left", "right")
        ]
        shown = np.floor(np.minimum(np.mean(below, axis=0), 1 - 1e-9) * _PARTS / 2)
    return np.unique(np.column_stack([y, shown]), axis=0, return_inverse=True)[1].ravel()


def jackknife(score: Callable[[I8], float], kinds: I8, weight: F8, units: I8 | None = None) -> F8:
    """Return the influence of each row on a score of rows by number: float64 (n,).

    If there are at most `_PARTS` kinds of rows, a few rows of a kind are left out at a time, at most half of them, and
    all of the kind have the mean influence of these. Else rows, or whole units of rows, are dealt to parts by chance,
    and a part is left out at a time. Its rows, or the first rows of its units, share its influence so that their
    squares add up to its square.
    """
    moved, rows = np.zeros(len(weight)), np.arange(len(weight))
    alike = kinds.max(initial=-1) < _PARTS
    part = kinds
    if not alike:
        units = rows if units is None else units
        part = np.random.default_rng(0).permutation(int(units.max()) + 1)[units] % _PARTS
    whole, total = score(rows), weight.sum()
    for number in range(int(part.max(initial=-1)) + 1):
        chosen = np.flatnonzero(part == number)
        left_out = chosen[:: max(2, 2 * _PARTS * len(chosen) // len(rows))] if alike else chosen
        remaining = np.delete(rows, left_out)
        try:
            decrease = (whole - score(remaining)) * weight[remaining].sum() / total
        except DataError:  # a class has no other row
            continue
        if alike:
            moved[chosen] = decrease * weight[chosen] / weight[left_out].sum()
        else:
            assert units is not None  # noqa: S101 - see above
            first = chosen[np.unique(units[chosen], return_index=True)[1]]
            moved[first] = decrease * weight[first] / np.linalg.norm(weight[first])
    return np.nan_to_num(moved)


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
        by_class = [influence("roc_auc", (y == k).astype(int), column, weight) for k, column in enumerate(p.T)]
        return np.asarray(np.mean(by_class, axis=0), np.float64)
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
                lambda at: score(y[rows[at]], p[rows[at]], None if weight is None else given[rows[at]], None),
                group_alike(y[rows], p[rows], of_classes=of_classes, labels_only=labels_only),
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


def error_of_mean(values: F8, units: I8 | None) -> float:
    """Return the standard error of the mean of values of rows, (n,), or of rows whose queries or groups were drawn."""
    units = np.arange(len(values)) if units is None else units
    moved = np.bincount(units, (values - values.mean()) / len(values))
    return float(np.sqrt(moved @ moved * len(moved) / (len(moved) - 1))) if len(moved) > 1 else float("nan")
