"""Blends: weighted sums of links of scores, for models that average or weigh what other models predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field, frozen

from costframe.core.errors import StageError, shown
from costframe.core.stages.links import LINKS, apply_link, sum_rows
from costframe.core.stages.numbers import as_matrix, as_reals, as_temperature, as_vector

if TYPE_CHECKING:
    from attrs import Attribute
    from numpy.typing import NDArray

BLEND_LINKS = (*(link for link in LINKS if link != "ranked"), "normalized", "knots")


def _width(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise StageError(f"width: expected a positive whole number, got {shown(value)}")
    return int(value)


def _knots(values: object) -> NDArray[np.float64]:
    return as_reals(values, "knots", 2)


@frozen(eq=False)
class Part:
    """Some consecutive values, and the link that a blend applies to them.

    Parameters
    ----------
    link : str
        A link of answers but "ranked"; "normalized", values divided by their sum, all equal where it is zero; or
        "knots", for a single value, linear between knots and constant beyond.
    width : int
        Number of values.
    temperature : float
        Positive; the link is applied to values divided by it.
    knots : float64 (2, n)
        For "knots" only: ascending arguments, and the values at them.
    """

    link: str = field()
    width: int = field(default=1, converter=_width)
    temperature: float = field(default=1.0, converter=as_temperature)
    knots: NDArray[np.float64] = field(default=((), ()), converter=_knots)

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

    def outputs(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Apply the link to values, float64 (rows, width); the result has the same shape."""
        if self.temperature != 1.0:
            values = values / self.temperature
        if self.link == "knots":
            found: NDArray[np.float64] = np.interp(values[:, 0], *self.knots)[:, None]
            return found
        return _normalize(values) if self.link == "normalized" else apply_link(self.link, values)


def _normalize(values: NDArray[np.float64]) -> NDArray[np.float64]:
    total = sum_rows(values)
    nothing = total == 0
    total[nothing] = 1.0
    shares = values / total[:, None]
    shares[nothing] = 1.0 / values.shape[1]
    return shares


def _parts(values: Any) -> tuple[Part, ...]:
    parts = tuple(values)
    if not parts or not all(isinstance(part, Part) for part in parts):
        raise StageError(f"parts: expected a list of Part, got {shown(values)}")
    return parts


@frozen(eq=False)
class Blend:
    """A weighted sum of links: output_k = intercept_k + sum_c weights[c, k] v_c in ascending c, v the parts' outputs.

    Parameters
    ----------
    parts : tuple of Part
        Side by side, of all inputs.
    weights : float64 (C, K)
        C is the number of inputs. Entries of zero are left out, whatever the value.
    intercept : float64 (K,)
    """

    parts: tuple[Part, ...] = field(converter=_parts)
    weights: NDArray[np.float64] = field(converter=as_matrix)
    intercept: NDArray[np.float64] = field(converter=as_vector)

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

    def outputs(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the outputs, float64 (rows, K), for values, float64 (rows, C)."""
        found = np.tile(self.intercept, (len(values), 1))
        first = 0
        for part in self.parts:
            # Numpy's exponentials of values with gaps between them, and of values without, differ in the last bit.
            linked = part.outputs(np.ascontiguousarray(values[:, first : first + part.width]))
            # One by one, not as a product of matrices, whose sums depend on the number of rows.
            for c, k in np.argwhere(self.weights[first : first + part.width]):
                found[:, k] += self.weights[first + c, k] * linked[:, c]
            first += part.width
        return found
