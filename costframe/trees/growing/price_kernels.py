"""What a growing tree pays: nothing, once by the model, or row by row; one account for every leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel_using
from costframe.trees.growing import marks_kernels
from costframe.trees.growing.marks_kernels import (
    charge,
    count_marks,
    divide_account,
    mark_rows,
    price_leaf,
    weigh_marks,
    weigh_rows,
)
from costframe.trees.growing.prices import BY_MODEL, FREE, LARGEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.growing.prices import PriceState
    from costframe.trees.growing.room import Room

__all__ = ["begin_prices", "open_account", "pay", "split_account", "write_prices"]

_DEPTH = 1  # of `Room.place`

_using = kernel_using(marks_kernels)


@_using
def begin_prices(p: PriceState) -> None:
    """Set what a model pays once for each feature now: the feature or its reuse, and its unpaid resources."""
    if p.kind != BY_MODEL:
        return
    for f in range(p.once.shape[0]):
        total = p.feature_price[f]
        if p.feature_paid[f]:
            total = 0.0 if p.used[f] else p.reuse
        for r in range(p.resource_price.shape[0]):
            if p.needs[f, r] and not p.resource_paid[r]:
                total += p.resource_price[r]
        p.once[f] = total


@_using
def _weight(p: PriceState, rows: NDArray[np.int32]) -> float:
    return weigh_rows(rows, p.row_weight) if p.row_weight.shape[0] > 0 else np.float64(rows.shape[0])


@_using
def open_account(p: PriceState, room: Room, rows: NDArray[np.int32], slot: int) -> None:
    """Reckon what a leaf pays for a split on each feature, as long as it is not split."""
    if p.kind == FREE:
        return
    weight, root = _weight(p, rows), p.root if room.place[slot, _DEPTH] == 0 else 0.0
    room.weight[slot] = weight
    if p.kind == BY_MODEL:
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
def split_account(
    p: PriceState, room: Room, small: int, large: int, rows: NDArray[np.int32], rest: NDArray[np.int32]
) -> None:
    """Reckon what two children pay, of which the larger one has its parent's slot; `rest` are the larger one's rows."""
    if p.kind == FREE:
        return
    if p.kind == BY_MODEL:
        open_account(p, room, rows, small)
        open_account(p, room, rest, large)
        return
    whole = room.weight[large]
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
def pay(p: PriceState, room: Room, rows: NDArray[np.int32], slot: int, f: int) -> bool:
    """Pay for the split of a leaf; True if prices of other leaves have changed by it."""
    if p.kind == FREE:
        return False
    if p.kind == BY_MODEL:
        if p.used[f]:
            return False
        changed = not p.feature_paid[f] or p.reuse != 0.0
        p.used[f], p.feature_paid[f] = True, True
        for r in range(p.resource_price.shape[0]):
            p.resource_paid[r] |= p.needs[f, r]
        begin_prices(p)
        return changed
    weight, items = room.weight[slot], p.items[p.begin[f] : p.begin[f + 1]]
    p.totals[0] += room.money[slot, f]
    uncharged = 0.0
    for item in items:
        uncharged += p.uncharged[item] * (weight - room.paid[slot, item])
    p.totals[0] += uncharged
    mark_rows(p.marks, rows, p.bits[f], items, weight, room.paid[slot], p.paid_by_all)
    first = not p.once_paid[f] and p.true_once[f] > 0
    if first:
        p.totals[1] += p.true_once[f]
    p.once_paid[f] = True
    return first


@_using
def write_prices(p: PriceState, room: Room, slot: int) -> None:
    """Write what a split of a leaf on each feature costs now, in loss."""
    if p.kind == FREE:
        room.price[:] = 0.0
    else:
        charge(room.money[slot], p.once, p.once_paid, p.tradeoff, LARGEST, room.price)
