"""Sums of packed gradients per bin, and what the kernels need to know about the columns they work on."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.binning.bin_mapper import BinnedData

__all__ = ["ColumnBlock", "column_blocks"]

_COLUMNS_PER_BLOCK = 64  # histograms of so many columns stay in the second-level cache


@frozen(eq=False)
class ColumnBlock:
    """Some of the columns that a tree may split on; threads take blocks, so no sum depends on their number.

    Parameters
    ----------
    columns : int64 (k,)
        Column numbers, ascending.
    n_bins : int64 (k,)
        Bins of each column's values.
    place : slice
        Where these columns' entries lie in a histogram.
    """

    columns: NDArray[np.int64]
    n_bins: NDArray[np.int64]
    place: slice


def column_blocks(data: BinnedData, features: NDArray[np.bool_] | None, n_threads: int) -> list[ColumnBlock]:
    """Cut the columns that can be split, among those allowed, into a multiple of `n_threads` blocks of similar size.

    Those of all columns are kept with the data.
    """
    if features is not None:
        return _blocks(data, data.splittable & features, n_threads)
    if n_threads not in data.blocks:
        data.blocks[n_threads] = _blocks(data, data.splittable, n_threads)
    return data.blocks[n_threads]


def _blocks(data: BinnedData, allowed: NDArray[np.bool_], n_threads: int) -> list[ColumnBlock]:
    columns = np.flatnonzero(allowed)
    rounds = -(-len(columns) // (_COLUMNS_PER_BLOCK * n_threads))
    edges = np.linspace(0, len(columns), min(rounds * n_threads, -(-len(columns) // 8)) + 1)
    edges[1:-1] = 8 * np.round(edges[1:-1] / 8)  # eight neighbors are quicker together
    return [
        ColumnBlock(columns[first:last], data.mapper.n_bins[columns[first:last]], slice(first, last))
        for first, last in pairwise(edges.astype(np.int64).tolist())
    ]
