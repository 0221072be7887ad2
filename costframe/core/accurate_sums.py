"""Sums over rows to twice the digits of a double: rounded to doubles, they hardly ever depend on the order of rows.

So iterations that enlarge small differences have the same result in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe import engine

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AccurateSums", "coarse", "product", "sum_over_rows", "sum_products"]

_BITS = 20


class AccurateSums:
    """Sums over rows of products of C and M numbers, to which blocks of rows are added."""

    def __init__(self, n_left: int, n_right: int) -> None:
        self._high, self._low = np.zeros((n_right, n_left)), np.zeros((n_right, n_left))

    def add(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> None:
        """Add the products of numbers (n, C) and (n, M) of the same rows."""
        engine.add_products(np.ascontiguousarray(left), np.ascontiguousarray(right), self._high, self._low)

    def total(self) -> NDArray[np.float64]:
        """Return the sums: float64 (C, M)."""
        return np.ascontiguousarray((self._high + self._low).T)


def sum_products(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return left' right: float64 (C, M) for (n, C) and (n, M)."""
    sums = AccurateSums(left.shape[1], right.shape[1])
    sums.add(left, right)
    return sums.total()


def sum_over_rows(values: NDArray[np.float64], weight: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the sums of columns, (n, C), times weights (n,) if given: float64 (C,)."""
    factor = np.ones(len(values)) if weight is None else weight
    return sum_products(values, factor[:, np.newaxis])[:, 0]


def product(left: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return left @ weights, (n, M) for (n, C) and (C, M); a row's numbers depend on no other row."""
    found = np.empty((len(left), weights.shape[1]))
    engine.score_rows(np.ascontiguousarray(left), np.ascontiguousarray(weights.T), found)
    return found


def coarse(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to a few digits: numbers that differ by the order of a sum become equal, hardly ever with an exception."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, _BITS)), exponent - _BITS))
