"""Folds of rows, and halves within them, chosen by hashes of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

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
        A hash of each row, its fold below `count`, and its half.
    """
    numbers = row_numbers(rows, data)
    fold, half = _deal(rows, numbers, count, data.n_classes)
    if rows.qid is not None and len(np.unique(rows.qid)) < 2 * count:
        one_by_one = evolve(rows, qid=None)
        fold, half = _deal(one_by_one, row_numbers(one_by_one, data), count, data.n_classes)
    return numbers, fold, half


def _deal(
    rows: Rows, numbers: NDArray[np.uint64], count: int, n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    fold, half = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    kinds = rows.y if n_classes else np.zeros(len(rows))
    for kind in np.unique(kinds):
        of_kind = np.flatnonzero(kinds == kind)
        _, group = np.unique(numbers[of_kind], return_inverse=True)
        if rows.qid is None:
            group = np.where(
                np.bincount(group, rows.weight[of_kind])[group] > _FEW_EQUAL, -1 - np.arange(len(group)), group
            )
        place = np.unique(group, return_inverse=True)[1]
        fold[of_kind], half[of_kind] = place % count, place // count % 2
    return fold, half
