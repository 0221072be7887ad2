"""Links: functions from the scores of rows to their predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

LINKS = ("identity", "sigmoid", "softmax", "ranked", "exp", "softplus", "signed-square", "step", "isolation")

_SAFE = 700.0  # scores nearer to zero overflow in no link
SMALLEST = 1e-15  # probabilities are clipped to [SMALLEST, 1 - SMALLEST] before a logarithm


def squeeze(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Drop the second dimension of (rows, 1)."""
    return table[:, 0] if table.shape[1] == 1 else table


def apply_link(link: str, scores: NDArray[np.float64], level: float = 0.0) -> NDArray[np.float64]:
    """Return the predictions for scores s, float64 (rows, K), in the same shape.

    They are s ("identity"), 1 / (1 + exp(-s)) ("sigmoid", of each output), exp(s_k) / sum_j exp(s_j) ("softmax"),
    exp(s) ("exp"), log(1 + exp(s)) ("softplus"), s |s| ("signed-square"), 1 if s > 0 else 0 ("step"), -2^-s
    ("isolation"), or ranks within a `level` ("ranked").
    """
    if link == "identity":
        return scores
    if link == "ranked":
        return _ranked(scores, level)
    if link in _OF_EACH and scores.size == 1 and abs(score := scores.item()) < _SAFE:  # a fourth of the time
        return np.array([[_OF_EACH[link](score)]], np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if link in _OF_EACH:
            return np.asarray(_OF_EACH[link](scores), np.float64)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / sum_rows(powers)[:, None])


def sum_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of each row of (rows, K), in the order of its numbers, however many rows there are."""
    total = values[:, 0].copy()
    for k in range(1, values.shape[1]):
        total += values[:, k]
    return total


def agree_with_scores(
    predictions: NDArray[np.float64], scores: NDArray[np.float64], cut: float, half: float
) -> NDArray[np.float64]:
    """Return predictions, float64 (rows, K), that tell the same class as scores, also where rounding made them equal.

    Of one output class 1 has scores above `cut` and predictions above `half`; of more, the class is the first largest.
    A prediction that has to move goes to the next number.
    """
    if predictions.shape[1] == 1:
        above, least = scores > cut, np.nextafter(half, np.inf)
        return np.where(above, np.maximum(predictions, least), np.minimum(predictions, half))
    likeliest = scores.argmax(axis=1)
    if (other := predictions.argmax(axis=1) != likeliest).any():
        predictions = predictions.copy()
        predictions[other, likeliest[other]] = np.nextafter(predictions[other].max(axis=1), np.inf)
    return predictions


_OF_EACH: Mapping[str, Callable[[Any], Any]] = {
    "sigmoid": lambda s: 1.0 / (1.0 + np.exp(-s)),
    "exp": np.exp,
    "softplus": lambda s: np.logaddexp(0.0, s),
    "signed-square": lambda s: s * np.abs(s),
    "step": lambda s: s > 0,
    "isolation": lambda s: -np.exp2(-s),
}


def _ranked(scores: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Return level + s / (2 (1 + |s|)), within a half of the level.

    In this form every operation is monotone after rounding too, and none overflows: an infinite score gives a half.
    """
    with np.errstate(divide="ignore", over="ignore"):
        half = 0.5 / (1.0 + 1.0 / np.abs(scores))
    return np.asarray(level + np.copysign(half, scores))


def log_odds(predictions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores of predictions with different links: clipped log(p), or log(p / (1 - p)) for one output."""
    p = np.clip(predictions, SMALLEST, 1.0 - SMALLEST)
    return np.log(p) - np.log1p(-p) if p.shape[1] == 1 else np.log(p)
