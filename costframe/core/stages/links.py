"""Links, functions from the scores of rows to their predictions, and blends, weighted sums of links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import Attribute, field, frozen

from costframe.core.arrays import F8
from costframe.core.errors import StageError, shown
from costframe.core.stages.exponentials import exponential, exponentials

LINKS = ("identity", "sigmoid", "softmax", "ranked", "exp", "softplus", "signed-square", "step", "isolation")
_SAFE = 700.0  # scores nearer to zero overflow in no link
SMALLEST = 1e-15  # probabilities are clipped to [SMALLEST, 1 - SMALLEST] before a logarithm
_OF_EACH: Mapping[str, Callable[[Any], Any]] = {
    "sigmoid": lambda s: 1.0 / (1.0 + exponentials(-s)),
    "exp": exponentials,
    "softplus": lambda s: np.logaddexp(0.0, s),
    "signed-square": lambda s: s * np.abs(s),
    "step": lambda s: s > 0,
    "isolation": lambda s: -np.exp2(-s),
}
_OF_ONE: Mapping[str, Callable[[float], float]] = {
    "sigmoid": lambda s: 1.0 / (1.0 + exponential(-s)),
    "exp": exponential,
}
BLEND_LINKS = (*(link for link in LINKS if link != "ranked"), "normalized", "shares", "knots")


def as_reals(values: object, name: str, ndim: int) -> F8:
    """Return finite numbers as a read-only array of `ndim` dimensions, one or two; refuse others."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise StageError(f"{name}: expected numbers, got {shown(values)}") from None
    if ndim == 2 and array.ndim == 1:
        array = array.reshape(-1, 1)
    if ndim == 1 and array.ndim == 0:
        array = array.reshape(1)
    if array.ndim != ndim:
        raise StageError(f"{name}: expected {ndim} dimension(s), got shape {array.shape}")
    if not np.isfinite(array).all():
        raise StageError(f"{name}: expected finite numbers, got NaN or infinity")
    array.setflags(write=False)
    return array


def as_matrix(values: object) -> F8:
    """Return weights, float64 (C, K)."""
    return as_reals(values, "weights", 2)


def as_vector(values: object) -> F8:
    """Return an intercept, float64 (K,)."""
    return as_reals(values, "intercept", 1)


def as_finite(values: Any, name: str) -> float:
    """Return a finite number; refuse anything else."""
    if isinstance(values, bool) or not isinstance(values, int | float | np.integer | np.floating):
        raise StageError(f"{name}: expected a number, got {shown(values)}")
    try:
        number = float(values)
    except OverflowError:
        number = np.inf
    if not np.isfinite(number):
        raise StageError(f"{name}: expected a finite number, got {shown(values)}")
    return number


def as_temperature(values: Any) -> float:
    """Return a positive finite number; refuse anything else."""
    temperature = as_finite(values, "temperature")
    if temperature <= 0:
        raise StageError(f"temperature: expected a positive number, got {temperature:g}")
    return temperature


def squeeze(table: F8) -> F8:
    """Drop the second dimension of (rows, 1)."""
    return table[:, 0] if table.shape[1] == 1 else table


def apply_link(link: str, scores: F8, level: float = 0.0) -> F8:
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
        of_one: Callable[[Any], Any] = _OF_ONE.get(link) or _OF_EACH[link]
        return np.array([[of_one(score)]], np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if link in _OF_EACH:
            return np.asarray(_OF_EACH[link](scores), np.float64)
        powers = exponentials(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / sum_rows(powers)[:, None])


def sum_rows(values: F8) -> F8:
    """Return the sum of each row of (rows, K), in the order of its numbers, however many rows there are."""
    total = values[:, 0].copy()
    for k in range(1, values.shape[1]):
        total += values[:, k]
    return total


def agree_with_scores(predictions: F8, scores: F8, cut: float, half: float) -> F8:
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


def _ranked(scores: F8, level: float) -> F8:
    """Return level + s / (2 (1 + |s|)), within a half of the level.

    In this form every operation is monotone after rounding too, and none overflows: an infinite score gives a half.
    """
    with np.errstate(divide="ignore", over="ignore"):
        offset = 0.5 / (1.0 + 1.0 / np.abs(scores))
    return np.asarray(level + np.copysign(offset, scores))


def log_odds(predictions: F8) -> F8:
    """Return scores of predictions with different links: clipped log(p), or log(p / (1 - p)) for one output."""
    p = np.clip(predictions, SMALLEST, 1.0 - SMALLEST)
    return np.log(p) - np.log1p(-p) if p.shape[1] == 1 else np.log(p)


def _width(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise StageError(f"width: expected a positive whole number, got {shown(value)}")
    return int(value)


def _knots(values: object) -> F8:
    return as_reals(values, "knots", 2)


@frozen(eq=False)
class BlendPart:
    """Some consecutive values, and the link that a blend applies to them."""

    # a link of answers but "ranked"; "normalized", values divided by their sum, all equal where it is zero; "shares",
    # the same but zero where it is zero; or "knots", for a single value, linear between knots and constant beyond
    link: str = field()
    width: int = field(default=1, converter=_width)  # number of values
    # positive; the link is applied to values divided by it
    temperature: float = field(default=1.0, converter=as_temperature)
    # (2, n): for "knots" only: ascending arguments, and the values at them
    knots: F8 = field(default=((), ()), converter=_knots)

    @link.validator
    def _known_link(self, _attribute: Attribute[str], value: str) -> None:
        if value not in BLEND_LINKS:
            raise StageError(f"link of a blend: expected one of {', '.join(BLEND_LINKS)}, got {shown(value)}")

    def __attrs_post_init__(self) -> None:
        if self.link != "knots":
            if self.knots.size:
                raise StageError(f"knots: are not for the link {self.link!r}")
            return
        if len(self.knots) != 2 or not self.knots.size or not (np.diff(self.knots[0]) > 0).all():
            raise StageError("knots: expected ascending arguments and their values, two lists of the same length")
        if self.width != 1:
            raise StageError(f"knots: are for a single value, got {self.width}")

    def outputs(self, values: F8) -> F8:
        """Apply the link to values, float64 (rows, width); the result has the same shape."""
        if self.temperature != 1.0:
            values = values / self.temperature
        if self.link == "knots":
            levels: F8 = np.interp(values[:, 0], *self.knots)[:, None]
            return levels
        if self.link in {"normalized", "shares"}:
            return _normalize(values, 1.0 / values.shape[1] if self.link == "normalized" else 0.0)
        return apply_link(self.link, values)


def _normalize(values: F8, without: float) -> F8:
    """Return values divided by their sum in each row; all are `without` where that is zero."""
    total = sum_rows(values)
    nothing = total == 0
    total[nothing] = 1.0
    shares = values / total[:, None]
    shares[nothing] = without
    return shares


def _parts(values: Any) -> tuple[BlendPart, ...]:
    parts = tuple(values)
    if not parts or not all(isinstance(part, BlendPart) for part in parts):
        raise StageError(f"parts: expected a list of BlendPart, got {shown(values)}")
    return parts


@frozen(eq=False)
class Blend:
    """A weighted sum of links: intercept_k + sum_c weights[c, k] v_c in ascending c, with the parts' outputs v."""

    parts: tuple[BlendPart, ...] = field(converter=_parts)  # side by side, of all inputs
    # (C, K): C is the number of inputs. Entries of zero are left out, whatever the value.
    weights: F8 = field(converter=as_matrix)
    intercept: F8 = field(converter=as_vector)  # (K,)

    def __attrs_post_init__(self) -> None:
        if len(self.weights) != self.n_inputs:
            raise StageError(f"blend: its parts have {self.n_inputs} value(s), it has {len(self.weights)} weights")
        if len(self.intercept) < 1 or self.weights.shape[1] != len(self.intercept):
            raise StageError(
                f"blend: weights are for {self.weights.shape[1]} output(s), the intercept for {len(self.intercept)}"
            )

    @property
    def n_inputs(self) -> int:
        """C, the number of values that it takes."""
        return sum(part.width for part in self.parts)

    @property
    def n_outputs(self) -> int:
        """K, the number of values that it gives."""
        return len(self.intercept)

    @property
    def divisor(self) -> float | None:
        """The number by which it divides its values, if that is all it does; else None."""
        links = {(part.link, part.temperature) for part in self.parts}
        link, temperature = next(iter(links))
        plain = len(links) == 1 and link == "identity" and not self.intercept.any()
        return temperature if plain and np.array_equal(self.weights, np.eye(self.n_inputs)) else None

    def outputs(self, values: F8) -> F8:
        """Return the outputs, float64 (rows, K), for values, float64 (rows, C)."""
        scores = np.tile(self.intercept, (len(values), 1))
        first = 0
        for part in self.parts:
            # Numpy's exponentials of values with gaps between them, and of values without, differ in the last bit.
            linked = part.outputs(np.ascontiguousarray(values[:, first : first + part.width]))
            # One by one, not as a product of matrices, whose sums depend on the number of rows.
            for c, k in np.argwhere(self.weights[first : first + part.width]):
                scores[:, k] += self.weights[first + c, k] * linked[:, c]
            first += part.width
        return scores
