"""Comparisons of float32 libraries as comparisons of doubles.

A float32 library rounds a value x to float32 (to nearest, ties to even) and compares the result with its threshold.
Rounding is monotone, so the doubles that pass are all doubles up to a largest one, T, and `x <= T` is the same test on
float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8

_BEYOND = 2.0**128
"""The next number after float32's largest one, if it had a larger exponent."""


def float32_less(threshold: ArrayLike) -> F8:
    """Convert the test of xgboost: T, float64, with `(x <= T) == (float32(x) < t)` for every double x but NaN.

    Thresholds t, float32, may be infinite or NaN; T is NaN if no value passes.
    """
    limit = np.asarray(threshold, np.float32)
    below = _neighbor(limit, -np.inf)
    return np.where(limit > -np.inf, _largest_rounding_to(below), np.nan)


def float32_at_most(threshold: ArrayLike) -> F8:
    """Convert the test of scikit-learn's trees: T, float64, with `(x <= T) == (float32(x) <= t)` for every x but NaN.

    Thresholds t, float64, may be infinite or NaN; T is NaN if no value passes.
    """
    limit = np.asarray(threshold, np.float64)
    with np.errstate(over="ignore"):  # numbers beyond float32 become infinite, like the original's cast
        nearest = limit.astype(np.float32)
    largest = np.where(nearest > limit, _neighbor(nearest, -np.inf), nearest)
    return np.where(np.isnan(limit), np.nan, _largest_rounding_to(largest))


def _largest_rounding_to(value: NDArray[np.float32]) -> F8:
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


def _place_infinity(value: NDArray[np.float32]) -> F8:
    """Return the values, with infinity at its place in the rounding rule: float64."""
    return np.clip(value.astype(np.float64), -_BEYOND, _BEYOND)
