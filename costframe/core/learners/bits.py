"""Sets of numbers as bits: in rows of 64-bit words, or in one integer of any length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import B1

_FEW, _LONG = 64, 4096  # members, and bits, of a set that is handled member by member


def word_count(n_things: int) -> int:
    """Return the number of 64-bit words for `n_things` bits, at least one."""
    return max(1, -(-n_things // 64))


def as_words(numbers: Iterable[int], n_words: int) -> NDArray[np.uint64]:
    """Write integers >= 0, such as sets, as 64-bit words, the lowest first: uint64 (numbers, W)."""
    written = b"".join(number.to_bytes(8 * n_words, "little") for number in numbers)
    words: NDArray[np.uint64] = np.frombuffer(written, "<u8").astype(np.uint64).reshape(-1, n_words)
    return words


def bits_of(masks: NDArray[np.uint64], n_things: int) -> B1:
    """Unpack masks (rows, W) into bool (rows, n_things)."""
    bytes_ = np.ascontiguousarray(masks.astype("<u8", copy=False)).view(np.uint8)
    unpacked = np.unpackbits(bytes_.reshape(len(masks), 8 * masks.shape[1]), axis=1, count=n_things, bitorder="little")
    return unpacked.view(np.bool_)


def as_set(numbers: Iterable[int]) -> int:
    """Return a set of distinct numbers as one integer."""
    listed = list(numbers)
    if len(listed) <= _FEW:
        return sum(1 << number for number in listed)
    flags = np.zeros(max(listed) + 1, np.bool_)  # a sum of integers of this length would take quadratic time
    flags[listed] = True
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def members(numbers: int) -> Iterator[int]:
    """Yield the members of a set, given as one integer, in ascending order."""
    if numbers.bit_length() > _LONG:
        bytes_ = np.frombuffer(numbers.to_bytes(-(-numbers.bit_length() // 8), "little"), np.uint8)
        yield from np.flatnonzero(np.unpackbits(bytes_, bitorder="little")).tolist()
        return
    while numbers:
        lowest = numbers & -numbers
        yield lowest.bit_length() - 1
        numbers ^= lowest
