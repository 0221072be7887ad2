"""Growing a whole tree in one call, where leaves are small; `Grower` takes the other cases, with the same result."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from costframe.trees.binning.scaling import power_of_two
from costframe.trees.growing.finish import GrowingNodes, LeafRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.growing.histogram import ColumnBlock
    from costframe.trees.growing.prices import PriceState, SplitPrices
    from costframe.trees.growing.search import SplitSearch

__all__ = ["Room", "grow_in_room"]

_NODE, _BEGIN, _COUNT = 0, 2, 3  # columns of `Room.place`
_MOST_LEAVES = 64
_MOST_CELLS = 4_000_000  # of all rows; beyond it, threads that share the columns are quicker


class Room(NamedTuple):
    """Where a tree is grown; kept for the next one, for the system would have to clear new memory first.

    Attributes
    ----------
    columns, n_bins : int64 (k,)
        Columns that can be split on, and the bins of each.
    histogram : int64 (leaves, k, 256, 1 or 2)
    gain, best_bin, best_missing_left, best_left : (leaves, d), the last one (leaves, d, 2)
        Candidates, as in `Candidates`.
    paid, money, weight : float64 (leaves, items), float64 (leaves, d), float64 (leaves,)
        Accounts, as of `LazyPrices`.
    place : int64 (leaves, 5)
        Node, depth, first row, number of rows, and best feature.
    sums, value, searched, tested : int64 (leaves, 2), float64 (leaves,), bool (leaves,), bool (leaves, d)
        Sums of words, worth of the best split, whether one was looked for, and features tested on the way.
    price, nothing_paid : float64 (d,), bool (d,)
    scratch : int32 (n,)
    feature, bin, missing_left, left, right : (nodes,)
        The tree.
    """

    columns: NDArray[np.int64]
    n_bins: NDArray[np.int64]
    histogram: NDArray[np.int64]
    gain: NDArray[np.float64]
    best_bin: NDArray[np.uint8]
    best_missing_left: NDArray[np.bool_]
    best_left: NDArray[np.int64]
    paid: NDArray[np.float64]
    money: NDArray[np.float64]
    weight: NDArray[np.float64]
    place: NDArray[np.int64]
    sums: NDArray[np.int64]
    value: NDArray[np.float64]
    searched: NDArray[np.bool_]
    tested: NDArray[np.bool_]
    price: NDArray[np.float64]
    nothing_paid: NDArray[np.bool_]
    scratch: NDArray[np.int32]
    feature: NDArray[np.int32]
    bin: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]


def _room_for(
    data: BinnedData, blocks: list[ColumnBlock], max_leaves: int, words: int, prices: PriceState
) -> Room | None:
    """Return room for a tree on all columns, an old one if there is; None if the tree is not one of the small cases."""
    n, d = data.bins.shape
    if max_leaves > _MOST_LEAVES or n * d > _MOST_CELLS or data.mapper.has_categories or not blocks:
        return None
    key = max_leaves, words, len(prices.paid_by_all)
    try:
        return data.rooms.setdefault(key, []).pop()
    except IndexError:
        pass
    columns = np.concatenate([block.columns for block in blocks])
    items, nodes = len(prices.paid_by_all), 2 * max_leaves - 1
    return Room(
        columns,
        data.mapper.n_bins[columns],
        np.empty((max_leaves, len(columns), 256, words), np.int64),
        np.empty((max_leaves, d)),
        np.empty((max_leaves, d), np.uint8),
        np.empty((max_leaves, d), np.bool_),
        np.empty((max_leaves, d, 2), np.int64),
        np.empty((max_leaves, items)),
        np.empty((max_leaves, d)),
        np.empty(max_leaves),
        np.empty((max_leaves, 5), np.int64),
        np.empty((max_leaves, 2), np.int64),
        np.empty(max_leaves),
        np.empty(max_leaves, np.bool_),
        np.empty((max_leaves, d), np.bool_),
        np.empty(d),
        np.zeros(d, np.bool_),
        np.empty(n, np.int32),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.bool_),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
    )


def grow_in_room(
    search: SplitSearch, prices: SplitPrices, rows: NDArray[np.int32], max_depth: int, max_leaves: int
) -> tuple[GrowingNodes, LeafRows] | None:
    """Grow a tree best-first in one call; None, and nothing done, if it is not one of the cases for it.

    Parameters
    ----------
    search : SplitSearch
        Of all columns, and no signs.
    prices : SplitPrices
    rows : int32 (m,)
        Permuted, so that the rows of each leaf lie together.
    max_depth, max_leaves : int
    """
    prices.begin_tree()
    packed, state = search.packed, prices.state()
    room = (
        None if state is None else _room_for(search.data, search.wide_blocks, max_leaves, packed.words.shape[1], state)
    )
    if state is None or room is None:
        return None
    from costframe.trees.growing.whole_kernels import grow_whole

    n_leaves = grow_whole(
        search.data.bins,
        search.data.columns,
        packed.words,
        rows,
        search.numbers,
        (max_depth, max_leaves),
        power_of_two(-2 * packed.gradient_exponent),
        room,
        state,
    )
    made = slice(0, 2 * n_leaves - 1)
    tree = (room.feature[made], room.bin[made], room.missing_left[made], room.left[made], room.right[made])
    nodes = GrowingNodes(*(column.tolist() for column in tree))
    place = room.place[:n_leaves]
    place = place[np.argsort(place[:, _BEGIN])]
    leaves = LeafRows(place[:, _NODE].astype(np.int32), place[:, _BEGIN].copy(), place[:, _COUNT].copy())
    search.data.rooms[max_leaves, packed.words.shape[1], len(state.paid_by_all)].append(room)
    return nodes, leaves
