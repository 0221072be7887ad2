"""Influences of rows on scores: the derivative of the score by the row's weight, times the weight.

Of means of rows they are exact, and of roots and quotients of such means. Of all other scores a jackknife finds them:
it leaves out some rows at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Influence = Callable[[Any, NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]

__all__ = ["INFLUENCES", "cross_entropies", "jackknife", "kinds_of"]

PARTS = 40  # of rows, some of each left out in turn


def cross_entropies(y: NDArray[np.int64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cross-entropy of each row, from probabilities of class 1 or of all classes: float64 (n,)."""
    likely = p[np.arange(len(p)), np.asarray(y, np.int64)] if p.ndim == 2 else np.where(y == 1, p, 1 - p)
    return np.asarray(-np.log(np.maximum(likely, np.finfo(np.float64).eps)), np.float64)


def guesses(p: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the likeliest class of each row, from probabilities of class 1 or of all classes: int64 (n,)."""
    return np.asarray(p.argmax(axis=1) if p.ndim == 2 else p > 0.5, np.int64)


def _brier(y: NDArray[Any], p: NDArray[np.float64]) -> NDArray[np.float64]:
    if p.ndim == 2 and p.shape[1] > 2:
        return np.asarray(((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1), np.float64)
    return np.asarray(((p[:, 1] if p.ndim == 2 else p) - y) ** 2, np.float64)


def _mean_of(loss: Callable[[Any, Any], Any]) -> Influence:
    """Return the influences on minus the mean of a loss of labels and predictions."""

    def moved(y: Any, p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        each = np.asarray(loss(y, p), np.float64)
        return np.asarray(-weight * (each - np.average(each, weights=weight)) / weight.sum(), np.float64)

    return moved


_of_squares = _mean_of(lambda y, p: (y - p) ** 2)


def _rmse(y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(_of_squares(y, p, weight) / (2 * np.sqrt(np.average((y - p) ** 2, weights=weight))), np.float64)


def _r2(y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
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


def kinds_of(y: NDArray[Any], p: NDArray[np.float64], *, of_classes: bool, labels_only: bool) -> NDArray[np.int64]:
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


def jackknife(
    score: Callable[[NDArray[np.int64]], float],
    kinds: NDArray[np.int64],
    weight: NDArray[np.float64],
    units: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
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
