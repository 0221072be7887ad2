"""Samples of rows: the same rows in the same order, however the rows are ordered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.core.tables.row_hashes import hash_table, number_copies
from costframe.training.data import row_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.training.data import Rows, TrainingData

__all__ = ["least_rows", "sample_by_hash", "sampling_keys"]


def least_rows(keys: Sequence[NDArray[Any]], most: int) -> NDArray[np.int64]:
    """Return the `most` rows with the least keys, (n,) each, in their order; the first key counts most: int64 (m,)."""
    near = np.arange(len(keys[0]))
    if len(near) > most:
        near = np.flatnonzero(keys[0] <= np.partition(keys[0], most - 1)[most - 1])
    return near[np.lexsort([key[near] for key in reversed(keys)])][:most]


def sampling_keys(
    rows: Rows, data: TrainingData, numbers: NDArray[np.uint64], *more: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    """Return keys for `least_rows`: `numbers` of rows or queries, weights, and all that equal keys share.

    Rows of a query stay together. Copies of a row do not, else one row that is there often could fill a sample.
    """
    if rows.qid is not None:
        return numbers, row_numbers(evolve(rows, qid=None), data), rows.weight, *more
    equal = hash_table(np.column_stack([rows.weight, *more]), numbers)
    copies = number_copies(equal)
    return np.where(copies == 0, numbers, hash_table(copies[:, np.newaxis], equal)), rows.weight, *more


def sample_by_hash(rows: Rows, data: TrainingData, most: int) -> Rows:
    """Return at most `most` rows, chosen by their hashes, in the order of these."""
    return rows.take(least_rows(sampling_keys(rows, data, row_numbers(rows, data)), most))
