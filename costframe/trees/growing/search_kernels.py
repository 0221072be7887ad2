"""Histograms of two siblings, one of them by subtraction, and the best split of each on every feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel_using
from costframe.trees.growing import category_kernels, histogram_kernels, score_kernels, split_kernels
from costframe.trees.growing.category_kernels import find_category_splits
from costframe.trees.growing.histogram_kernels import add_to_histogram
from costframe.trees.growing.room import BEGIN, COUNT, HISTOGRAM, LARGE, OPEN, SMALL, SUMS
from costframe.trees.growing.split_kernels import find_splits, subtract

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.growing.room import Room, Task

__all__ = ["search_columns", "worth_threads"]

_STRIP = 64  # histograms of so many columns stay in the second-level cache
_CELLS_PER_BIN = 8  # scanning a bin takes about as long as adding so many cells
_using = kernel_using(category_kernels, histogram_kernels, score_kernels, split_kernels)


@_using
def _fill(
    bins: NDArray[np.uint8],
    words: NDArray[np.int64],
    rows: NDArray[np.int32],
    columns: NDArray[np.int64],
    n_bins: NDArray[np.int64],
    histogram: NDArray[np.int64],
) -> None:
    """Add up rows by bin, in the bins that are in use."""
    n_words = histogram.shape[2]
    width, sums = histogram.shape[1] * n_words, histogram.ravel()
    for k in range(columns.shape[0]):
        begin, end = k * width, (k + 1) * width
        for at in range(begin, begin + n_bins[k] * n_words):
            sums[at] = 0
        for at in range(end - n_words, end):  # the missing one
            sums[at] = 0
    for begin in range(0, columns.shape[0], _STRIP):
        end = min(begin + _STRIP, columns.shape[0])
        add_to_histogram(bins, words, rows, columns[begin:end], histogram[begin:end])


@_using
def search_columns(
    task: Task, room: Room, rows: NDArray[np.int32], first: int, last: int, histogram: NDArray[np.int64]
) -> None:
    """Search the leaves that wait for it on some of the columns.

    Parameters
    ----------
    task, room : Task, Room
    rows : int32 (m,)
        Those that the tree is grown on, as `grow` has permuted them.
    first, last : int
        Columns, by place.
    histogram : int64 (k, B, 1 or 2) or (0, B, 1 or 2)
        That of the smaller leaf; (0, B, 1 or 2) if it is not added up yet.
    """
    small, large = room.state[SMALL], room.state[LARGE]
    columns, n_bins, place = task.columns[first:last], task.n_bins[first:last], room.place[small]
    mine = room.histogram[place[HISTOGRAM], first:last]
    if histogram.shape[0] > 0:
        mine[:] = histogram[first:last]
    else:
        _fill(task.bins, task.words, rows[place[BEGIN] : place[BEGIN] + place[COUNT]], columns, n_bins, mine)
    if large >= 0:
        subtract(room.histogram[room.place[large, HISTOGRAM], first:last], mine, n_bins)
    for slot in (small, large):
        if slot < 0 or room.place[slot, OPEN] == 0:
            continue
        sums, total = room.histogram[room.place[slot, HISTOGRAM], first:last], room.place[slot, SUMS:]
        find_splits(
            sums, n_bins, columns, total, task.count_bits, task.units, task.limits, task.signs,
            room.numbers[slot], room.gain[slot], room.best_bin[slot], room.best_missing_left[slot],
            room.best_left[slot],
        )  # fmt: skip
        if task.categorical.shape[0] > 0:  # replaces what was found as if their bins were in order
            find_category_splits(
                sums, np.flatnonzero(task.categorical[columns]), n_bins, columns, total, task.count_bits, task.units,
                task.limits, room.numbers[slot], room.gain[slot], room.best_missing_left[slot], room.best_left[slot],
                room.best_set[slot],
            )  # fmt: skip


@_using
def worth_threads(task: Task, place: NDArray[np.int64], small: int, large: int) -> bool:
    """Whether the caller had better share the search between threads."""
    scanned = place[small, OPEN] + (place[large, OPEN] if large >= 0 else 0)
    cells = place[small, COUNT] + 256 * _CELLS_PER_BIN * scanned
    return bool(cells * task.columns.shape[0] > task.cells_worth_threads)
