"""Folds of rows, and halves within them, chosen by hashes of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.core.exact_sums import to_grid
from costframe.training.data import row_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.workers import Workers
    from costframe.training.data import Rows, TrainingData

__all__ = ["deal_folds"]

_FEW_EQUAL = 8  # largest weight of equal rows that count as copies of one row
_ROWS_PER_RANGE = 2**21  # rows of all workers that each of them numbers at a time, in some 64 MB


def deal_folds(
    rows: Rows, data: TrainingData, count: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Deal rows of each class into folds and halves within them; rows of a query, or a few equal rows, stay together.

    Many equal rows, such as rows without known values, are spread over all folds. If there are too few queries for
    halves of each fold, it deals rows one by one.

    Returns
    -------
    uint64 (n,), int64 (n,), int64 (n,)
        A hash of each row, its fold below `count`, and its half. They depend neither on the order of rows nor on how
        they are dealt to workers, but for the order of equal rows.
    """
    numbers = by_query = row_numbers(rows, data)
    if rows.qid is not None and rows.workers.count_all(len(np.unique(rows.qid))) < 2 * count:
        rows = evolve(rows, qid=None)
        numbers = row_numbers(rows, data)
    place = _places(rows, numbers, data.n_classes)
    return by_query, place % count, place // count % 2


def _places(rows: Rows, numbers: NDArray[np.uint64], n_classes: int) -> NDArray[np.int64]:
    """Return the place of each row among all workers' rows of its class, in the order of hashes: int64 (n,).

    A few equal rows, or rows of a query, have one place; each of many equal rows has one. It numbers range after range
    of hashes, for the hashes of all rows may not fit into memory.
    """
    classes = rows.y.astype(np.int64) if n_classes else np.zeros(len(rows), np.int64)
    keys = classes, numbers, to_grid(rows.weight, rows.workers)
    n_ranges = np.uint64(rows.total_rows // _ROWS_PER_RANGE + 1)
    range_of = ((numbers >> np.uint64(32)) * n_ranges) >> np.uint64(32)
    place, begin = np.empty(len(rows), np.int64), np.zeros(max(n_classes, 1), np.int64)
    for number in range(int(n_ranges)):
        here = np.flatnonzero(range_of == number)
        in_range, counts = _places_in_range([key[here] for key in keys], len(begin), rows.workers, rows.qid is None)
        place[here] = begin[classes[here]] + in_range
        begin += counts
    return place


def _places_in_range(
    keys: list[NDArray[Any]], n_classes: int, workers: Workers, spread: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the rows of a range in their classes, and the number of places in each class.

    Keys are classes, hashes and weights, (n,) each; `spread` gives each of many equal rows a place.
    """
    order = np.lexsort(keys[::-1])
    new = _changes([key[order] for key in keys])
    first = np.flatnonzero(new)
    parts = workers.gather([*(key[order[first]] for key in keys), np.diff(first, append=len(order))])
    of_all = [np.concatenate(part) for part in zip(*parts, strict=True)]
    merged = np.lexsort(of_all[2::-1])  # copies of equal weight by rank
    kind, number, weight, size = (each[merged] for each in of_all)
    new_row = _changes([kind, number])
    of_row = np.cumsum(new_row) - 1
    apart = (np.bincount(of_row, weight * size)[of_row] > _FEW_EQUAL) & spread
    added = np.where(apart, size, new_row)
    counts = np.bincount(kind, added, n_classes).astype(np.int64)
    begin = np.cumsum(added) - np.where(apart, size, 1) - (np.cumsum(counts) - counts)[kind]
    mine = np.empty((2, len(merged)), np.int64)
    mine[:, merged] = begin, apart
    before = sum(len(part[0]) for part in parts[: workers.rank])
    own = (mine[:, before:][:, : len(first)])[:, np.cumsum(new) - 1]
    place = np.empty(len(order), np.int64)
    place[order] = own[0] + own[1] * (np.arange(len(order)) - first[np.cumsum(new) - 1])
    return place, counts


def _changes(keys: list[NDArray[Any]]) -> NDArray[np.bool_]:
    """Return which rows, sorted by these keys, differ from the row before: bool (n,)."""
    new = np.ones(len(keys[0]), np.bool_)
    new[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return new
