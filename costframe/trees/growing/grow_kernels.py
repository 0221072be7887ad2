"""Growing a tree, whatever the order and the prices; histograms that are worth threads are left to the caller.

Kernels that are called for every leaf take the arrays that they need: every array of a tuple is counted in and out of a
call, which takes as long as a small leaf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel, kernel_using
from costframe.trees.growing import (
    category_kernels,
    histogram_kernels,
    marks_kernels,
    packing_kernels,
    partition_kernels,
    price_kernels,
    score_kernels,
    search_kernels,
    split_kernels,
)
from costframe.trees.growing.packing_kernels import sum_words
from costframe.trees.growing.partition_kernels import partition_rows
from costframe.trees.growing.price_kernels import begin_prices, open_account, pay, split_account, write_prices
from costframe.trees.growing.prices import FREE
from costframe.trees.growing.room import (
    BEGIN,
    COUNT,
    CURSOR,
    DEPTH,
    FEATURE,
    HIGH,
    HISTOGRAM,
    LARGE,
    LEAVES,
    LOW,
    NODE,
    OPEN,
    SMALL,
    SPARE,
    SUMS,
    VALUE,
    WAITING,
)
from costframe.trees.growing.score_kernels import child_value
from costframe.trees.growing.search_kernels import search_columns, worth_threads
from costframe.trees.growing.split_kernels import best_feature

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.growing.prices import PriceState
    from costframe.trees.growing.room import Room, Task

__all__ = ["DONE", "MORE_HISTOGRAMS", "MORE_LEAVES", "SEARCH", "grow"]

DONE, MORE_LEAVES, MORE_HISTOGRAMS, SEARCH = range(4)
_using = kernel_using(
    category_kernels,
    histogram_kernels,
    marks_kernels,
    packing_kernels,
    partition_kernels,
    price_kernels,
    score_kernels,
    search_kernels,
    split_kernels,
)


@kernel
def _open_leaf(
    place: NDArray[np.int64],
    numbers: NDArray[np.float64],
    gain: NDArray[np.float64],
    node: NDArray[np.int64],
    slot: int,
    number: int,
    depth: int,
    begin: int,
    count: int,
) -> None:
    """Put a leaf into a slot, with the number of its node, its depth and its rows; no split of it is known yet."""
    place[NODE], place[DEPTH], place[BEGIN], place[COUNT] = number, depth, begin, count
    place[FEATURE], place[OPEN], numbers[VALUE] = -1, 0, -np.inf
    gain[:] = -np.inf
    node[:] = -1
    node[1], node[2], node[5] = 0, 0, slot


@kernel
def _release(state: NDArray[np.int64], free: NDArray[np.int64], place: NDArray[np.int64]) -> None:
    """Take back the histogram of a leaf, if it has one."""
    if place[HISTOGRAM] >= 0:
        free[state[SPARE]] = place[HISTOGRAM]
        state[SPARE] += 1
        place[HISTOGRAM] = -1


@kernel
def _may_split(place: NDArray[np.int64], count_bits: int, limits: NDArray[np.float64], max_depth: int) -> int:
    """Return 1 if a leaf is large and high enough, else 0."""
    rows = place[SUMS] & ((1 << count_bits) - 1)
    return int(rows >= 2 * np.int64(limits[1]) and place[DEPTH] < max_depth)


@_using
def _plant(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState) -> bool:
    """Begin with the root; True if it is to be searched."""
    state, place = room.state, room.place[0]
    state[:] = 0
    state[LEAVES], state[LARGE] = 1, -1
    for number in range(room.free.shape[0]):
        room.free[number] = number
    _open_leaf(place, room.numbers[0], room.gain[0], room.nodes[0], 0, 0, 0, 0, rows.shape[0])
    place[HISTOGRAM], room.gained[0], room.tested[0] = -1, 0.0, False
    room.numbers[0, LOW], room.numbers[0, HIGH] = -np.inf, np.inf
    place[SUMS], place[SUMS + 1] = sum_words(task.words, rows)
    if task.columns.shape[0] > 0 and task.max_leaves > 1:
        place[OPEN] = _may_split(place, task.count_bits, task.limits, task.max_depth)
    if p.kind != FREE:
        begin_prices(p)
        if place[OPEN] == 1:
            open_account(p, room, rows, 0)
    state[SPARE] = room.free.shape[0] - place[OPEN]
    if place[OPEN] == 1:
        place[HISTOGRAM] = room.free[state[SPARE]]
    return bool(place[OPEN] == 1)


@kernel
def _compare_gains(gain: NDArray[np.float64], place: NDArray[np.int64], numbers: NDArray[np.float64]) -> None:
    """Find a leaf's best feature where splits are free."""
    feature = np.argmax(gain)
    place[FEATURE], numbers[VALUE] = feature, gain[feature]


@_using
def _compare(task: Task, room: Room, p: PriceState, slot: int) -> None:
    """Find a leaf's best feature at current prices."""
    if p.kind == FREE:
        _compare_gains(room.gain[slot], room.place[slot], room.numbers[slot])
        return
    write_prices(p, room, slot)
    feature, value = best_feature(room.gain[slot], room.price, task.price_unit)
    room.place[slot, FEATURE], room.numbers[slot, VALUE] = feature, value


@kernel
def _release_searched(
    state: NDArray[np.int64], free: NDArray[np.int64], places: NDArray[np.int64], max_depth: int
) -> None:
    """Release histograms of leaves that were searched which none below them will be subtracted from."""
    state[WAITING] = 0
    for child in (state[SMALL], state[LARGE]):
        if child >= 0 and (places[child, OPEN] == 0 or places[child, DEPTH] + 1 >= max_depth):
            _release(state, free, places[child])


@_using
def _compare_searched(task: Task, room: Room, p: PriceState) -> None:
    """Compare the leaves that were searched, unless each is to be compared when its turn comes."""
    for child in (room.state[SMALL], room.state[LARGE]):
        if child >= 0 and room.place[child, OPEN] == 1 and not task.breadth:
            _compare(task, room, p, child)


@kernel
def _compare_free(
    state: NDArray[np.int64], places: NDArray[np.int64], numbers: NDArray[np.float64], gain: NDArray[np.float64]
) -> None:
    """Compare the leaves that were searched, where splits are free."""
    for child in (state[SMALL], state[LARGE]):
        if child >= 0 and places[child, OPEN] == 1:
            _compare_gains(gain[child], places[child], numbers[child])


@kernel
def _best_leaf(place: NDArray[np.int64], numbers: NDArray[np.float64], n_leaves: int) -> int:
    """Return the slot of the leaf that is worth most, the oldest of several; -1 if none is worth anything."""
    best = 0
    for slot in range(1, n_leaves):
        value, largest = numbers[slot, VALUE], numbers[best, VALUE]
        if value > largest or (value == largest and place[slot, NODE] < place[best, NODE]):
            best = slot
    return best if numbers[best, VALUE] > 0 else -1


@_using
def _first_leaf(task: Task, room: Room, p: PriceState) -> int:
    """Return the slot of the first leaf, by level and from left to right, that is worth a split now; -1 if none is."""
    state = room.state
    while state[CURSOR] < 2 * state[LEAVES] - 1:
        node = room.nodes[state[CURSOR]]
        slot = int(node[5])
        if node[0] < 0 and room.place[slot, OPEN] == 1:
            _compare(task, room, p, slot)
            if room.numbers[slot, VALUE] > 0:
                return slot
        state[CURSOR] += 1
    return -1


@kernel
def _goes_left(bin_: int, missing_left: bool, goes_left: NDArray[np.bool_]) -> None:
    """Write which bins go left of a threshold."""
    for cell in range(255):
        goes_left[cell] = cell <= bin_
    goes_left[255] = missing_left


@kernel
def _in_set(left_bins: NDArray[np.uint64], goes_left: NDArray[np.bool_]) -> None:
    """Write which bins go left, as a set of bits says."""
    for cell in range(256):
        goes_left[cell] = (left_bins[cell >> 6] >> np.uint64(cell & 63)) & np.uint64(1) != np.uint64(0)


@_using
def _bound(task: Task, room: Room, slot: int, f: int, left: int, right: int) -> None:
    """Keep outputs on both sides of a constrained feature apart: the middle of their values lies between, as a wall."""
    sign, n_words, k = task.signs[f], task.words.shape[1], np.searchsorted(task.columns, f)
    if sign == 0 or room.best_bin[slot, f] == task.n_bins[k] - 1:
        return  # a test for missing values has no order
    values = np.empty(2)
    for side, child in enumerate((left, right)):
        values[side] = child_value(
            room.place[child, SUMS:], task.count_bits, task.units, task.limits[0], room.numbers[child], n_words
        )
    middle = values[0] / 2 + values[1] / 2
    lower, upper = (left, right) if sign > 0 else (right, left)
    room.numbers[lower, HIGH] = middle
    room.numbers[upper, LOW] = middle


@_using
def _replace(task: Task, room: Room, slot: int, n_left: int) -> None:
    """Make an inner node and two leaves of a leaf: the larger one in its slot, the smaller one in the next."""
    place, numbers, fresh = room.place, room.numbers, room.state[LEAVES]
    f, node, child = place[slot, FEATURE], place[slot, NODE], 2 * fresh - 1  # as many nodes as there are
    depth, begin, count = place[slot, DEPTH] + 1, place[slot, BEGIN], place[slot, COUNT]
    left, right = (fresh, slot) if n_left <= count - n_left else (slot, fresh)
    room.gained[node], room.gained[child], room.gained[child + 1] = numbers[slot, VALUE], 0.0, 0.0
    inner = room.nodes[node]
    inner[0], inner[1], inner[2] = f, room.best_bin[slot, f], room.best_missing_left[slot, f]
    inner[3], inner[4] = child, child + 1
    if task.categorical.shape[0] > 0:
        room.node_set[node] = room.best_set[slot, f]
    if room.tested.shape[1] > 0:
        room.tested[slot, f] = True
        room.tested[fresh] = room.tested[slot]
    for word in range(2):
        whole, goes = place[slot, SUMS + word], room.best_left[slot, f, word]
        place[left, SUMS + word], place[right, SUMS + word] = goes, whole - goes
    for bound in (LOW, HIGH):
        numbers[fresh, bound] = numbers[slot, bound]
    if task.signs.shape[0] > 0:
        _bound(task, room, slot, f, left, right)
    _open_leaf(place[left], numbers[left], room.gain[left], room.nodes[child], left, child, depth, begin, n_left)
    _open_leaf(
        place[right], numbers[right], room.gain[right], room.nodes[child + 1], right,
        child + 1, depth, begin + n_left, count - n_left,
    )  # fmt: skip
    place[fresh, HISTOGRAM] = -1
    room.state[LEAVES] += 1


@_using
def _split(task: Task, room: Room, rows: NDArray[np.int32], slot: int) -> bool:
    """Split a leaf on its best feature; True if its children are to be searched."""
    state, place, large = room.state, room.place, slot
    begin, count, f, small = place[slot, BEGIN], place[slot, COUNT], place[slot, FEATURE], state[LEAVES]
    mine, scratch = rows[begin : begin + count], room.rows[begin : begin + count]
    if task.categorical.shape[0] > 0 and task.categorical[f]:
        _in_set(room.best_set[slot, f], room.goes_left)
    else:
        _goes_left(room.best_bin[slot, f], room.best_missing_left[slot, f], room.goes_left)
    n_left = partition_rows(task.by_column[f], room.goes_left, mine, scratch)
    mine[n_left:] = scratch[: count - n_left]
    _replace(task, room, slot, n_left)
    if state[LEAVES] < task.max_leaves:  # nobody asks what a split of the last two would be worth
        place[small, OPEN] = _may_split(place[small], task.count_bits, task.limits, task.max_depth)
        place[large, OPEN] = _may_split(place[large], task.count_bits, task.limits, task.max_depth)
    if place[small, OPEN] + place[large, OPEN] == 0:
        _release(state, room.free, place[large])
        return False
    state[SPARE] -= 1
    place[small, HISTOGRAM] = room.free[state[SPARE]]
    state[SMALL], state[LARGE] = small, large
    return True


@_using
def _split_at_prices(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState, slot: int) -> bool:
    """Pay for a split, make it, and reckon what other leaves and the children pay then."""
    place, small, large = room.place, room.state[LEAVES], slot
    begin, count = place[slot, BEGIN], place[slot, COUNT]
    mine = rows[begin : begin + count]
    changed = pay(p, room, mine, slot, place[slot, FEATURE])
    searched = _split(task, room, rows, slot)
    if changed and not task.breadth:
        for other in range(small):
            if place[other, OPEN] == 1 and other != large:
                _compare(task, room, p, other)
    if searched:
        fewer, more = place[small, COUNT], place[large, COUNT]
        first, second = (0, fewer) if place[small, BEGIN] == begin else (more, 0)
        split_account(p, room, small, large, mine[first : first + fewer], mine[second : second + more])
    return searched


@_using
def grow(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState) -> int:
    """Grow a tree until it is done, or the caller has something to do first.

    Parameters
    ----------
    task : Task
    room : Room
        Where the tree, and what lasts no longer than its growth, is written. A new tree begins where there are no
        leaves in its `state`.
    rows : int32 (m,)
        Rows to grow on, ascending; permuted, so that each leaf's lie together.
    p : PriceState
        What splits cost; changed by what is paid.

    Returns
    -------
    int
        DONE; MORE_LEAVES or MORE_HISTOGRAMS if there must be more room before the next call; or SEARCH if the caller
        is to call `search_columns` for all columns before it.
    """
    state, none, waiting = room.state, room.histogram[0, :0], False
    searched = state[LEAVES] > 0 and state[WAITING] == 1  # by the caller
    if state[LEAVES] == 0:
        waiting = _plant(task, room, rows, p)
    while True:
        if waiting and worth_threads(task, room.place, state[SMALL], state[LARGE]):
            state[WAITING] = 1
            return SEARCH
        if waiting:
            search_columns(task, room, rows, 0, task.columns.shape[0], none)
        if waiting or searched:
            searched = False
            _release_searched(state, room.free, room.place, task.max_depth)
            if p.kind == FREE:
                _compare_free(state, room.place, room.numbers, room.gain)
            else:
                _compare_searched(task, room, p)
        if state[LEAVES] >= task.max_leaves:
            return DONE
        slot = _first_leaf(task, room, p) if task.breadth else _best_leaf(room.place, room.numbers, state[LEAVES])
        if slot < 0 or state[LEAVES] == room.place.shape[0] or state[SPARE] == 0:
            return DONE if slot < 0 else MORE_HISTOGRAMS if state[SPARE] == 0 else MORE_LEAVES
        free = p.kind == FREE
        waiting = _split(task, room, rows, slot) if free else _split_at_prices(task, room, rows, p, slot)
