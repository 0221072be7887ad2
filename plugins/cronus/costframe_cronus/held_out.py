"""Rows to choose by, where no validation data were given: a fifth of the training rows, told by what is in them."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.core.training import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.training import TrainingData

__all__ = ["split_off"]

_SHARE = 0.2
_FEWEST = 20  # rows held out of each class, or queries; with fewer, the training rows have to do


def split_off(data: TrainingData) -> tuple[TrainingData, Rows]:
    """Return data to train on, and rows to choose by; equal rows, or rows of a query, are never on both sides.

    Where too few could be held out, the training rows are the validation rows.
    """
    if data.valid is not None:
        return data, data.valid
    rows = data.train
    out = _drawn(rows, data)
    kinds = rows.y if data.n_classes else np.zeros(len(rows), np.int64)
    if rows.qid is not None:
        enough = all(len(np.unique(rows.qid[side])) >= _FEWEST for side in (out, ~out))
    else:
        enough = all((side & (kinds == kind)).sum() >= _FEWEST for kind in np.unique(kinds) for side in (out, ~out))
    if not enough:
        return data, rows
    return evolve(data, train=_part(rows, ~out)), _part(rows, out)


def _part(rows: Rows, chosen: NDArray[np.bool_]) -> Rows:
    return Rows(rows.X[chosen], rows.y[chosen], rows.weight[chosen], None if rows.qid is None else rows.qid[chosen])


def _drawn(rows: Rows, data: TrainingData) -> NDArray[np.bool_]:
    """Draw rows, or queries, by a hash of their values: whatever their order, their weights, or that of the columns."""
    names = data.feature_names
    order = sorted(range(len(names)), key=names.__getitem__)
    table = np.column_stack([np.where(np.isnan(rows.X), np.nan, rows.X) + 0.0, rows.y.astype(np.float64)])
    table = np.ascontiguousarray(table[:, [*order, len(names)]])
    numbers = np.array([int.from_bytes(blake2b(row.tobytes(), digest_size=8).digest()) for row in table], np.uint64)
    if rows.qid is not None:
        query = np.unique(rows.qid, return_inverse=True)[1]
        sums = np.zeros(int(query.max()) + 1, np.uint64)
        np.add.at(sums, query, numbers)  # modulo 2^64, in any order
        numbers = sums[query]
    return np.asarray(numbers < _SHARE * 2.0**64)
