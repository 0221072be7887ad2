"""Exponentials with the same bits on every machine: numpy's differ by processor, and those of C libraries by library.

Each step is one rounded operation on doubles, as every language has them, and a page in a browser takes the same steps.
"""

from __future__ import annotations

import math

import numpy as np

from costframe.core.arrays import F8

_LEAST, _MOST = -746.0, 710.0  # beyond these, zero and infinity
_PER_LOG2 = 1.44269504088896338700
_LOG2_HIGH = 6.93147180369123816490e-01  # the first 32 bits of log(2), so that a multiple of it is exact
_LOG2_LOW = 1.90821492927058770002e-10
# Of (exp(r) - 1 - r) / r^2, from the last term on.
_SERIES = C13, C12, C11, C10, C9, C8, C7, C6, C5, C4, C3, C2 = [1.0 / math.factorial(n) for n in range(13, 1, -1)]
_AT_ONCE = 4096  # numbers, which stay near the processor


def exponentials(values: F8) -> F8:
    """Return exp(x) of numbers of any shape, within .8 units of the last place; NaN of NaN."""
    found = np.empty(values.shape)
    flat, out = np.ascontiguousarray(values).reshape(-1), found.reshape(-1)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for begin in range(0, len(flat), _AT_ONCE):
            _write_exponentials(flat[begin : begin + _AT_ONCE], out[begin : begin + _AT_ONCE])
    return found


def _write_exponentials(values: F8, out: F8) -> None:
    """Take the steps of `exponential` for many numbers, float64 (n,)."""
    x = np.minimum(np.maximum(values, _LEAST), _MOST)
    twos = np.floor(x * _PER_LOG2 + 0.5)
    high, low = x - twos * _LOG2_HIGH, twos * _LOG2_LOW
    r = high - low
    rest = high - r
    rest -= low
    series = np.full(len(r), _SERIES[0])
    for factor in _SERIES[1:]:
        series *= r
        series += factor
    series *= r * r
    rest += r * rest
    series += rest
    series += r
    series += 1.0
    half = np.floor(twos * 0.5)
    np.multiply(series, _power_of_two(half), out=out)
    out *= _power_of_two(twos - half)


def _power_of_two(exponent: F8) -> F8:
    """Return 2^e of whole numbers from -1022 to 1023, of NaN anything."""
    power: F8 = (exponent.astype(np.int64) + 1023 << 52).view(np.float64)
    return power


def exponential(value: float) -> float:
    """Return exp(x) of one number, as `exponentials` does."""
    if not _LEAST <= value <= _MOST:
        if value != value:  # noqa: PLR0124 - NaN
            return value
        value = _LEAST if value < _LEAST else _MOST
    twos = math.floor(value * _PER_LOG2 + 0.5)
    high, low = value - twos * _LOG2_HIGH, twos * _LOG2_LOW
    r = high - low
    rest = (high - r) - low
    series = ((((((C13 * r + C12) * r + C11) * r + C10) * r + C9) * r + C8) * r + C7) * r + C6
    series = ((((series * r + C5) * r + C4) * r + C3) * r + C2) * (r * r)
    try:
        return math.ldexp((series + (rest + r * rest)) + r + 1.0, twos)
    except OverflowError:
        return math.inf
