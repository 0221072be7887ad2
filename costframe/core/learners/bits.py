"""Sets of numbers as bits: in rows of 64-bit words, or in one integer of any length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray


def word_count(n_things: int) -> int:
    """Return the number of 64-bit words for `n_things` bits, at least one."""
    return max(1, -(-n_things // 64))


def bit_sets(
    sets: NDArray[np.signedinteger], things: NDArray[np.signedinteger], n_sets: int, n_words: int
) -> NDArray[np.uint64]:
    """Make sets as bits, uint64 (n_sets, n_words): set `sets[i]` has the member `things[i]`."""
    masks = np.zeros((n_sets, n_words), np.uint64)
    np.bitwise_or.at(masks, (sets, things >> 6), np.uint64(1) << (things & 63).astype(np.uint64))
    return masks


def bits_of(masks: NDArray[np.uint64], n_things: int) -> NDArray[np.bool_]:
    """Unpack masks (rows, W) into bool (rows, n_things)."""
    bytes_ = np.ascontiguousarray(masks.astype("<u8", copy=False)).view(np.uint8)
    unpacked = np.unpackbits(bytes_.reshape(len(masks), 8 * masks.shape[1]), axis=1, count=n_things, bitorder="little")
    return unpacked.view(np.bool_)


def as_set(numbers: Iterable[int]) -> int:
    """Return a set of distinct numbers as one integer."""
    return sum(1 << number for number in numbers)


def members(numbers: int) -> Iterator[int]:
    """Yield the members of a set, given as one integer, in ascending order."""
    while numbers:
        lowest = numbers & -numbers
        yield lowest.bit_length() - 1
        numbers ^= lowest
