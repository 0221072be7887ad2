"""Growth of a tree, in any order and at any prices.

A call counts references to every array of a tuple, so kernels called for every leaf do much work or take few arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.combine_kernels import sum_over_workers
from costframe.core.jit import kernel, kernel_apart
from costframe.trees.growing import room as at
from costframe.trees.growing.price_kernels import begin_prices, charge, open_account, pay
from costframe.trees.growing.prices import FREE
from costframe.trees.growing.row_kernels import list_bins, mark_left, sum_words
from costframe.trees.growing.score_kernels import child_value
from costframe.trees.growing.search_kernels import divide_leaf, search_leaves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.growing.prices import PriceState
    from costframe.trees.growing.room import Room, Task

__all__ = ["DONE", "MORE_LEAVES", "PAUSE", "grow"]

DONE, MORE_LEAVES, PAUSE = range(3)
_PAUSE_AFTER = 10**9  # cells: a second or so


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
    """Put a leaf into a slot, with the number of its node, its depth and its rows, but without splits."""
    place[at.NODE], place[at.DEPTH], place[at.BEGIN], place[at.COUNT] = number, depth, begin, count
    place[at.FEATURE], place[at.OPEN], numbers[at.VALUE] = -1, 0, -np.inf
    gain[:] = -np.inf
    node[:] = -1
    node[1], node[2], node[at.SLOT] = 0, 0, slot


@kernel
def _may_split(place: NDArray[np.int64], count_bits: int, limits: NDArray[np.float64], max_depth: int) -> int:
    """Return 1 if a leaf has enough rows and is above the largest depth, else 0."""
    rows = place[at.SUMS] & ((1 << count_bits) - 1)
    return int(rows >= 2 * np.int64(limits[1]) and place[at.DEPTH] < max_depth)


@kernel_apart
def _plant(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState) -> bool:
    """Begin with the root; return whether to search it."""
    state, place = room.state, room.place[0]
    state[:] = 0
    state[at.LEAVES], state[at.LARGE] = 1, -1
    _open_leaf(place, room.numbers[0], room.gain[0], room.nodes[0], 0, 0, 0, 0, rows.shape[0])
    room.gained[0], room.tested[0] = 0.0, False
    room.numbers[0, at.LOW], room.numbers[0, at.HIGH] = -np.inf, np.inf
    place[at.SUMS], place[at.SUMS + 1] = sum_words(task.words, rows)
    sum_over_workers(task.address, place[at.SUMS : at.SUMS + 2])
    if task.columns.shape[0] > 0 and task.max_leaves > 1:
        place[at.OPEN] = _may_split(place, task.count_bits, task.limits, task.max_depth)
    if p.kind != FREE:
        begin_prices(p)
        if place[at.OPEN] == 1:
            open_account(p, room, rows)
    return bool(place[at.OPEN] == 1)


@kernel
def _compare_gains(gain: NDArray[np.float64], place: NDArray[np.int64], numbers: NDArray[np.float64]) -> None:
    """Find a leaf's best feature if splits are free."""
    place[at.FEATURE] = np.argmax(gain)
    numbers[at.VALUE] = gain[place[at.FEATURE]]


@kernel_apart
def _compare(task: Task, room: Room, p: PriceState, slot: int) -> None:
    """Find a leaf's best feature at current prices, the lowest of several."""
    if p.kind == FREE:
        _compare_gains(room.gain[slot], room.place[slot], room.numbers[slot])
        return
    gain, price = room.gain[slot], room.price
    charge(room.money[slot], p.once, p.once_paid, p.tradeoff, price)
    best, value = 0, gain[0] - price[0] * task.price_unit
    for feature in range(1, gain.shape[0]):
        worth = gain[feature] - price[feature] * task.price_unit  # an infinite price buys nothing
        if worth > value:
            best, value = feature, worth
    room.place[slot, at.FEATURE], room.numbers[slot, at.VALUE] = best, value


@kernel
def _compare_waiting(task: Task, room: Room, p: PriceState) -> None:
    """Find the best features of the leaves just searched."""
    for slot in (room.state[at.SMALL], room.state[at.LARGE]):
        if slot >= 0 and room.place[slot, at.OPEN] == 1:
            _compare(task, room, p, slot)


@kernel
def _best_leaf(place: NDArray[np.int64], numbers: NDArray[np.float64], n_leaves: int) -> int:
    """Return the slot of the leaf with the best split, the oldest of several; -1 if no split has worth."""
    best = 0
    for slot in range(1, n_leaves):
        value, largest = numbers[slot, at.VALUE], numbers[best, at.VALUE]
        if value > largest or (value == largest and place[slot, at.NODE] < place[best, at.NODE]):
            best = slot
    return best if numbers[best, at.VALUE] > 0 else -1


@kernel
def _first_leaf(task: Task, room: Room, p: PriceState) -> int:
    """Return the slot of the first leaf with a split of worth, by level and from left to right; -1 if there is none."""
    state = room.state
    while state[at.CURSOR] < 2 * state[at.LEAVES] - 1:
        node = room.nodes[state[at.CURSOR]]
        slot = int(node[at.SLOT])
        if node[0] < 0 and room.place[slot, at.OPEN] == 1:
            _compare(task, room, p, slot)
            if room.numbers[slot, at.VALUE] > 0:
                return slot
        state[at.CURSOR] += 1
    return -1


@kernel
def _bound(task: Task, room: Room, f: int, left: int, right: int, bin_: int) -> None:
    """Bound outputs on both sides of a constrained feature by the middle between their values."""
    column = 0
    while task.columns[column] < f:
        column += 1
    if bin_ == task.n_bins[column] - 1:
        return  # a test for missing values has no order
    values = np.empty(2)
    for side, child in enumerate((left, right)):
        values[side] = child_value(
            room.place[child, at.SUMS:], task.count_bits, task.units, task.limits[0], room.numbers[child],
            task.words.shape[1],
        )  # fmt: skip
    middle = values[0] / 2 + values[1] / 2
    lower, upper = (left, right) if task.signs[f] > 0 else (right, left)
    room.numbers[lower, at.HIGH] = middle
    room.numbers[upper, at.LOW] = middle


@kernel_apart
def _split(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState, slot: int, owed: bool) -> int:
    """Split a leaf in two: the larger one takes its slot, the smaller one the next.

    Return 1 to search them, 0 if neither may split, and -1 if a helper failed.
    """
    state, place, numbers, nodes = room.state, room.place, room.numbers, room.nodes
    fresh, f, node, depth = state[at.LEAVES], place[slot, at.FEATURE], place[slot, at.NODE], place[slot, at.DEPTH] + 1
    begin, count, child = place[slot, at.BEGIN], place[slot, at.COUNT], 2 * fresh - 1  # the present number of nodes
    best, left_bins = room.best[slot, f], nodes[node, at.NODE_SET :]
    if task.categorical.shape[0] > 0 and task.categorical[f]:
        for word in range(left_bins.shape[0]):
            left_bins[word] = best[at.BEST_SET + word]
    else:
        list_bins(best[at.BIN], best[at.MISSING_LEFT] == 1, left_bins)
    mark_left(left_bins, room.goes_left)
    n_left = divide_leaf(task, room, rows, p, slot, owed)
    if n_left < 0:
        return -1
    lowest = (1 << task.count_bits) - 1  # bits that count the rows of all workers
    few_left = 2 * (best[at.LEFT] & lowest) <= place[slot, at.SUMS] & lowest
    left, right = (fresh, slot) if few_left else (slot, fresh)
    room.gained[node], room.gained[child], room.gained[child + 1] = numbers[slot, at.VALUE], 0.0, 0.0
    nodes[node, 0], nodes[node, 1], nodes[node, 2] = f, best[at.BIN], best[at.MISSING_LEFT]
    nodes[node, 3], nodes[node, 4] = child, child + 1
    if room.tested.shape[1] > 0:
        room.tested[slot, f] = True
        for feature in range(room.tested.shape[1]):
            room.tested[fresh, feature] = room.tested[slot, feature]
    for word in range(2):
        whole, goes = place[slot, at.SUMS + word], best[at.LEFT + word]
        place[left, at.SUMS + word], place[right, at.SUMS + word] = goes, whole - goes
    numbers[fresh, at.LOW], numbers[fresh, at.HIGH] = numbers[slot, at.LOW], numbers[slot, at.HIGH]
    if task.signs.shape[0] > 0 and task.signs[f] != 0:
        _bound(task, room, f, left, right, best[at.BIN])
    _open_leaf(place[left], numbers[left], room.gain[left], nodes[child], left, child, depth, begin, n_left)
    _open_leaf(
        place[right], numbers[right], room.gain[right], nodes[child + 1], right, child + 1, depth, begin + n_left,
        count - n_left,
    )  # fmt: skip
    state[at.LEAVES], state[at.SMALL], state[at.LARGE] = fresh + 1, fresh, slot
    if fresh + 1 < task.max_leaves:  # the last two leaves need no search
        place[fresh, at.OPEN] = _may_split(place[fresh], task.count_bits, task.limits, task.max_depth)
        place[slot, at.OPEN] = _may_split(place[slot], task.count_bits, task.limits, task.max_depth)
    return int(place[fresh, at.OPEN] + place[slot, at.OPEN] > 0)


@kernel
def _split_at_prices(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState, slot: int) -> int:
    """Pay for a split, make it, and update the payments of other leaves; return as `_split` does."""
    place = room.place
    changed, owed = pay(p, room, slot, place[slot, at.FEATURE])
    searched = _split(task, room, rows, p, slot, owed)
    if changed and not task.breadth:
        for other in range(room.state[at.SMALL]):
            if place[other, at.OPEN] == 1 and other != slot:
                _compare(task, room, p, other)
    return searched


@kernel_apart
def grow(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState) -> int:
    """Grow a tree to its end, or until the caller must act.

    Parameters
    ----------
    task : Task
    room : Room
        Memory of the tree and its growth. A `state` without leaves begins a new tree.
    rows : int32 (m,)
        Rows of the tree, ascending; permuted so that each leaf's rows lie together.
    p : PriceState
        Prices of splits; changed by payments.

    Returns
    -------
    int
        DONE, also if a helper failed; MORE_LEAVES if the next call needs more room; or PAUSE if several threads have
        worked for long, so that Python may look for signals.
    """
    state, place, waiting, cells = room.state, room.place, 0, 0
    n_columns, accounts = task.columns.shape[0], False
    if state[at.LEAVES] == 0:
        waiting = int(_plant(task, room, rows, p))
    while waiting >= 0:
        if waiting == 1:
            cells += place[state[at.SMALL], at.COUNT] * n_columns
            if not search_leaves(task, room, rows, p, accounts):
                return DONE
            if not task.breadth:  # breadth-first, leaves are compared at their turns
                _compare_waiting(task, room, p)
        if state[at.LEAVES] >= task.max_leaves:
            return DONE
        slot = _first_leaf(task, room, p) if task.breadth else _best_leaf(place, room.numbers, state[at.LEAVES])
        if slot < 0 or state[at.LEAVES] == place.shape[0]:
            return DONE if slot < 0 else MORE_LEAVES
        if cells > _PAUSE_AFTER and task.cells_worth_threads < cells:
            return PAUSE
        if p.kind == FREE:
            waiting = _split(task, room, rows, p, slot, False)
        else:
            waiting, accounts = _split_at_prices(task, room, rows, p, slot), True
    return DONE
