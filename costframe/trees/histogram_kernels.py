"""Adding up packed gradients per bin.

Offsets are unsigned: numba then leaves out the test for negative subscripts, which costs as much as the addition. Rows
come in pairs, so that a column number is loaded once for two additions. Rows that lie scattered in a large table are
touched some time before they are added, so that their ways from memory overlap.
"""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["add_rows", "subtract"]

_STRIP = 32
_CACHED = 2**23  # bytes of bins that stay in a cache anyway


@kernel
def _is_scattered(bins: NDArray[np.uint8], rows: NDArray[np.int32]) -> bool:
    """Whether rows are far apart and the table is large."""
    return bins.size > _CACHED and rows.shape[0] > 0 and 4 * rows.shape[0] < 3 * (rows[-1] - rows[0])


@kernel
def _touch(
    bins: NDArray[np.uint8], words: NDArray[np.int64], rows: NDArray[np.int32], columns: NDArray[np.int64]
) -> int:
    """Load something of every row, and return a number that keeps the compiler from leaving it out."""
    total = 0
    for row in rows:
        total += np.int64(bins[row, columns[0]]) + np.int64(bins[row, columns[-1]]) + words[row, 0]
    return total


@kernel
def _add_words(
    cells: NDArray[np.uint8],
    width: int,
    words: NDArray[np.int64],
    rows: NDArray[np.int32],
    columns: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Add one word a row."""
    wide, n_columns, eight = np.uint64(width), np.uint64(columns.shape[0]), np.uint64(8)
    even = rows.shape[0] // 2 * 2
    for at in range(0, even, 2):
        row, next_row = np.uint64(rows[at]), np.uint64(rows[at + 1])
        word, next_word = words[row], words[next_row]
        begin, next_begin = row * wide, next_row * wide
        for k in range(n_columns):
            column = np.uint64(columns[k])
            base = np.uint64(k) << eight
            sums[base + np.uint64(cells[begin + column])] += word
            sums[base + np.uint64(cells[next_begin + column])] += next_word
    for at in range(even, rows.shape[0]):  # the last one of an odd number
        row = np.uint64(rows[at])
        for k in range(n_columns):
            sums[(np.uint64(k) << eight) + np.uint64(cells[row * wide + np.uint64(columns[k])])] += words[row]


@kernel
def _add_pairs(
    cells: NDArray[np.uint8],
    width: int,
    words: NDArray[np.int64],
    rows: NDArray[np.int32],
    columns: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Add two words a row."""
    wide, n_columns, one, nine = np.uint64(width), np.uint64(columns.shape[0]), np.uint64(1), np.uint64(9)
    even = rows.shape[0] // 2 * 2
    for at in range(0, even, 2):
        row, next_row = np.uint64(rows[at]), np.uint64(rows[at + 1])
        gradient, hessian = words[row << one], words[(row << one) + one]
        next_gradient, next_hessian = words[next_row << one], words[(next_row << one) + one]
        begin, next_begin = row * wide, next_row * wide
        for k in range(n_columns):
            column = np.uint64(columns[k])
            base = np.uint64(k) << nine
            place = base + (np.uint64(cells[begin + column]) << one)
            sums[place] += gradient
            sums[place + one] += hessian
            place = base + (np.uint64(cells[next_begin + column]) << one)
            sums[place] += next_gradient
            sums[place + one] += next_hessian
    for at in range(even, rows.shape[0]):  # the last one of an odd number
        row = np.uint64(rows[at])
        for k in range(n_columns):
            place = (np.uint64(k) << nine) + (np.uint64(cells[row * wide + np.uint64(columns[k])]) << one)
            sums[place] += words[row << one]
            sums[place + one] += words[(row << one) + one]


@kernel
def add_rows(
    bins: NDArray[np.uint8],
    words: NDArray[np.int64],
    rows: NDArray[np.int32],
    columns: NDArray[np.int64],
    histogram: NDArray[np.int64],
) -> int:
    """Fill the histogram of some rows, and return a number without meaning.

    Parameters
    ----------
    bins : uint8 (n, d)
        All rows.
    words : int64 (n, 1 or 2)
        Packed gradients of all rows, and hessians where they are not one.
    rows : int32 (m,)
        Rows to add up.
    columns : int64 (k,)
        Columns to do it for, at least one.
    histogram : int64 (k, 256, 1 or 2)
        Written.
    """
    histogram[:] = 0
    sums, cells, flat = histogram.ravel(), bins.ravel(), words.ravel()
    scattered, touched = _is_scattered(bins, rows), 0
    for begin in range(0, rows.shape[0], _STRIP):
        strip = rows[begin : begin + _STRIP]
        if scattered:
            touched += _touch(bins, words, strip, columns)
        if words.shape[1] == 1:
            _add_words(cells, bins.shape[1], flat, strip, columns, sums)
        else:
            _add_pairs(cells, bins.shape[1], flat, strip, columns, sums)
    return touched


@kernel
def subtract(histogram: NDArray[np.int64], child: NDArray[np.int64], n_bins: NDArray[np.int64]) -> None:
    """Turn a parent's histogram into that of its other child, in place.

    Parameters
    ----------
    histogram, child : int64 (k, 256, 1 or 2)
        Of the parent, written, and of one child.
    n_bins : int64 (k,)
        Bins that are in use besides the missing one.
    """
    for k in range(histogram.shape[0]):
        for word in range(histogram.shape[2]):
            for cell in range(n_bins[k]):
                histogram[k, cell, word] -= child[k, cell, word]
            histogram[k, 255, word] -= child[k, 255, word]
