"""Float32 tests as float64 ones: the largest double that passes the original test.

A float32 library rounds a value x to float32 (to nearest, ties to even) and compares the result with its threshold.
Rounding is monotone, so the doubles that pass are all those up to some largest one, T, and `x <= T` is the same test on
float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["float32_at_most", "float32_less"]

_BEYOND = 2.0**128
"""What float32 would hold next after its largest number, had it one more exponent."""


def float32_less(threshold: ArrayLike) -> NDArray[np.float64]:
    """Turn `float32(x) < t`, the test of xgboost, into `x <= T`.

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
    return np.where(limit > -np.inf, _last_rounding_to(below), np.nan)


def float32_at_most(threshold: ArrayLike) -> NDArray[np.float64]:
    """Turn `float32(x) <= t` with a double t, the test of scikit-learn's trees, into `x <= T`.

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
    with np.errstate(over="ignore"):  # beyond the float32 range is infinity, as the original's cast has it
        nearest = limit.astype(np.float32)
    largest = np.where(nearest > limit, _neighbor(nearest, -np.inf), nearest)
    return np.where(np.isnan(limit), np.nan, _last_rounding_to(largest))


def _last_rounding_to(value: NDArray[np.float32]) -> NDArray[np.float64]:
    """float64: the largest double whose float32 rounding is at most `value`."""
    above = _neighbor(value, np.inf)
    low, high = _finite(value), _finite(above)
    middle = low + (high - low) / 2  # exact: float32 neighbors have room for one more bit in a double
    with np.errstate(over="ignore"):
        stays = middle.astype(np.float32) <= value  # the tie goes to the even neighbor
    last = np.where(stays, middle, np.nextafter(middle, -np.inf))
    return np.where(value == np.inf, np.inf, last)


def _neighbor(value: NDArray[np.float32], toward: float) -> NDArray[np.float32]:
    """float32: the next number in the direction given; beyond the largest is infinity, without a warning."""
    with np.errstate(over="ignore"):
        return np.nextafter(value, np.float32(toward))


def _finite(value: NDArray[np.float32]) -> NDArray[np.float64]:
    """float64: the values, with infinity where the rounding rule places it."""
    return np.clip(value.astype(np.float64), -_BEYOND, _BEYOND)
