"""Compiled walks through `Needs`: the resources of one feature, and of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from costframe.core.jit import B1, I8, U1, kernel

_FEW = 8  # numbers that are sorted by insertion


@kernel
def change_needed(feature: int, needs: Any, state: U1, before: int, after: int, found: I8, count: int) -> int:
    """Change the state of all resources that a feature needs from `before` to `after`; return the new count.

    The resources are appended to the first `count` of `found`. It does not look behind a resource in another state:
    whatever that one needs must have another state than `before`, too.
    """
    at = count
    for i in range(needs.first[feature], needs.first[feature + 1]):
        r = needs.need[i]
        if state[r] == before:
            state[r] = after
            found[count] = r
            count += 1
    while at < count:
        for i in range(needs.further_first[found[at]], needs.further_first[found[at] + 1]):
            r = needs.further[i]
            if state[r] == before:
                state[r] = after
                found[count] = r
                count += 1
        at += 1
    return count


@kernel
def ascend(found: I8, count: int, state: U1, marked: int) -> None:
    """Sort the first `count` numbers, which are all those with the state `marked`: sums keep their order."""
    if count <= _FEW:
        for i in range(1, count):
            r, at = found[i], i
            while at > 0 and found[at - 1] > r:
                found[at] = found[at - 1]
                at -= 1
            found[at] = r
        return
    low, high, at = found[0], found[0], 0
    for i in range(count):
        low, high = min(low, found[i]), max(high, found[i])
    for r in range(low, high + 1):
        if state[r] == marked:
            found[at] = r
            at += 1


@kernel
def bit_number(bit: int) -> int:
    """Return the number of the only bit that is set in a word."""
    number, word = 0, np.uint64(bit)
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(step) != 0:
            word >>= np.uint64(step)
            number += step
    return number


@kernel
def mark_rows(acquired: B1, needs: Any, needed: U1) -> None:
    """Set needed[i, r] to one if row i needs resource r for a feature that it acquires; it is zero before."""
    found = np.empty(needed.shape[1], np.int64)
    for i in range(acquired.shape[0]):
        count = 0
        for f in range(acquired.shape[1]):
            if acquired[i, f]:
                count = change_needed(f, needs, needed[i], 0, 1, found, count)
