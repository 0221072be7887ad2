"""Held-out rows in place of validation data: a fifth of the training rows, chosen by a hash of their values."""

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
_FEWEST = 20  # held-out rows of each class, or queries; with fewer, training rows replace them


def split_off(data: TrainingData) -> tuple[TrainingData, Rows]:
    """Split training data into data to train on and held-out rows; equal rows, or rows of a query, stay together.

    If there are too few rows to hold out, the training rows are the held-out rows too.
    """
    if data.valid is not None:
        return data, data.valid
    out = held_out(data)
    if out is None:
        return data, data.train
    return evolve(data, train=data.train.take(~out)), data.train.take(out)


def held_out(data: TrainingData) -> NDArray[np.bool_] | None:
    """Return which training rows to hold out, bool (n,); None if there are too few."""
    rows = data.train
    numbers = row_numbers(rows, data)
    out = np.asarray(numbers < _SHARE * 2.0**64)
    return out if _enough(rows, data, numbers, out) else None


def halves(rows: Rows, data: TrainingData) -> NDArray[np.bool_] | None:
    """Split rows into two halves, bool (n,), that keep equal rows, and queries if many, together; None for few rows."""
    one_by_one = () if rows.qid is None else (evolve(rows, qid=None),)
    for apart in (rows, *one_by_one):  # by queries, or by rows if there are few queries
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
    """Return a hash of each row's values, or of its query's, that does not depend on order or weights: uint64 (n,)."""
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
