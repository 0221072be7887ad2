"""Copies of rows that lack features at random: trees grown on them learn where to send absent values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import B1, I8
from costframe.core.tables.row_draws import uniform
from costframe.core.tables.row_hashes import mix
from costframe.trees.bin_mapper import MISSING_BIN, BinnedData

_MOST_ABSENT = 0.9  # largest mean share of absent features of a copy


def lack_at_random(data: BinnedData, numbers: NDArray[np.uint64], needs: B1, count: int) -> tuple[BinnedData, B1]:
    """Return rows, and then their copies, that lack features at random, and what they lack: bool (n * (1 + count), d).

    Rows themselves, the first n, lack none. Half of the copies lack single features, the others all that share a
    resource. Constant features lack in none.

    Parameters
    ----------
    data : BinnedData
        The n rows.
    numbers : uint64 (n,)
        Hashes of the rows; equal ones lack the same.
    needs : bool (d, R)
        Which resources each feature needs.
    count : int
        Copies of each row.
    """
    absent = _draw(numbers, needs, count)
    bins = np.tile(data.bins, (1 + count, 1))
    bins[absent & (data.mapper.n_bins > 1)] = MISSING_BIN
    return BinnedData(bins, np.ascontiguousarray(bins.T), data.mapper), absent


def _draw(numbers: NDArray[np.uint64], needs: B1, count: int) -> B1:
    """Draw what rows and copies lack: bool (n * (1 + count), d)."""
    d = len(needs)
    alone, together = np.arange(d), _groups(needs)
    parts = [np.zeros((len(numbers), d), np.bool_)]
    for copy in range(count):
        seed = mix(numbers + np.uint64((copy + 1) * 0x9E3779B97F4A7C15 % 2**64))
        share = _MOST_ABSENT * uniform(seed)
        group = together if copy % 2 else alone
        columns = np.uint64(0xD1342543DE82EF95) * (group + 1).astype(np.uint64)
        parts.append(uniform(mix(seed[:, np.newaxis] ^ columns)) < share[:, np.newaxis])
    return np.concatenate(parts)


def _groups(needs: B1) -> I8:
    """Return a number for each feature, the same for those whose first resource is the same: int64 (d,)."""
    d, n_resources = needs.shape
    if not n_resources:
        return np.arange(d)
    return np.where(needs.any(axis=1), d + needs.argmax(axis=1), np.arange(d))
