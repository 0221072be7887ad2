"""Held-out rows, halves, folds and samples of training rows: hashes choose them, the same in any order of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1, I8
from costframe.core.sums import to_grid
from costframe.core.tables.row_hashes import digest_rows, hash_table, number_copies
from costframe.training.data import Rows, TrainingData

_SHARE = 0.2  # of the rows to hold out
_FEWEST = 20  # held-out rows of each class, or queries; with fewer, training rows replace them
_FEW_EQUAL = 8  # largest weight of equal rows that count as copies of one row


def row_keys(rows: Rows, n_threads: int = 1) -> NDArray[np.uint64]:
    """Return a number for each row of all workers, uint64 (n,), from its values, label, weight, query and copies.

    Copies of a row have different numbers. Which of them has which is open, and makes no difference.
    """
    labels = np.column_stack([np.asarray(rows.y, np.float64), rows.weight])
    keys = hash_table(rows.X, hash_table(labels, n_threads=n_threads), n_threads=n_threads)
    if rows.qid is not None:
        query = np.unique(rows.qid, return_inverse=True)[1]
        keys = hash_table(np.empty((len(keys), 0)), keys ^ _sum_by_query(keys, query)[query])
    copies = number_copies(keys, rows.workers)
    return hash_table(copies[:, np.newaxis], keys, n_threads=n_threads)


@frozen
class Sampling:
    """Held-out rows, halves, folds and samples of rows, by hashes of their values.

    Attributes
    ----------
    data : TrainingData
        Whose columns and kind of labels the rows have.
    """

    data: TrainingData

    def numbers(self, rows: Rows) -> NDArray[np.uint64]:
        """Return a hash of each row's values, or of its query or record, whatever order and weights: uint64 (n,)."""
        names = self.data.feature_names
        return _numbers(rows, np.array(sorted(range(len(names)), key=names.__getitem__), np.int64))

    def split_off(self) -> tuple[TrainingData, Rows]:
        """Split training data into data to train on and held-out rows; equal rows, or rows of a query, stay together.

        If there are too few rows to hold out, the training rows are the held-out rows too.
        """
        if self.data.valid is not None:
            return self.data, self.data.valid
        out = self.held_out()
        if out is None:
            return self.data, self.data.train
        return evolve(self.data, train=self.data.train.take(~out)), self.data.train.take(out)

    def held_out(self) -> B1 | None:
        """Return which training rows to hold out, bool (n,); None if there are too few."""
        rows = self.data.train
        numbers = self.numbers(rows)
        out = np.asarray(numbers < _SHARE * 2.0**64) if rows.groups is None else rows.groups == 0
        return out if _enough(rows, self.data, numbers, out) else None

    def halves(self, rows: Rows) -> B1 | None:
        """Split rows into two halves, bool (n,); equal rows, and queries if many, stay together; None for few rows."""
        one_by_one = () if rows.qid is None else (evolve(rows, qid=None),)
        for apart in (rows, *one_by_one):  # by queries, or by rows if there are few queries
            numbers = self.numbers(apart)
            half = np.asarray(numbers % np.uint64(2) == 1) if rows.groups is None else rows.groups % 2 == 1
            if _enough(apart, self.data, numbers, half):
                return half
        return None

    def folds(self, rows: Rows, count: int) -> tuple[NDArray[np.uint64], I8, I8]:
        """Deal rows of each class into folds and halves within them.

        Rows of a query, or a few equal rows, stay together. Many equal rows, such as rows without known values, are
        spread over all folds. If there are too few queries for halves of each fold, it deals rows one by one. Groups of
        completed rows, if there are any, are the folds.

        Returns
        -------
        uint64 (n,), int64 (n,), int64 (n,)
            A hash of each row, its fold below `count`, and its half. They do not depend on the order of rows, but
            for the order of equal rows.
        """
        numbers = by_query = self.numbers(rows)
        if rows.qid is not None and len(np.unique(rows.qid)) < 2 * count:
            rows = evolve(rows, qid=None)
            numbers = self.numbers(rows)
        place = _places(rows, numbers, self.data.n_classes)
        return by_query, place % count if rows.groups is None else rows.groups, place // count % 2

    def keys(self, rows: Rows, numbers: NDArray[np.uint64], *more: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """Return keys for `least`: `numbers` of rows or queries, weights, and all that equal keys share.

        Rows of a query stay together, and completed copies of a record. Equal rows do not, else one row that is there
        often could fill a sample.
        """
        if rows.together is not None:
            return numbers, self.numbers(evolve(rows, qid=None, units=None)), rows.weight, *more
        equal = hash_table(np.column_stack([rows.weight, *more]), numbers)
        copies = number_copies(equal)
        return np.where(copies == 0, numbers, hash_table(copies[:, np.newaxis], equal)), rows.weight, *more

    @staticmethod
    def least(keys: Sequence[NDArray[Any]], most: int) -> I8:
        """Return the `most` rows with the least keys, (n,) each, in their order, the first key first: int64 (m,)."""
        near = np.arange(len(keys[0]))
        if len(near) > most:
            near = np.flatnonzero(keys[0] <= np.partition(keys[0], most - 1)[most - 1])
        return near[np.lexsort([key[near] for key in reversed(keys)])][:most]

    def sample(self, rows: Rows, most: int) -> Rows:
        """Return at most `most` rows, chosen by their hashes, in the order of these."""
        return rows.take(self.least(self.keys(rows, self.numbers(rows)), most))


def deal_groups(rows: Rows, kinds: I8, count: int) -> I8:
    """Deal rows of each kind, (n,), into `count` groups; a few equal rows, or rows of a query, stay together."""
    numbers = _numbers(rows, np.arange(rows.X.shape[1]))
    return _places(evolve(rows, y=kinds), numbers, int(kinds.max(initial=0)) + 1) % count


def _numbers(rows: Rows, columns: I8) -> NDArray[np.uint64]:
    """Return what `Sampling.numbers` does, from columns in an order."""
    numbers = digest_rows(rows.X, columns, rows.y)
    if rows.together is None:
        return numbers
    query = np.unique(rows.together, return_inverse=True)[1]
    _, first = np.unique(np.stack([query.astype(np.uint64), numbers], axis=1), axis=0, return_index=True)
    return _sum_by_query(numbers[first], query[first])[query]


def _sum_by_query(numbers: NDArray[np.uint64], query: I8) -> NDArray[np.uint64]:
    """Return the sum of numbers, (n,), of each query, modulo 2^64 and so in any order: uint64 (queries,)."""
    sums = np.zeros(int(query.max(initial=-1)) + 1, np.uint64)
    np.add.at(sums, query, numbers)
    return sums


def _enough(rows: Rows, data: TrainingData, numbers: NDArray[np.uint64], out: B1) -> bool:
    kinds = rows.y if data.n_classes else np.zeros(len(rows), np.int64)
    sides = ((kinds == kind) & (out == side) for kind in np.unique(kinds) for side in (False, True))
    return all(len(np.unique(numbers[side])) >= _FEWEST for side in sides)


def _places(rows: Rows, numbers: NDArray[np.uint64], n_classes: int) -> I8:
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
    if rows.together is None:
        new |= np.bincount(equal, weight)[equal] > _FEW_EQUAL
    counts = np.bincount(kind[new], minlength=n_classes)
    place = np.empty(len(rows), np.int64)
    place[order] = np.cumsum(new) - 1 - (np.cumsum(counts) - counts)[kind]
    return place
