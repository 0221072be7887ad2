"""The bin of every value: a binary search without branches, by strips of rows, so that several advance at once."""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["bin_rows"]

_STRIP = 256


@kernel
def bin_rows(
    X: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    steps: NDArray[np.int64],
    bins: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    first: int,
) -> None:
    """Write into `bins` how many thresholds each value exceeds, and 255 for NaN.

    Parameters
    ----------
    X : float64 (n, d)
        Values, row after row.
    thresholds : float64 (d, 256)
        Ascending, padded with +inf.
    steps : int64 (d,)
        First step of each feature's search, a power of two or zero.
    bins : uint8 (n, d)
        Written, row after row.
    columns : uint8 (d, more rows)
        Written likewise, column after column, from place `first` on.
    """
    values, exceeded = np.empty(_STRIP, np.float64), np.empty(_STRIP, np.int64)
    for begin in range(0, X.shape[0], _STRIP):
        size = min(_STRIP, X.shape[0] - begin)
        for feature in range(X.shape[1]):
            limits, step = thresholds[feature], steps[feature]
            for at in range(size):
                values[at] = X[begin + at, feature]
                exceeded[at] = 0
            while step > 0:
                for at in range(size):
                    tried = exceeded[at] + step
                    exceeded[at] = tried if values[at] > limits[tried - 1] else exceeded[at]
                step >>= 1
            for at in range(size):
                cell = np.uint8(exceeded[at] if values[at] == values[at] else 255)  # NaN alone differs from itself
                bins[begin + at, feature] = cell
                columns[feature, first + begin + at] = cell
