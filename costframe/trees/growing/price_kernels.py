"""The payments of a growing tree, once by the model or row by row: one account for every leaf.

Rows that pay one by one have marks of their payments: one bit per item, which is a feature or a resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.combine_kernels import sum_doubles_over_workers
from costframe.core.jit import kernel, kernel_apart
from costframe.trees.growing.prices import BY_MODEL, FREE, LARGEST
from costframe.trees.growing.room import WEIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.growing.prices import PriceState
    from costframe.trees.growing.room import Room

__all__ = [
    "begin_prices",
    "charge",
    "count_account",
    "mark_rows",
    "open_account",
    "pay",
    "price_marks",
    "range_prices",
    "settle_account",
    "sum_marks",
    "weigh_rows",
]

BITS = 64
ONE = np.uint64(1)
LOWEST_OF_BYTES = np.uint64(0x0101010101010101)


@kernel
def _count_marks(marks: NDArray[np.uint64], rows: NDArray[np.int32], counts: NDArray[np.float64]) -> None:
    """Add to counts[64 w + b] the number of rows that have bit b of word w."""
    strip = np.empty(255, np.uint64)  # of 255 rows: eight counts of one byte each fit into a word
    for begin in range(0, rows.shape[0], 255):
        size = min(255, rows.shape[0] - begin)
        for w in range(marks.shape[1]):
            for at in range(size):
                strip[at] = marks[rows[begin + at], w]
            for b in range(8):
                total = np.uint64(0)
                for at in range(size):
                    total += (strip[at] >> np.uint64(b)) & LOWEST_OF_BYTES
                for byte in range(8):
                    counts[w * BITS + 8 * byte + b] += np.float64((total >> np.uint64(8 * byte)) & np.uint64(255))


@kernel_apart
def sum_marks(
    marks: NDArray[np.uint64], rows: NDArray[np.int32], weight: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """Set sums[64 w + b] to the weight of the rows that have bit b of word w.

    Parameters
    ----------
    marks : uint64 (n, words)
        Of all rows.
    rows : int32 (m,)
    weight : float64 (n,) or (0,)
        (0,) if one each.
    sums : float64 (64 words,)
        Written.
    """
    sums[:] = 0.0
    if weight.shape[0] == 0:
        _count_marks(marks, rows, sums)
        return
    for i in range(rows.shape[0]):
        row = rows[i]
        for w in range(marks.shape[1]):
            word = marks[row, w]
            for b in range(BITS):
                sums[w * BITS + b] += weight[row] * np.float64((word >> np.uint64(b)) & ONE)


@kernel
def weigh_rows(rows: NDArray[np.int32], weight: NDArray[np.float64]) -> float:
    """Return the weight of some rows, to the last digit equal to that of `sum_marks` for a bit that all have."""
    if weight.shape[0] == 0:
        return float(rows.shape[0])
    total = 0.0
    for row in rows:
        total += weight[row]
    return total


@kernel
def _price_leaf(
    paid: NDArray[np.float64],
    weight: float,
    split: NDArray[np.float64],
    cost: NDArray[np.float64],
    begin: NDArray[np.int64],
    items: NDArray[np.int64],
    reuse: float,
    tested: NDArray[np.bool_],
    root: float,
    money: NDArray[np.float64],
) -> None:
    """Set money[f] to the payment of a leaf for a split on f, which needs items[begin[f] : begin[f + 1]].

    `paid` is the weight that has paid for each item; `tested` marks the features met on the way.
    """
    for f in range(money.shape[0]):
        total = (split[f] + root) * weight + (0.0 if tested[f] else reuse) * paid[f]
        for item in items[begin[f] : begin[f + 1]]:
            total += cost[item] * (weight - paid[item])
        money[f] = total


@kernel
def begin_prices(p: PriceState) -> None:
    """Set the present once-price of each feature for a model: the feature or its reuse, and its unpaid resources."""
    if p.kind != BY_MODEL:
        return
    for f in range(p.once.shape[0]):
        total = p.feature_price[f]
        if p.feature_paid[f]:
            total = 0.0 if p.used[f] else p.reuse
        for r in p.items[p.begin[f] : p.begin[f + 1]]:
            if not p.resource_paid[r]:
                total += p.resource_price[r]
        p.once[f] = total


@kernel
def _price_by_model(p: PriceState, room: Room, slot: int, weight: float, root: float) -> None:
    """Compute the payments of a leaf for a split on each feature, whose once-prices come on top."""
    room.numbers[slot, WEIGHT] = weight
    for f in range(p.split.shape[0]):
        room.money[slot, f] = p.split[f] * weight + root


@kernel_apart
def open_account(p: PriceState, room: Room, rows: NDArray[np.int32]) -> None:
    """Compute the payments of the root, at slot 0, for a split on each feature."""
    weight = np.full(1, weigh_rows(rows, p.row_weight))
    sum_doubles_over_workers(p.address, weight)
    if p.kind == BY_MODEL:
        _price_by_model(p, room, 0, weight[0], p.root)
        return
    if p.all_known and rows.shape[0] == p.marks.shape[0] and p.address == 0:
        for item in range(p.paid_by_all.shape[0]):
            room.paid[0, item] = p.paid_by_all[item]
    else:
        sum_marks(p.marks, rows, p.row_weight, room.paid[0])
        sum_doubles_over_workers(p.address, room.paid[0])
    room.numbers[0, WEIGHT] = weight[0]
    _price_leaf(
        room.paid[0], weight[0], p.split, p.seen, p.begin, p.items, p.reuse, room.tested[0], p.root, room.money[0]
    )


@kernel_apart
def count_account(
    p: PriceState, room: Room, large: int, rows: NDArray[np.int32], rest: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the weights of the rows of two children, and of those of the first that have paid for each item.

    The second child has its parent's slot. If no row of them owes for any item, or none ever pays, two weights suffice.
    """
    owed = False
    if p.kind != BY_MODEL:
        for item in range(p.n_items):
            owed |= room.paid[large, item] != room.numbers[large, WEIGHT]
    counted = np.empty(2 + room.paid.shape[1] if owed else 2)
    counted[0], counted[1] = weigh_rows(rows, p.row_weight), weigh_rows(rest, p.row_weight)
    if owed:
        sum_marks(p.marks, rows, p.row_weight, counted[2:])
    return counted


@kernel_apart
def settle_account(p: PriceState, room: Room, small: int, large: int, counted: NDArray[np.float64]) -> None:
    """Compute the payments of two children from what `count_account` has counted, of all workers.

    The larger child has its parent's slot; what the smaller one has paid is subtracted for it.
    """
    paid, whole, fewer, more = room.paid, room.numbers[large, WEIGHT], counted[0], counted[1]
    if p.kind == BY_MODEL:
        _price_by_model(p, room, small, fewer, 0.0)
        _price_by_model(p, room, large, more, 0.0)
        return
    room.numbers[small, WEIGHT], room.numbers[large, WEIGHT] = fewer, more
    if counted.shape[0] == 2:  # nobody owes in either child; so this is exact in spite of rounded weights
        paid[small], paid[large] = fewer, more
    else:
        paid[small] = counted[2:]
        for item in range(p.n_items):  # items of all rows have exactly the rows' weight
            all_paid = paid[large, item] == whole
            paid[large, item] = more if all_paid else paid[large, item] - paid[small, item]
    for slot, weight in ((small, fewer), (large, more)):
        _price_leaf(
            paid[slot], weight, p.split, p.seen, p.begin, p.items, p.reuse, room.tested[slot], 0.0, room.money[slot]
        )


@kernel
def pay(p: PriceState, room: Room, slot: int, f: int) -> tuple[bool, bool]:
    """Pay for the split of a leaf; return whether this changes prices of other leaves, and whether to mark its rows."""
    if p.kind == BY_MODEL:
        if p.used[f]:
            return False, False
        changed = not p.feature_paid[f] or p.reuse != 0.0
        p.used[f], p.feature_paid[f] = True, True
        for r in p.items[p.begin[f] : p.begin[f + 1]]:
            p.resource_paid[r] = True
        begin_prices(p)
        return changed, False
    weight, paid, owed, uncharged = room.numbers[slot, WEIGHT], room.paid[slot], False, 0.0
    for item in p.items[p.begin[f] : p.begin[f + 1]]:
        owed |= paid[item] != weight
        uncharged += p.uncharged[item] * (weight - paid[item])
        p.paid_by_all[item] += weight - paid[item]
        paid[item] = weight
    p.totals[0] += room.money[slot, f]
    p.totals[0] += uncharged
    first = not p.once_paid[f] and p.true_once[f] > 0
    if first:
        p.totals[1] += p.true_once[f]
    p.once_paid[f] = True
    return first, owed


@kernel
def mark_rows(p: PriceState, rows: NDArray[np.int32], f: int) -> None:
    """Mark all items of a feature as paid by these rows."""
    masks = np.zeros(p.marks.shape[1], np.uint64)
    for item in p.items[p.begin[f] : p.begin[f + 1]]:
        masks[item // BITS] |= ONE << np.uint64(item % BITS)
    for word in range(masks.shape[0]):
        mask = masks[word]
        if mask != 0:
            for row in rows:
                p.marks[row, word] |= mask


@kernel
def _charge_one(money: float, once: float, tradeoff: float) -> float:
    """Return tradeoff * (money + once), at most LARGEST; zero times infinity is zero."""
    total = money + once
    return float(min(tradeoff * total, LARGEST)) if total != 0 and tradeoff != 0 else 0.0


@kernel
def charge(
    money: NDArray[np.float64],
    once: NDArray[np.float64],
    once_paid: NDArray[np.bool_],
    tradeoff: float,
    prices: NDArray[np.float64],
) -> None:
    """Set prices[f] to tradeoff * (money[f] + once[f] unless paid), at most LARGEST; zero times infinity is zero."""
    for f in range(prices.shape[0]):
        prices[f] = _charge_one(money[f], 0.0 if once_paid[f] else once[f], tradeoff)


@kernel
def range_prices(
    p: PriceState, money: NDArray[np.float64], columns: NDArray[np.int64], unit: float, prices: NDArray[np.float64]
) -> None:
    """Write the least prices, in units, that a leaf's splits on some columns may have later, and the present ones.

    In a tree, a leaf's `money` stays the same, and once-prices only fall.
    """
    for k in range(columns.shape[0]):
        f = columns[k]
        for row in range(2):
            prices[row, k] = 0.0
            if p.kind != FREE:
                once = p.once[f] if row == 1 and not p.once_paid[f] else 0.0
                prices[row, k] = _charge_one(money[f], once, p.tradeoff) * unit


@kernel
def price_marks(
    marks: NDArray[np.uint64],
    rows: NDArray[np.int32],
    items: NDArray[np.uint64],
    cost: NDArray[np.float64],
    n_features: int,
    per_row: NDArray[np.float64],
    new_features: NDArray[np.float64],
) -> None:
    """Mark items[i] in rows[i]; set the cost of the newly marked ones, and the number of features among them."""
    for i in range(rows.shape[0]):
        total, features = 0.0, 0.0
        for w in range(marks.shape[1]):
            new = items[i, w] & ~marks[rows[i], w]
            marks[rows[i], w] |= new
            for b in range(BITS):
                if (new >> np.uint64(b)) & ONE:
                    total += cost[w * BITS + b]
                    features += 1.0 if w * BITS + b < n_features else 0.0
        per_row[i] = total
        new_features[i] = features
