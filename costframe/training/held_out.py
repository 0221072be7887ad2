"""Rows to choose by, where no validation data were given: a fifth of the training rows, told by what is in them."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.training.data import Rows, TrainingData

__all__ = ["halves", "held_out", "row_numbers", "split_off"]

_SHARE = 0.2
_FEWEST = 20  # rows held out of each class, or queries; with fewer, the training rows have to do


def split_off(data: TrainingData) -> tuple[TrainingData, Rows]:
    """Return data to train on, and rows to choose by; equal rows, or rows of a query, are never on both sides.

    Where too few could be held out, the training rows are the validation rows.
    """
    if data.valid is not None:
        return data, data.valid
    out = held_out(data)
    if out is None:
        return data, data.train
    return evolve(data, train=data.train.take(~out)), data.train.take(out)


def held_out(data: TrainingData) -> NDArray[np.bool_] | None:
    """Tell which training rows, bool (n,), to choose by; None where too few could be."""
    rows = data.train
    numbers = row_numbers(rows, data)
    out = np.asarray(numbers < _SHARE * 2.0**64)
    return out if _enough(rows, data, numbers, out) else None


def halves(rows: Rows, data: TrainingData) -> NDArray[np.bool_] | None:
    """Tell apart about half of the rows, bool (n,): equal ones together, and queries if they are many; None if few."""
    one_by_one = () if rows.qid is None else (evolve(rows, qid=None),)
    for apart in (rows, *one_by_one):  # queries, or their rows where there are few queries
        numbers = row_numbers(apart, data)
        half = np.asarray(numbers % np.uint64(2) == 1)
        if _enough(apart, data, numbers, half):
            return half
    return None


def _enough(rows: Rows, data: TrainingData, numbers: NDArray[np.uint64], out: NDArray[np.bool_]) -> bool:
    kinds = rows.y if data.n_classes else np.zeros(len(rows), np.int64)
    sides = [side & (kinds == kind) for side in (out, ~out) for kind in np.unique(kinds)]
    return all(len(np.unique(numbers[side])) >= _FEWEST for side in sides)


def row_numbers(rows: Rows, data: TrainingData) -> NDArray[np.uint64]:
    """Return a hash of each row's values, or its query's: whatever the order of rows and columns, and their weights."""
    names = data.feature_names
    order = sorted(range(len(names)), key=names.__getitem__)
    table = np.column_stack([np.where(np.isnan(rows.X), np.nan, rows.X) + 0.0, rows.y.astype(np.float64)])
    table = np.ascontiguousarray(table[:, [*order, len(names)]])
    numbers = np.array([int.from_bytes(blake2b(row.tobytes(), digest_size=8).digest()) for row in table], np.uint64)
    if rows.qid is not None:
        query = np.unique(rows.qid, return_inverse=True)[1]
        _, first = np.unique(np.stack([query.astype(np.uint64), numbers], axis=1), axis=0, return_index=True)
        sums = np.zeros(int(query.max()) + 1, np.uint64)
        np.add.at(sums, query[first], numbers[first])  # modulo 2^64, in any order
        numbers = sums[query]
    return numbers
