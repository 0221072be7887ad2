"""Folds of rows, and halves within them, chosen by hashes of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.core.exact_sums import to_grid
from costframe.training.data import row_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.training.data import Rows, TrainingData

__all__ = ["deal_folds"]

_FEW_EQUAL = 8  # largest weight of equal rows that count as copies of one row


def deal_folds(
    rows: Rows, data: TrainingData, count: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Deal rows of each class into folds and halves within them; rows of a query, or a few equal rows, stay together.

    Many equal rows, such as rows without known values, are spread over all folds. If there are too few queries for
    halves of each fold, it deals rows one by one.

    Returns
    -------
    uint64 (n,), int64 (n,), int64 (n,)
        A hash of each row, its fold below `count`, and its half. They do not depend on the order of rows, but
        for the order of equal rows.
    """
    numbers = by_query = row_numbers(rows, data)
    if rows.qid is not None and len(np.unique(rows.qid)) < 2 * count:
        rows = evolve(rows, qid=None)
        numbers = row_numbers(rows, data)
    place = _places(rows, numbers, data.n_classes)
    return by_query, place % count, place // count % 2


def _places(rows: Rows, numbers: NDArray[np.uint64], n_classes: int) -> NDArray[np.int64]:
    """Return the place of each row among the rows of its class, in the order of hashes: int64 (n,).

    A few equal rows, or rows of a query, have one place; each of many equal rows has one.
    """
    classes = rows.y.astype(np.int64) if n_classes else np.zeros(len(rows), np.int64)
    keys = to_grid(rows.weight), numbers, classes
    order = np.lexsort(keys)
    weight, number, kind = (key[order] for key in keys)
    new = np.ones(len(rows), np.bool_)
    new[1:] = (number[1:] != number[:-1]) | (kind[1:] != kind[:-1])
    equal = np.cumsum(new) - 1
    if rows.qid is None:
        new |= np.bincount(equal, weight)[equal] > _FEW_EQUAL
    counts = np.bincount(kind[new], minlength=n_classes)
    place = np.empty(len(rows), np.int64)
    place[order] = np.cumsum(new) - 1 - (np.cumsum(counts) - counts)[kind]
    return place
