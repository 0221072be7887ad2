"""Samples of the rows of all workers: the same rows in the same order, however the rows are ordered and dealt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

from costframe.core.tables.row_hashes import hash_table, number_copies
from costframe.core.workers import ALONE, Workers
from costframe.training.data import Rows, row_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.training.data import TrainingData

__all__ = ["Sample", "draw_by_hash", "sample_by_hash", "sampling_keys"]


@frozen(eq=False)
class Sample:
    """A sample of the rows of all workers.

    Attributes
    ----------
    own : int64 (k,)
        This worker's rows in the sample.
    order : int64 (m,)
        Place of each row of the sample among the own rows of all workers, which follow each other by rank.
    workers : Workers
    """

    own: NDArray[np.int64]
    order: NDArray[np.int64]
    workers: Workers

    @classmethod
    def of(cls, keys: Sequence[NDArray[Any]], most: int, workers: Workers = ALONE) -> Sample:
        """Take the `most` rows with the least keys, (n,) each, in their order; the first key counts most.

        Rows with equal keys must be equal in all that is gathered.
        """
        near = np.arange(len(keys[0]))
        if len(near) > most:
            near = np.flatnonzero(keys[0] <= np.partition(keys[0], most - 1)[most - 1])
        near = near[np.lexsort([key[near] for key in reversed(keys)])][:most]
        parts = workers.gather([key[near] for key in keys])
        sizes = np.array([len(part[0]) for part in parts])
        of_all = [np.concatenate(part) for part in zip(*parts, strict=True)]
        chosen = np.lexsort(of_all[::-1])[:most]  # a stable order, so it takes the first rows of each worker
        rank = np.repeat(np.arange(workers.count), sizes)
        taken = np.bincount(rank[chosen], minlength=workers.count)
        moved = (np.cumsum(sizes) - sizes) - (np.cumsum(taken) - taken)
        return cls(near[: taken[workers.rank]], chosen - moved[rank[chosen]], workers)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.order)

    def gather(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of the sample's rows, (m, ...), from those of this worker's rows, (n, ...)."""
        return np.concatenate(self.workers.gather(values[self.own]))[self.order]

    def rows(self, rows: Rows) -> Rows:
        """Return the sample's rows, as those of one worker."""
        queries = None if rows.qid is None else self.gather(rows.qid + (self.workers.rank << 32))
        X, y, weight = map(self.gather, (rows.X, rows.y, rows.weight))
        return Rows(X, y, weight, queries, labels=rows.labels)


def sampling_keys(
    rows: Rows, data: TrainingData, numbers: NDArray[np.uint64], *more: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    """Return keys for `Sample.of`: `numbers` of rows or queries, weights, and whatever else rows with equal keys share.

    Rows of a query stay together. Copies of a row do not, else one row that is there often could fill a sample.
    """
    if rows.qid is not None:
        return numbers, row_numbers(evolve(rows, qid=None), data), rows.weight, *more
    equal = hash_table(np.column_stack([rows.weight, *more]), numbers)
    copies = number_copies(equal, rows.workers)
    return np.where(copies == 0, numbers, hash_table(copies[:, np.newaxis], equal)), rows.weight, *more


def sample_by_hash(rows: Rows, data: TrainingData, most: int) -> Rows:
    """Return at most `most` of all workers' rows, on every worker, chosen by their hashes, in the order of these."""
    return _sample(rows, data, most).rows(rows)


def draw_by_hash(rows: Rows, data: TrainingData, most: int) -> Rows:
    """Return this worker's rows among at most `most` of all, chosen by their hashes."""
    return rows.take(_sample(rows, data, most).own)


def _sample(rows: Rows, data: TrainingData, most: int) -> Sample:
    return Sample.of(sampling_keys(rows, data, row_numbers(rows, data)), most, rows.workers)
