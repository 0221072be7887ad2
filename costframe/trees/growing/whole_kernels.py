"""A whole tree in one call: what `Grower` does best-first, for leaves so small that calls between kernels would count.

Each open leaf has a slot. Of two children, the larger one takes over the slot of its parent, and so its histogram and
its account; the smaller one takes the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel_using
from costframe.trees.growing import histogram_kernels, marks_kernels, packing_kernels, partition_kernels, split_kernels
from costframe.trees.growing.histogram_kernels import add_to_histogram
from costframe.trees.growing.marks_kernels import (
    charge,
    count_marks,
    divide_account,
    mark_rows,
    price_leaf,
    weigh_marks,
    weigh_rows,
)
from costframe.trees.growing.packing_kernels import sum_words
from costframe.trees.growing.partition_kernels import partition_rows
from costframe.trees.growing.split_kernels import best_feature, find_splits, search_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.growing.prices import PriceState
    from costframe.trees.growing.whole import Room

__all__ = ["grow_whole"]

_COLUMNS = 64  # histograms of so many columns stay in the second-level cache
_LARGEST = 1e300
_NODE, _DEPTH, _BEGIN, _COUNT, _FEATURE = range(5)

_using = kernel_using(histogram_kernels, marks_kernels, packing_kernels, partition_kernels, split_kernels)


@_using
def _price_once(p: PriceState) -> None:
    """Set what a model pays once for each feature now: the feature or its reuse, and its unpaid resources."""
    for f in range(p.once.shape[0]):
        total = p.feature_price[f]
        if p.once_paid[f]:
            total = 0.0 if p.used[f] else p.reuse
        for r in range(p.resource_price.shape[0]):
            if p.needs[f, r] and not p.resource_paid[r]:
                total += p.resource_price[r]
        p.once[f] = total


@_using
def _weight(p: PriceState, rows: NDArray[np.int32]) -> float:
    return weigh_rows(rows, p.row_weight) if p.row_weight.shape[0] > 0 else np.float64(rows.shape[0])


@_using
def _open_account(p: PriceState, room: Room, rows: NDArray[np.int32], slot: int, root: float) -> None:
    """Reckon what a leaf of a new slot pays for a split on each feature, as long as nothing is split."""
    weight = _weight(p, rows)
    room.weight[slot] = weight
    if not p.by_row:
        for f in range(p.split.shape[0]):
            room.money[slot, f] = p.split[f] * weight + root
        return
    if p.all_known and rows.shape[0] == p.marks.shape[0]:
        room.paid[slot] = p.paid_by_all
    elif p.row_weight.shape[0] == 0:
        count_marks(p.marks, rows, room.paid[slot])
    else:
        weigh_marks(p.marks, rows, p.row_weight, room.paid[slot])
    again = np.full(p.split.shape[0], p.reuse)
    price_leaf(room.paid[slot], weight, p.split, p.seen, p.begin, p.items, again, root, room.money[slot])


@_using
def _divide_account(
    p: PriceState, room: Room, small: int, large: int, rows: NDArray[np.int32], rest: NDArray[np.int32]
) -> None:
    """Reckon what two children pay, of which the larger one has its parent's slot; `rest` are the larger one's rows."""
    whole = room.weight[large]
    if not p.by_row:
        _open_account(p, room, rows, small, 0.0)
        _open_account(p, room, rest, large, 0.0)
        return
    room.weight[small], room.weight[large] = _weight(p, rows), _weight(p, rest)
    again = np.full(p.split.shape[0], p.reuse)
    if p.reuse != 0.0:
        for f in range(again.shape[0]):
            again[f] = 0.0 if room.tested[small, f] else p.reuse
    divide_account(
        p.marks, rows, p.row_weight, (whole, room.weight[small], room.weight[large]), (small, large), p.n_items,
        p.split, p.seen, p.begin, p.items, again, room.paid, room.money,
    )  # fmt: skip


@_using
def _pay(p: PriceState, room: Room, rows: NDArray[np.int32], slot: int, f: int) -> bool:
    """Pay for a split; True if prices of other leaves have changed by it."""
    if not p.by_row:
        if p.used[f]:
            return False
        first = not p.once_paid[f] or p.reuse != 0.0
        p.used[f], p.once_paid[f] = True, True
        for r in range(p.resource_price.shape[0]):
            p.resource_paid[r] |= p.needs[f, r]
        _price_once(p)
        return first
    weight, items = room.weight[slot], p.items[p.begin[f] : p.begin[f + 1]]
    p.totals[0] += room.money[slot, f]
    waived = 0.0
    for item in items:
        waived += p.waived[item] * (weight - room.paid[slot, item])
    p.totals[0] += waived
    mark_rows(p.marks, rows, p.bits[f], items, weight, room.paid[slot], p.paid_by_all)
    first = not p.once_paid[f] and p.true_once[f] > 0
    if first:
        p.totals[1] += p.true_once[f]
    p.once_paid[f] = True
    return first


@_using
def _compare(p: PriceState, room: Room, slot: int, price_unit: float) -> None:
    """Find a leaf's best feature at current prices."""
    nothing_paid = room.nothing_paid if not p.by_row else p.once_paid
    charge(room.money[slot], p.once, nothing_paid, p.tradeoff, _LARGEST, room.price)
    feature, value = best_feature(room.gain[slot], room.price, price_unit)
    room.place[slot, _FEATURE], room.value[slot] = feature, value


@_using
def _fill(bins: NDArray[np.uint8], words: NDArray[np.int64], rows: NDArray[np.int32], room: Room, slot: int) -> None:
    """Fill the histogram of some rows, in the bins that are in use."""
    histogram = room.histogram[slot]
    for k in range(room.columns.shape[0]):
        histogram[k, : room.n_bins[k]] = 0
        histogram[k, 255] = 0
    for first in range(0, room.columns.shape[0], _COLUMNS):
        last = min(first + _COLUMNS, room.columns.shape[0])
        add_to_histogram(bins, words, rows, room.columns[first:last], histogram[first:last])


@_using
def _best(room: Room, n_open: int) -> int:
    """Return the slot of the leaf that is worth most, the oldest of several."""
    best = 0
    for slot in range(1, n_open):
        older = room.place[slot, _NODE] < room.place[best, _NODE]
        if room.value[slot] > room.value[best] or (room.value[slot] == room.value[best] and older):
            best = slot
    return best


@_using
def _part(column: NDArray[np.uint8], room: Room, rows: NDArray[np.int32], slot: int, f: int) -> int:
    """Move a leaf's rows to where their children's lie, and count those that go left."""
    begin, count = room.place[slot, _BEGIN], room.place[slot, _COUNT]
    scratch = room.scratch[begin : begin + count]
    n_left = partition_rows(column, int(room.best_bin[slot, f]), room.best_missing_left[slot, f], rows, scratch)
    rows[n_left:] = scratch[: count - n_left]
    return n_left


@_using
def _replace(room: Room, slot: int, n_open: int, f: int, n_left: int, left_first: bool) -> None:
    """Make an inner node and two leaves of a leaf: the larger one in its slot, the smaller one in the next."""
    node, depth, begin, count = room.place[slot, :_FEATURE]
    child = 2 * n_open - 1  # as many nodes as there are
    room.feature[node], room.bin[node], room.missing_left[node] = (
        f, room.best_bin[slot, f], room.best_missing_left[slot, f],
    )  # fmt: skip
    room.left[node], room.right[node] = child, child + 1
    room.tested[slot, f] = True
    room.tested[n_open] = room.tested[slot]
    left, right = (n_open, slot) if left_first else (slot, n_open)
    whole = room.sums[slot, 0], room.sums[slot, 1]
    for word in range(2):
        room.sums[left, word] = room.best_left[slot, f, word]
        room.sums[right, word] = whole[word] - room.best_left[slot, f, word]
    room.place[left, _NODE], room.place[right, _NODE] = child, child + 1
    room.place[left, _BEGIN], room.place[right, _BEGIN] = begin, begin + n_left
    room.place[left, _COUNT], room.place[right, _COUNT] = n_left, count - n_left
    room.place[left, _DEPTH], room.place[right, _DEPTH] = depth + 1, depth + 1
    room.value[left], room.value[right] = -np.inf, -np.inf


@_using
def _plant(
    bins: NDArray[np.uint8],
    words: NDArray[np.int64],
    rows: NDArray[np.int32],
    numbers: tuple[int, NDArray[np.float64], NDArray[np.float64]],
    room: Room,
    p: PriceState,
) -> None:
    """Search the root, and open its account."""
    if not p.by_row:
        _price_once(p)
    _fill(bins, words, rows, room, 0)
    find_splits(
        room.histogram[0], room.n_bins, room.columns, room.sums[0], *numbers,
        room.gain[0], room.best_bin[0], room.best_missing_left[0], room.best_left[0],
    )  # fmt: skip
    _open_account(p, room, rows, 0, p.root)


@_using
def grow_whole(
    bins: NDArray[np.uint8],
    by_column: NDArray[np.uint8],
    words: NDArray[np.int64],
    rows: NDArray[np.int32],
    numbers: tuple[int, NDArray[np.float64], NDArray[np.float64]],
    most: tuple[int, int],
    price_unit: float,
    room: Room,
    p: PriceState,
) -> int:
    """Grow a tree best-first, and return its number of leaves.

    Parameters
    ----------
    bins, by_column : uint8 (n, d), uint8 (d, n)
        Rows as bins, in both layouts.
    words : int64 (n, 1 or 2)
        Packed gradients.
    rows : int32 (m,)
        Rows to grow on, ascending; permuted, so that each leaf's lie together.
    numbers : int, float64 (2,), float64 (3,)
        Bits of the count in a first word, units of gradients and hessians, and `Limits`.
    most : int, int
        Comparisons on a path, and leaves.
    price_unit : float
        What a price is multiplied by to be compared with a gain.
    room : Room
        Where the tree, and what lasts no longer than its growth, is written.
    p : PriceState
        What splits cost; changed by what is paid.
    """
    max_depth, max_leaves = most
    mask, enough = (1 << numbers[0]) - 1, 2 * np.int64(numbers[2][1])
    room.gain[:] = -np.inf
    room.feature[:], room.left[:], room.right[:] = -1, -1, -1
    room.bin[:], room.missing_left[:], room.tested[:] = 0, False, False
    room.place[0, _NODE], room.place[0, _DEPTH], room.place[0, _BEGIN], room.place[0, _COUNT] = 0, 0, 0, rows.shape[0]
    room.sums[0, 0], room.sums[0, 1] = sum_words(words, rows)
    if max_depth < 1 or max_leaves < 2 or room.sums[0, 0] & mask < enough or room.columns.shape[0] == 0:
        return 1
    _plant(bins, words, rows, numbers, room, p)
    room.searched[0] = True
    _compare(p, room, 0, price_unit)
    n_open = 1
    while n_open < max_leaves:
        slot = _best(room, n_open)
        if not room.value[slot] > 0:
            break
        begin, count, f = room.place[slot, _BEGIN], room.place[slot, _COUNT], room.place[slot, _FEATURE]
        mine = rows[begin : begin + count]
        changed = _pay(p, room, mine, slot, f)
        n_left = _part(by_column[f], room, mine, slot, f)
        small, large = n_open, slot
        left_first = n_left <= count - n_left
        _replace(room, slot, n_open, f, n_left, left_first)
        n_open += 1
        if n_open == max_leaves:
            break  # nobody asks what a split of the last two would be worth
        deep = room.place[small, _DEPTH] >= max_depth
        first = -1 if deep or room.sums[small, 0] & mask < enough else small
        second = -1 if deep or room.sums[large, 0] & mask < enough else large
        room.searched[small], room.searched[large] = first >= 0, second >= 0
        if first >= 0 or second >= 0:
            fewer, more = (mine[:n_left], mine[n_left:]) if left_first else (mine[n_left:], mine[:n_left])
            _divide_account(p, room, small, large, fewer, more)
            _fill(bins, words, fewer, room, small)
            totals = room.sums[small, 0], room.sums[small, 1], room.sums[large, 0], room.sums[large, 1]
            search_pair(
                room.histogram[small], room.histogram[large], totals, (first, second), room.n_bins, room.columns,
                *numbers, room.gain, room.best_bin, room.best_missing_left, room.best_left,
            )  # fmt: skip
        for other in range(n_open):
            if room.searched[other] and (changed or other in (small, large)):
                _compare(p, room, other, price_unit)
    return n_open
