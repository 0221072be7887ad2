"""Growing a tree, whatever the order and the prices; histograms that are worth threads are left to the caller.

What is paid, found and moved for one split follows in the order of `grow`.
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
    split_kernels,
)
from costframe.trees.growing.category_kernels import find_category_splits
from costframe.trees.growing.histogram_kernels import add_to_histogram
from costframe.trees.growing.packing_kernels import sum_words
from costframe.trees.growing.partition_kernels import partition_rows
from costframe.trees.growing.price_kernels import begin_prices, open_account, pay, split_account, write_prices
from costframe.trees.growing.split_kernels import best_feature, child_value, find_splits, subtract

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.growing.prices import PriceState
    from costframe.trees.growing.room import Room, Task

__all__ = ["DONE", "MORE_HISTOGRAMS", "MORE_LEAVES", "SEARCH", "copy_tree", "grow", "search_columns"]

DONE, MORE_LEAVES, MORE_HISTOGRAMS, SEARCH = range(4)
_LEAVES, _CURSOR, _SMALL, _LARGE, _WAITING, _FREE = range(6)  # of `Room.state`
_NODE, _DEPTH, _BEGIN, _COUNT, _FEATURE, _HISTOGRAM = range(6)  # of `Room.place`
_STRIP = 64  # histograms of so many columns stay in the second-level cache
_CELLS_PER_BIN = 8  # scanning a bin takes about as long as adding so many cells

_using = kernel_using(
    category_kernels,
    histogram_kernels,
    marks_kernels,
    packing_kernels,
    partition_kernels,
    price_kernels,
    split_kernels,
)


@_using
def _open_slot(room: Room, slot: int, node: int, depth: int, begin: int, count: int) -> None:
    """Put a leaf into a slot; nothing of it is known yet."""
    place = room.place[slot]
    place[_NODE], place[_DEPTH], place[_BEGIN], place[_COUNT], place[_FEATURE] = node, depth, begin, count, -1
    room.value[slot], room.searched[slot], room.slot_of[node] = -np.inf, False, slot
    room.gain[slot] = -np.inf
    room.feature[node], room.bin[node], room.missing_left[node] = -1, 0, False
    room.left[node], room.right[node], room.gained[node] = -1, -1, 0.0


@_using
def _take_histogram(room: Room, slot: int) -> None:
    room.state[_FREE] -= 1
    room.place[slot, _HISTOGRAM] = room.free[room.state[_FREE]]


@_using
def _release_histogram(room: Room, slot: int) -> None:
    if room.place[slot, _HISTOGRAM] >= 0:
        room.free[room.state[_FREE]] = room.place[slot, _HISTOGRAM]
        room.state[_FREE] += 1
        room.place[slot, _HISTOGRAM] = -1


@_using
def _may_split(task: Task, room: Room, slot: int) -> bool:
    """Whether a leaf is large and high enough."""
    rows = room.sums[slot, 0] & ((1 << task.count_bits) - 1)
    return bool(rows >= 2 * np.int64(task.limits[1])) and bool(room.place[slot, _DEPTH] < task.max_depth)


@_using
def _plant(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState) -> bool:
    """Begin with the root; True if it is to be searched."""
    begin_prices(p)
    room.state[:] = 0
    room.state[_LEAVES], room.state[_FREE], room.state[_LARGE] = 1, room.free.shape[0], -1
    for number in range(room.free.shape[0]):
        room.free[number] = number
    _open_slot(room, 0, 0, 0, 0, rows.shape[0])
    room.place[0, _HISTOGRAM] = -1
    room.tested[0] = False
    room.bounds[0, 0], room.bounds[0, 1] = -np.inf, np.inf
    room.sums[0, 0], room.sums[0, 1] = sum_words(task.words, rows)
    room.searched[0] = _may_split(task, room, 0) and task.columns.shape[0] > 0 and task.max_leaves > 1
    if room.searched[0]:
        open_account(p, room, rows, 0)
        _take_histogram(room, 0)
    return bool(room.searched[0])


@_using
def _fill(task: Task, rows: NDArray[np.int32], first: int, last: int, histogram: NDArray[np.int64]) -> None:
    """Add up rows by bin, for some columns, in the bins that are in use."""
    missing = histogram.shape[1] - 1
    for k in range(last - first):
        histogram[k, : task.n_bins[first + k]] = 0
        histogram[k, missing] = 0
    for begin in range(first, last, _STRIP):
        end = min(begin + _STRIP, last)
        add_to_histogram(task.bins, task.words, rows, task.columns[begin:end], histogram[begin - first : end - first])


@_using
def _search_leaf(task: Task, room: Room, slot: int, first: int, last: int) -> None:
    """Find a leaf's best split on each of some columns."""
    histogram = room.histogram[room.place[slot, _HISTOGRAM], first:last]
    columns, n_bins, total, bounds = (
        task.columns[first:last],
        task.n_bins[first:last],
        room.sums[slot],
        room.bounds[slot],
    )
    find_splits(
        histogram, n_bins, columns, total, task.count_bits, task.units, task.limits, task.signs, bounds,
        room.gain[slot], room.best_bin[slot], room.best_missing_left[slot], room.best_left[slot],
    )  # fmt: skip
    if task.categorical.shape[0] > 0:  # replaces what was found as if their bins were in order
        find_category_splits(
            histogram, np.flatnonzero(task.categorical[columns]), n_bins, columns, total, task.count_bits, task.units,
            task.limits, bounds, room.gain[slot], room.best_missing_left[slot], room.best_left[slot],
            room.best_set[slot],
        )  # fmt: skip


@_using
def search_columns(
    task: Task, room: Room, rows: NDArray[np.int32], first: int, last: int, histogram: NDArray[np.int64]
) -> None:
    """Search the leaves that wait for it on some of the columns.

    Parameters
    ----------
    task, room : Task, Room
    rows : int32 (m,)
        Those that the tree is grown on, as `grow` has permuted them.
    first, last : int
        Columns, by place.
    histogram : int64 (k, B, 1 or 2) or (0, B, 1 or 2)
        That of the smaller leaf; (0, B, 1 or 2) if it is not added up yet.
    """
    small, large = room.state[_SMALL], room.state[_LARGE]
    mine = room.histogram[room.place[small, _HISTOGRAM], first:last]
    if histogram.shape[0] > 0:
        mine[:] = histogram[first:last]
    else:
        begin = room.place[small, _BEGIN]
        _fill(task, rows[begin : begin + room.place[small, _COUNT]], first, last, mine)
    if large >= 0:
        subtract(room.histogram[room.place[large, _HISTOGRAM], first:last], mine, task.n_bins[first:last])
        if room.searched[large]:
            _search_leaf(task, room, large, first, last)
    if room.searched[small]:
        _search_leaf(task, room, small, first, last)


@_using
def _worth_threads(task: Task, room: Room) -> bool:
    small, large = room.state[_SMALL], room.state[_LARGE]
    scanned = int(room.searched[small]) + (int(room.searched[large]) if large >= 0 else 0)
    cells = room.place[small, _COUNT] + 256 * _CELLS_PER_BIN * scanned
    return bool(cells * task.columns.shape[0] > task.cells_worth_threads)


@_using
def _compare(task: Task, room: Room, p: PriceState, slot: int) -> None:
    """Find a leaf's best feature at current prices."""
    write_prices(p, room, slot)
    feature, value = best_feature(room.gain[slot], room.price, task.price_unit)
    room.place[slot, _FEATURE], room.value[slot] = feature, value


@_using
def _after_search(task: Task, room: Room, p: PriceState) -> None:
    """Compare the leaves that were searched, and release histograms that none below them will be subtracted from."""
    room.state[_WAITING] = 0
    for child in (room.state[_SMALL], room.state[_LARGE]):
        if child < 0:
            continue
        if not room.searched[child] or room.place[child, _DEPTH] + 1 >= task.max_depth:
            _release_histogram(room, child)
        if room.searched[child] and not task.breadth:
            _compare(task, room, p, child)


@_using
def _next(task: Task, room: Room, p: PriceState) -> int:
    """Return the slot of the leaf to split next, or -1: the best, the oldest of several; or the first that pays."""
    n_leaves = room.state[_LEAVES]
    if task.breadth:
        while room.state[_CURSOR] < 2 * n_leaves - 1:
            node = room.state[_CURSOR]
            slot = room.slot_of[node]
            if room.feature[node] < 0 and room.searched[slot]:
                _compare(task, room, p, slot)
                if room.value[slot] > 0:
                    return int(slot)
            room.state[_CURSOR] += 1
        return -1
    best = 0
    for slot in range(1, n_leaves):
        older = room.place[slot, _NODE] < room.place[best, _NODE]
        if room.value[slot] > room.value[best] or (room.value[slot] == room.value[best] and older):
            best = slot
    return best if room.value[best] > 0 else -1


@_using
def _goes_left(task: Task, room: Room, slot: int, f: int) -> None:
    """Write which bins go left in a leaf's best split on a feature."""
    if task.categorical.shape[0] > 0 and task.categorical[f]:
        for cell in range(256):
            word = room.best_set[slot, f, cell >> 6]
            room.goes_left[cell] = (word >> np.uint64(cell & 63)) & np.uint64(1) != np.uint64(0)
        return
    for cell in range(255):
        room.goes_left[cell] = cell <= room.best_bin[slot, f]
    room.goes_left[255] = room.best_missing_left[slot, f]


@_using
def _bound(task: Task, room: Room, slot: int, f: int, left: int, right: int) -> None:
    """Hand down bounds; between children of a constrained feature lies the middle of their values, as a wall."""
    low, high = room.bounds[slot]
    sign = task.signs[f] if task.signs.shape[0] > 0 else np.int8(0)
    among_values = False
    for k in range(task.columns.shape[0] if sign != 0 else 0):
        if task.columns[k] == f:
            among_values = room.best_bin[slot, f] < task.n_bins[k] - 1  # a test for missing values has no order
    middle = 0.0
    if sign != 0 and among_values:
        bounds = room.bounds[slot]
        below = child_value(room.sums[left], task.count_bits, task.units, task.limits[0], bounds, task.words.shape[1])
        above = child_value(room.sums[right], task.count_bits, task.units, task.limits[0], bounds, task.words.shape[1])
        middle = below / 2 + above / 2
    for child in (left, right):
        room.bounds[child, 0], room.bounds[child, 1] = low, high
    if sign != 0 and among_values:
        lower, upper = (left, right) if sign > 0 else (right, left)
        room.bounds[lower, 1] = room.bounds[upper, 0] = middle


@_using
def _replace(task: Task, room: Room, slot: int, f: int, n_left: int) -> None:
    """Make an inner node and two leaves of a leaf: the larger one in its slot, the smaller one in the next."""
    node, depth, begin, count = (
        room.place[slot, _NODE], room.place[slot, _DEPTH], room.place[slot, _BEGIN], room.place[slot, _COUNT],
    )  # fmt: skip
    n_leaves, gained = room.state[_LEAVES], room.value[slot]
    child = 2 * n_leaves - 1  # as many nodes as there are
    left, right = (n_leaves, slot) if n_left <= count - n_left else (slot, n_leaves)
    room.bin[node], room.missing_left[node] = room.best_bin[slot, f], room.best_missing_left[slot, f]
    if task.categorical.shape[0] > 0:
        room.node_set[node] = room.best_set[slot, f]
    room.tested[slot, f] = True
    room.tested[n_leaves] = room.tested[slot]
    for word in range(2):
        whole, goes = room.sums[slot, word], room.best_left[slot, f, word]
        room.sums[left, word], room.sums[right, word] = goes, whole - goes
    _bound(task, room, slot, f, left, right)
    _open_slot(room, left, child, depth + 1, begin, n_left)
    _open_slot(room, right, child + 1, depth + 1, begin + n_left, count - n_left)
    room.feature[node], room.left[node], room.right[node], room.gained[node] = f, child, child + 1, gained
    room.place[n_leaves, _HISTOGRAM] = -1
    room.state[_LEAVES] += 1


@_using
def _split(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState, slot: int) -> bool:
    """Split a leaf on its best feature; True if its children are to be searched."""
    begin, count, f = room.place[slot, _BEGIN], room.place[slot, _COUNT], room.place[slot, _FEATURE]
    mine, scratch = rows[begin : begin + count], room.rows[begin : begin + count]
    changed = pay(p, room, mine, slot, f)
    _goes_left(task, room, slot, f)
    n_left = partition_rows(task.by_column[f], room.goes_left, mine, scratch)
    mine[n_left:] = scratch[: count - n_left]
    small, large = room.state[_LEAVES], slot
    _replace(task, room, slot, f, n_left)
    if changed and not task.breadth:
        for other in range(small):
            if room.searched[other] and other != large:
                _compare(task, room, p, other)
    if room.state[_LEAVES] < task.max_leaves:  # nobody asks what a split of the last two would be worth
        room.searched[small], room.searched[large] = _may_split(task, room, small), _may_split(task, room, large)
    if not (room.searched[small] or room.searched[large]):
        _release_histogram(room, large)
        return False
    fewer, more = (mine[:n_left], mine[n_left:]) if n_left <= count - n_left else (mine[n_left:], mine[:n_left])
    split_account(p, room, small, large, fewer, more)
    _take_histogram(room, small)
    room.state[_SMALL], room.state[_LARGE] = small, large
    return True


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
    if room.state[_LEAVES] == 0:
        waiting = _plant(task, room, rows, p)
    elif room.state[_WAITING] == 1:
        _after_search(task, room, p)
        waiting = False
    else:
        waiting = False
    none = room.histogram[0, :0]
    while True:
        if waiting:
            if _worth_threads(task, room):
                room.state[_WAITING] = 1
                return SEARCH
            search_columns(task, room, rows, 0, task.columns.shape[0], none)
            _after_search(task, room, p)
        if room.state[_LEAVES] >= task.max_leaves:
            return DONE
        slot = _next(task, room, p)
        if slot < 0:
            return DONE
        if room.state[_LEAVES] == room.value.shape[0]:
            return MORE_LEAVES
        if room.state[_FREE] == 0:
            return MORE_HISTOGRAMS
        waiting = _split(task, room, rows, p, slot)


@kernel
def copy_tree(room: Room, nodes: NDArray[np.int64], gains: NDArray[np.float64], spans: NDArray[np.int64]) -> int:
    """Write the tree that was grown on thresholds without prices, and return its number of nodes.

    Parameters
    ----------
    room : Room
    nodes : int64 (2 L - 1, 5)
        Written: feature (-1 at leaves), bin, missing left, left and right child.
    gains : float64 (2 L - 1,)
        Written: what each split gains, in units of the packed gradients.
    spans : int64 (2 L - 1, 2)
        Written: where each leaf's rows begin and end.
    """
    count = 2 * room.state[_LEAVES] - 1
    for node in range(count):
        nodes[node, 0], nodes[node, 1], nodes[node, 2] = room.feature[node], room.bin[node], room.missing_left[node]
        nodes[node, 3], nodes[node, 4], gains[node] = room.left[node], room.right[node], room.gained[node]
    for slot in range(room.state[_LEAVES]):
        place = room.place[slot]
        spans[place[_NODE], 0], spans[place[_NODE], 1] = place[_BEGIN], place[_BEGIN] + place[_COUNT]
    return int(count)
