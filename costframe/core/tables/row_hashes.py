"""Hashes of rows: equal for equal rows, whatever their order, and wherever they lie."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.machine import run_parallel
from costframe.core.workers import ALONE, Workers

_ROWS_PER_PART = 65_536
_BYTES = 1 << 26  # of a range of hashes that workers exchange


def hash_table(table: Any, start: NDArray[np.uint64] | None = None, *, n_threads: int = 1) -> NDArray[np.uint64]:
    """Return a hash of each row of numbers (n, d), mixed into `start` if given: uint64 (n,); equal for equal rows."""
    hashes = np.zeros(len(table), np.uint64) if start is None else start.copy()

    def hash_part(first: int) -> None:
        rows = np.ascontiguousarray(table[first : first + _ROWS_PER_PART], np.float64)
        engine.hash_rows(rows, hashes[first : first + _ROWS_PER_PART])

    run_parallel(hash_part, range(0, len(table), _ROWS_PER_PART), n_threads)
    return hashes


def mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers with the bits of each spread over all of them, of the same shape."""
    mixed = np.array(numbers, order="C")
    engine.mix_words(mixed.reshape(-1))
    return mixed


def hash_rows(columns: Iterable[Any], n_rows: int) -> NDArray[np.uint64]:
    """Return a hash of each row's values in columns, (n_rows,) each: uint64 (n_rows,)."""
    hashes = np.zeros(n_rows, np.uint64)
    for column in columns:
        hashes = hash_table(column[:, np.newaxis], hashes)
    return hashes


def digest_rows(X: F8, columns: I8, y: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a digest of each row's values in some columns, in this order, and of its label: uint64 (n,).

    Digests are slower than hashes, and stay the same from version to version, as do the splits that follow from them.
    """
    digests, labels = np.empty(len(X), np.uint64), np.asarray(y, np.float64)
    for first in range(0, len(X), _ROWS_PER_PART):
        part = slice(first, first + _ROWS_PER_PART)
        rows = np.ascontiguousarray(X[part])
        engine.digest_rows(rows, np.ascontiguousarray(columns), np.ascontiguousarray(labels[part]), digests[part])
    return digests


def number_copies(hashes: NDArray[np.uint64], workers: Workers = ALONE) -> I8:
    """Count the equal hashes before each, on workers of lower rank and then on this one: int64 (n,)."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    counts, known = np.diff(first, append=len(ordered)), ordered[first]
    before = np.zeros(len(first), np.int64)
    total = workers.count_all(len(known))
    n_ranges = -(-16 * total // _BYTES) if workers.count > 1 else 0  # the memory of a range is limited
    edges = [2**64 * number // n_ranges for number in range(n_ranges)]
    cuts = np.append(np.searchsorted(known, np.array(edges, np.uint64)), len(known)).tolist()
    for begin, end in pairwise(cuts):
        parts = workers.gather((known[begin:end], counts[begin:end]))
        for others, times in parts[: workers.rank]:
            at = np.searchsorted(others, known[begin:end]).clip(max=max(len(others) - 1, 0))
            if len(others):
                before[begin:end] += np.where(others[at] == known[begin:end], times[at], 0)
    copies = np.empty(len(hashes), np.int64)
    copies[order] = np.arange(len(ordered)) + np.repeat(before - first, counts)
    return copies
