"""Influences of rows on scores: the derivative of the score by the row's weight, times the weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Influence = Callable[[Any, NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def cross_entropies(y: NDArray[np.int64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cross-entropy of each row, from probabilities of class 1 or of all classes: float64 (n,)."""
    likely = p[np.arange(len(p)), np.asarray(y, np.int64)] if p.ndim == 2 else np.where(y == 1, p, 1 - p)
    return np.asarray(-np.log(np.maximum(likely, np.finfo(np.float64).eps)), np.float64)


def f1_counts(
    y: NDArray[np.int64], p: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weight of right predictions of each class, and that of its predictions and of its rows together.

    Only of class 1 if there are two: float64 (1,) or (K,).
    """
    guess, n_classes = (p.argmax(axis=1), p.shape[1]) if p.ndim == 2 else (p > 0.5, 2)
    several = p.ndim == 2 and p.shape[1] > 2
    hits, guessed, rows = (
        np.asarray(np.bincount(of, worth, n_classes), np.float64)
        for of, worth in ((y, weight * (guess == y)), (guess, weight), (y, weight))
    )
    chosen = slice(0 if several else 1, None)
    return hits[chosen], (guessed + rows)[chosen]


def _accuracy_influences(y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    right = (p.argmax(axis=1) if p.ndim == 2 else p > 0.5) == y
    return _mean_influences(1.0 - right, weight)


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


def _f1_influences(y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the influences on 2 hits / (predictions + rows) of class 1, or on the mean over more classes."""
    hits, sizes = f1_counts(y, p, weight)
    guess, first = p.argmax(axis=1) if p.ndim == 2 else p > 0.5, int(len(sizes) == 1)
    moved = [
        (2.0 * ((guess == k) & (y == k)) - 2 * hit / size * ((guess == k) * 1.0 + (y == k))) / size
        for k, (hit, size) in enumerate(zip(hits, sizes, strict=True), first)
        if size > 0
    ]
    return np.asarray(weight * np.mean(moved, axis=0) if moved else np.zeros(len(y)), np.float64)


def _mean_influences(loss: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(-weight * (loss - np.average(loss, weights=weight)) / weight.sum(), np.float64)


def _log_loss_influences(y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    return _mean_influences(cross_entropies(y, p), weight)


def _rmse_influences(y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    square = (y - p) ** 2
    return np.asarray(_mean_influences(square, weight) / (2 * np.sqrt(np.average(square, weights=weight))), np.float64)


def _brier(y: NDArray[Any], p: NDArray[np.float64]) -> NDArray[np.float64]:
    if p.ndim == 2 and p.shape[1] > 2:
        return np.asarray(((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1), np.float64)
    return np.asarray(((p[:, 1] if p.ndim == 2 else p) - y) ** 2, np.float64)


def _mean_of(loss: Callable[[Any, Any], Any]) -> Influence:
    """Return the influences on minus the mean of a loss of labels and predictions."""
    return lambda y, p, weight: _mean_influences(np.asarray(loss(y, p), np.float64), weight)


INFLUENCES: dict[str, Influence] = {
    "accuracy": _accuracy_influences,
    "roc_auc": _roc_auc_influences,
    "neg_log_loss": _log_loss_influences,
    "f1": _f1_influences,
    "average_precision": _average_precision_influences,
    "r2": _r2_influences,
    "neg_root_mean_squared_error": _rmse_influences,
    # Of scores that scikit-learn computes; the others have a jackknife (library_scores).
    "roc_auc_ovr": _roc_auc_influences,
    "neg_brier_score": _mean_of(_brier),
    "neg_mean_absolute_error": _mean_of(lambda y, p: abs(y - p)),
    "neg_mean_squared_error": _mean_of(lambda y, p: (y - p) ** 2),
    "neg_mean_absolute_percentage_error": _mean_of(lambda y, p: abs(y - p) / np.maximum(abs(y), np.finfo(float).eps)),
    "neg_mean_squared_log_error": _mean_of(lambda y, p: (np.log1p(y) - np.log1p(p)) ** 2),
    "neg_mean_poisson_deviance": _mean_of(lambda y, p: 2 * (p - y + np.where(y > 0, y * np.log(y / p), 0.0))),
    "neg_mean_gamma_deviance": _mean_of(lambda y, p: 2 * (np.log(p / y) + y / p - 1)),
}
