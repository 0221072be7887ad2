"""Compiled loops over marks of what rows have paid for: one bit an item (feature or resource) and row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "charge",
    "count_marks",
    "divide_account",
    "mark_rows",
    "price_leaf",
    "price_marks",
    "weigh_marks",
    "weigh_rows",
]

BITS = 64
ONE = np.uint64(1)
LOWEST_OF_BYTES = np.uint64(0x0101010101010101)


@kernel
def count_marks(marks: NDArray[np.uint64], rows: NDArray[np.int32], counts: NDArray[np.float64]) -> None:
    """Set counts[64 w + b] to the number of rows that have bit b of word w."""
    counts[:] = 0.0
    strip = np.empty(255, np.uint64)  # of so many rows, eight counts fit into a word, a byte each
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


@kernel
def weigh_marks(
    marks: NDArray[np.uint64], rows: NDArray[np.int32], weight: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """Set sums[64 w + b] to the weight of the rows that have bit b of word w."""
    sums[:] = 0.0
    for i in range(rows.shape[0]):
        row = rows[i]
        for w in range(marks.shape[1]):
            word = marks[row, w]
            for b in range(BITS):
                sums[w * BITS + b] += weight[row] * np.float64((word >> np.uint64(b)) & ONE)


@kernel
def weigh_rows(rows: NDArray[np.int32], weight: NDArray[np.float64]) -> float:
    """Return the weight of some rows: to the last digit what `weigh_marks` finds for a bit that all have."""
    total = 0.0
    for row in rows:
        total += weight[row]
    return total


@kernel
def mark_rows(
    marks: NDArray[np.uint64],
    rows: NDArray[np.int32],
    bits: NDArray[np.uint64],
    items: NDArray[np.int64],
    weight: float,
    paid: NDArray[np.float64],
    paid_by_all: NDArray[np.float64],
) -> None:
    """Mark items, which are given as `bits` as well, in all rows, unless their whole `weight` has paid; now it has.

    What is paid anew is added to `paid_by_all`.
    """
    owed = False
    for item in items:
        owed |= paid[item] != weight
        paid_by_all[item] += weight - paid[item]
        paid[item] = weight
    if owed:
        for row in rows:
            for w in range(bits.shape[0]):
                marks[row, w] |= bits[w]


@kernel
def price_leaf(
    paid: NDArray[np.float64],
    weight: float,
    per_split: NDArray[np.float64],
    cost: NDArray[np.float64],
    begin: NDArray[np.int64],
    items: NDArray[np.int64],
    again: NDArray[np.float64],
    root: float,
    money: NDArray[np.float64],
) -> None:
    """Set money[f] to what a leaf of some `weight` pays for a split on feature f.

    Parameters
    ----------
    paid : float64 (items,)
        Weight that has paid for each item.
    weight, root : float
        Of all rows; what each unit of it pays whatever the feature.
    per_split, again : float64 (d,)
        Price of a comparison, and of meeting a feature anew that is paid for.
    cost : float64 (items,)
        Price of each item.
    begin, items : int64 (d + 1,), int64
        Feature f needs items[begin[f] : begin[f + 1]].
    money : float64 (d,)
        Written.
    """
    for f in range(money.shape[0]):
        total = (per_split[f] + root) * weight + again[f] * paid[f]
        for item in items[begin[f] : begin[f + 1]]:
            total += cost[item] * (weight - paid[item])
        money[f] = total


@kernel
def divide_account(
    marks: NDArray[np.uint64],
    rows: NDArray[np.int32],
    row_weight: NDArray[np.float64],
    weights: tuple[float, float, float],
    slots: tuple[int, int],
    n_items: int,
    per_split: NDArray[np.float64],
    cost: NDArray[np.float64],
    begin: NDArray[np.int64],
    items: NDArray[np.int64],
    again: NDArray[np.float64],
    paid: NDArray[np.float64],
    money: NDArray[np.float64],
) -> None:
    """Reckon what two children have paid and would pay, by counting the marks of one; the other's is what is left.

    Parameters
    ----------
    marks, rows : uint64 (n, words), int32 (m,)
        Of all rows, and which are the counted child's.
    row_weight : float64 (n,) or (0,)
        None: one each.
    weights : float, float, float
        Of the parent, of the child that is counted and of the other one.
    slots : int, int
        Where the counted child's account is to be, and where the parent's is and the other child's will be.
    n_items : int
        Items there are; `paid` has room for whole words of them.
    per_split, cost, begin, items, again
        As for `price_leaf`.
    paid, money : float64 (slots, items), float64 (slots, d)
        Accounts; two are written.
    """
    counted, other = slots
    owed = False
    for item in range(n_items):
        owed |= paid[other, item] != weights[0]
    if not owed:  # in neither; so this is exact however weights are rounded
        paid[counted], paid[other] = weights[1], weights[2]
    elif row_weight.shape[0] == 0:
        count_marks(marks, rows, paid[counted])
        paid[other] -= paid[counted]
    else:
        weigh_marks(marks, rows, row_weight, paid[counted])
        for item in range(n_items):  # what all rows have is worth their weight to the last digit
            all_paid = paid[other, item] == weights[0]
            paid[other, item] = weights[2] if all_paid else paid[other, item] - paid[counted, item]
    price_leaf(paid[counted], weights[1], per_split, cost, begin, items, again, 0.0, money[counted])
    price_leaf(paid[other], weights[2], per_split, cost, begin, items, again, 0.0, money[other])


@kernel
def charge(
    money: NDArray[np.float64],
    once: NDArray[np.float64],
    once_paid: NDArray[np.bool_],
    tradeoff: float,
    largest: float,
    prices: NDArray[np.float64],
) -> None:
    """Set prices[f] to tradeoff * (money[f] + once[f] unless paid), at most `largest`; zero times infinity is zero."""
    for f in range(prices.shape[0]):
        total = money[f] if once_paid[f] else money[f] + once[f]
        prices[f] = min(tradeoff * total, largest) if total != 0 and tradeoff != 0 else 0.0


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
    """Mark items[i] in rows[i]; set what the newly marked ones cost, and how many features are among them."""
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
