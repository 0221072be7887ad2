"""Compiled writing of learners' outputs from leaf numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costframe.core.jit import kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["write_outputs"]


@kernel
def write_outputs(
    codes: NDArray[np.unsignedinteger],
    dense: NDArray[np.float64],
    source: NDArray[np.int32],
    values: NDArray[np.float64],
    rows: NDArray[np.int64],
    factor: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Set out[i, j] to factor[i] h, h = values[j, codes[r, source[j]]], or dense[r, -1 - source[j]] + values[j, 0].

    The row r is rows[i]; the second form of h is for source < 0.
    """
    for i in range(out.shape[0]):
        row = rows[i]
        times = factor[i]
        for j in range(out.shape[1]):
            column = source[j]
            if column >= 0:
                out[i, j] = times * values[j, codes[row, column]]
            else:
                out[i, j] = times * (dense[row, -1 - column] + values[j, 0])
