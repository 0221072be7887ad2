"""Symmetric matrices with one computed triangle."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["mirror"]

_BLOCK = 256


def mirror(matrix: NDArray[np.float64]) -> None:
    """Copy the upper triangle of a square matrix to the lower one, in place."""
    for begin in range(0, len(matrix), _BLOCK):
        end = min(begin + _BLOCK, len(matrix))
        for i in range(begin, end):
            matrix[i + 1 : end, i] = matrix[i, i + 1 : end]
        matrix[end:, begin:end] = matrix[begin:end, end:].T
