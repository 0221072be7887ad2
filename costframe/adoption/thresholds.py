"""Conversion of float32 tests to float64 ones: the largest double that passes the original test.

A float32 library rounds a value x to float32 (to nearest, ties to even) and compares the result with its threshold.
Rounding is monotone, so the doubles that pass are all doubles up to a largest one, T, and `x <= T` is the same test on
float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["float32_at_most", "float32_less"]

_BEYOND = 2.0**128
"""The next number after float32's largest one, if it had a larger exponent."""


def float32_less(threshold: ArrayLike) -> NDArray[np.float64]:
    """Convert `float32(x) < t`, the test of xgboost, to `x <= T`.

    Parameters
    ----------
    threshold : array_like of float32
        The original's thresholds t; infinities and NaN are allowed.

    Returns
    -------
    ndarray of float64, same shape
        T, with `(x <= T) == (float32(x) < t)` for every double x that is not NaN. NaN where no value passes.
    """
    limit = np.asarray(threshold, np.float32)
    below = _neighbor(limit, -np.inf)
    return np.where(limit > -np.inf, _largest_rounding_to(below), np.nan)


def float32_at_most(threshold: ArrayLike) -> NDArray[np.float64]:
    """Convert `float32(x) <= t` with a double t, the test of scikit-learn's trees, to `x <= T`.

    Parameters
    ----------
    threshold : array_like of float64
        The original's thresholds t; infinities and NaN are allowed.

    Returns
    -------
    ndarray of float64, same shape
        T, with `(x <= T) == (float32(x) <= t)` for every double x that is not NaN. NaN where no value passes.
    """
    limit = np.asarray(threshold, np.float64)
    with np.errstate(over="ignore"):  # numbers beyond float32 become infinite, like the original's cast
        nearest = limit.astype(np.float32)
    largest = np.where(nearest > limit, _neighbor(nearest, -np.inf), nearest)
    return np.where(np.isnan(limit), np.nan, _largest_rounding_to(largest))


def _largest_rounding_to(value: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the largest double whose float32 rounding is at most `value`: float64."""
    above = _neighbor(value, np.inf)
    low, high = _place_infinity(value), _place_infinity(above)
    middle = low + (high - low) / 2  # exact: float32 neighbors have room for one more bit in a double
    with np.errstate(over="ignore"):
        stays = middle.astype(np.float32) <= value  # the tie goes to the even neighbor
    last = np.where(stays, middle, np.nextafter(middle, -np.inf))
    return np.where(value == np.inf, np.inf, last)


def _neighbor(value: NDArray[np.float32], toward: float) -> NDArray[np.float32]:
    """Return the next number in a direction, infinity after the largest one, without a warning: float32."""
    with np.errstate(over="ignore"):
        return np.nextafter(value, np.float32(toward))


def _place_infinity(value: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the values, with infinity at its place in the rounding rule: float64."""
    return np.clip(value.astype(np.float64), -_BEYOND, _BEYOND)
