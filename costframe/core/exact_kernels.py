"""Exact sums of doubles, as whole numbers of many digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DIGITS", "add_exactly"]

DIGITS = 68  # of 32 bits each: doubles are whole numbers of 2^-1074, and take 66
_LOW = np.int64(0xFFFFFFFF)


@kernel
def add_exactly(values: NDArray[np.float64], bits: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
    """Add doubles, digit by digit without carrying, which is exact for 2^30 of them.

    Parameters
    ----------
    values : float64 (n,)
    bits : int64 (n,)
        The same memory.
    sums : int64 (DIGITS + 3,)
        Sums by digit, the lowest first, then the numbers of +inf, -inf and NaN; added to.
    """
    for at in range(values.shape[0]):
        word = bits[at]
        exponent, digits = (word >> 52) & 0x7FF, word & ((1 << 52) - 1)
        if exponent == 0x7FF:
            sums[DIGITS + (2 if digits != 0 else 1 if word < 0 else 0)] += 1
            continue
        if exponent > 0:
            digits |= 1 << 52
            exponent -= 1
        place, shift = exponent >> 5, exponent & 31
        low, high, sign = (digits & _LOW) << shift, (digits >> 32) << shift, -1 if word < 0 else 1  # below 2^63
        sums[place] += sign * (low & _LOW)
        sums[place + 1] += sign * ((low >> 32) + (high & _LOW))
        sums[place + 2] += sign * (high >> 32)
