"""A hash of each row's values, which depends neither on the order of rows nor on where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["hash_rows"]

_ZERO_OF_BOTH_SIGNS = np.uint64(0)
_MISSING = np.uint64(0x7FF8000000000000)
_START = np.uint64(0x9E3779B97F4A7C15)


@kernel
def _mix(word: np.uint64) -> np.uint64:
    """Spread the bits of a word over all of them (the finalizer of SplitMix64)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel
def hash_rows(X: NDArray[np.float64], bits: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> None:
    """Write a hash of each row, uint64 (n,); zeros of both signs are equal, and so are all NaN.

    Parameters
    ----------
    X : float64 (n, d)
    bits : uint64 (n, d)
        The same memory.
    hashes : uint64 (n,)
        Mixed with what is there, for example the hash of a label.
    """
    for row in range(X.shape[0]):
        mixed = _START + hashes[row]
        for column in range(X.shape[1]):
            x, word = X[row, column], bits[row, column]
            if x == 0.0:
                word = _ZERO_OF_BOTH_SIGNS
            elif x != x:  # noqa: PLR0124 - only NaN differs
                word = _MISSING
            mixed = _mix(mixed ^ word) + _START
        hashes[row] = _mix(mixed)
