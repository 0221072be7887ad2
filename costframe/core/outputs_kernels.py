"""Compiled: write out what learners give, from leaf numbers."""

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
    out: NDArray[np.float64],
) -> None:
    """Set out[i, j] to values[j, codes[i, source[j]]], or to dense[i, -1 - source[j]] + values[j, 0] for source < 0."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            column = source[j]
            if column >= 0:
                out[i, j] = values[j, codes[i, column]]
            else:
                out[i, j] = dense[i, -1 - column] + values[j, 0]
