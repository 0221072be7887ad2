"""Rows of folds to grow on and to leave out, and calls of the engine for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.calls import check_call
from costframe.core.learners.tree_table import TreeTable
from costframe.engine import Record
from costframe.training.data import Rows
from costframe.trees.bin_mapper import BinMapper, BinnedData
from costframe.trees.prices import NoPrices
from costframe.trees.room import new_room, task_for
from costframe.trees.settings import TreeSettings

FoldRows = tuple[NDArray[np.int32], NDArray[np.int32]]  # rows to grow on, and rows left out
RowsToGrow = tuple[int, Record, Record, Record]
Trees = tuple[I8, F8, I8]  # nodes, values and sizes
_CELLS_PER_CALL = 2**26  # of the engine: a part of a second


def call_in_parts(call: Callable[..., Any], written: Sequence[NDArray[Any]], cells: int, *, whole: bool = False) -> int:
    """Let the engine write arrays, whose items are rounds with this many cells, in calls that an interrupt may end.

    Return the number of rounds; a call that is not `whole` returns those of its arrays, and ends early with fewer.
    """
    count, step = len(written[0]), max(1, _CELLS_PER_CALL // max(1, cells))
    for first in range(0, count, step):
        check_call()
        some = slice(first, min(first + step, count))
        made = call(*(array[some] for array in written))
        if not whole and first + made < some.stop:
            return int(first + made)
    return count


def sides_of_folds(fold: I8, judged: Sequence[int] | None = None) -> list[FoldRows]:
    """Return the rows outside and inside each fold."""
    numbers = np.unique(fold).tolist() if judged is None else judged
    return [
        (np.flatnonzero(fold != number).astype(np.int32), np.flatnonzero(fold == number).astype(np.int32))
        for number in numbers
    ]


def all_rows(rows: Rows) -> FoldRows:
    """Return all rows to grow on, and none left out."""
    return np.arange(len(rows), dtype=np.int32), np.empty(0, np.int32)


def rows_to_grow(
    data: BinnedData,
    rows: Rows,
    with_hessians: bool,
    limits: tuple[float, float, float],
    settings: TreeSettings,
    inside: NDArray[np.int32],
) -> RowsToGrow:
    """Return the most nodes of a tree, and structs to grow it without prices; by thresholds, categories too."""
    most = max(1, min(settings.max_leaves or len(inside), len(inside)))
    words = np.empty((len(rows), 2 if with_hessians or rows.uneven_weight is not None else 1), np.int64)
    count_bits, columns = rows.total_repeats.bit_length(), np.flatnonzero(data.splittable)
    task = task_for(data, words, count_bits, limits, columns, max_leaves=most, categorical=np.zeros(0, np.bool_))
    room = new_room(data, words.shape[1], 0, most)
    return 2 * most - 1, engine.Task(*task), engine.Room(*room), NoPrices().record()


def as_tree_table(mapper: BinMapper, nodes: I8, values: F8, sizes: I8, columns: I8 | None = None) -> TreeTable:
    """Make a table of trees, (T, M, 5), (T, M) or (T, M, K) and (T,); `columns` renumber features."""
    used = np.arange(nodes.shape[1]) < sizes[:, np.newaxis]
    feature, cell, missing, left, right = nodes[used].T
    leaf, width = feature < 0, values.shape[2] if values.ndim > 2 else 1
    at = np.where(leaf, 0, mapper.cuts.first[np.maximum(feature, 0)] + cell)
    threshold = np.where(leaf, 0.0, mapper.cuts.cut[at])
    if columns is not None:
        feature = np.where(leaf, -1, columns[np.maximum(feature, 0)])
    return TreeTable(
        np.concatenate([[0], np.cumsum(sizes)]),
        feature,
        threshold,
        ~leaf & (missing == 1),
        np.where(leaf, -1, left),
        np.where(leaf, -1, right),
        np.full(len(sizes), width),
        np.where(leaf, (np.cumsum(leaf) - 1) * width, -1),
        values[used][leaf].ravel(),
    )
