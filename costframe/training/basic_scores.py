"""Scores that are computed here, because paths call them often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from costframe.core.arrays import B1, F8, I8

Score = Callable[[Any, F8, F8 | None, ArrayLike | None], float]


def cross_entropies(y: I8, p: F8) -> F8:
    """Return the cross-entropy of each row, from probabilities of class 1 or of all classes: float64 (n,)."""
    likely = p[np.arange(len(p)), np.asarray(y, np.int64)] if p.ndim == 2 else np.where(y == 1, p, 1 - p)
    return np.asarray(-np.log(np.maximum(likely, np.finfo(np.float64).eps)), np.float64)


def guesses(p: F8) -> I8:
    """Return the likeliest class of each row, from probabilities of class 1 or of all classes: int64 (n,)."""
    return np.asarray(p.argmax(axis=1) if p.ndim == 2 else p > 0.5, np.int64)


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
    ones, zeros = (np.diff(np.cumsum(counts)[last], prepend=0.0) for counts in (ones, zeros))  # of rows that tie
    below, pairs = np.cumsum(zeros) - zeros, float(ones.sum() * zeros.sum())
    return float((ones * (below + 0.5 * zeros)).sum() / pairs) if pairs else float("nan")


def average_precision(y: I8, p: F8, weight: F8 | None, _qid: ArrayLike | None) -> float:
    """Return the average precision of class 1 against class 0."""
    p = p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p
    weights, order = np.ones(len(p)) if weight is None else np.asarray(weight, np.float64), np.argsort(-p)
    ones, p = np.where(np.asarray(y) == 1, weights, 0.0)[order], p[order]
    last = np.append(np.flatnonzero(p[1:] != p[:-1]), len(p) - 1)  # of rows that tie
    positives, drawn = np.cumsum(ones)[last], np.cumsum(weights[order])[last]
    precision = positives / np.where(drawn > 0, drawn, 1.0)
    return float((np.diff(positives, prepend=0.0) * precision).sum() / positives[-1]) if positives[-1] else 0.0


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
        np.asarray(np.bincount(of, weights, n_classes), np.float64)[int(n_classes == 2) :]
        for of, weights in ((y, worth * (guess == y)), (guess, worth), (y, worth))
    )
    sizes = guessed + rows
    return float(np.mean(2 * hits[sizes > 0] / sizes[sizes > 0])) if sizes.any() else 0.0


# Stands below the functions that it names.
SCORES: dict[str, Score] = {
    "accuracy": accuracy,
    "roc_auc": roc_auc,
    "neg_log_loss": negative_log_loss,
    "f1": f1,
    "average_precision": average_precision,
    "r2": r2,
    "neg_root_mean_squared_error": negative_root_mean_squared_error,
}
