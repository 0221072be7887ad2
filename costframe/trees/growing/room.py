"""What the grower works on: the task, and the room in which a tree grows, kept for the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.binning.bin_mapper import BinnedData

__all__ = ["UNLIMITED", "Room", "Task", "room_for", "task_for", "widened"]

UNLIMITED = 2**31
_LEAVES = 64  # at first


class Task(NamedTuple):
    """Which tree to grow.

    Attributes
    ----------
    bins, by_column : uint8 (n, d), uint8 (d, n)
        Rows as bins, in both layouts.
    words : int64 (n, 1 or 2)
        Packed gradients, and hessians where they are not one.
    columns, n_bins : int64 (k,)
        Columns that may be split on, ascending, and their bins besides the missing one.
    categorical : bool (d,) or (0,)
        Features whose bins are categories; (0,) if there are none.
    signs : int8 (d,) or (0,)
        1 where outputs must not fall, -1 where they must not rise; (0,) if nothing is constrained.
    count_bits : int
        Low bits of (sums of) first words that count rows.
    units : float64 (2,)
        What one unit of a gradient and of a hessian is.
    limits : float64 (3,) or more
        l2, and the fewest rows and the least hessian of a leaf.
    max_depth, max_leaves : int
        Comparisons on a path, and leaves.
    breadth : bool
        Whether leaves are split level by level, or best first.
    price_unit : float
        Factor that makes a price comparable with a gain.
    cells_worth_threads : int
        Work, in cells added to a histogram, that the caller shares between threads.
    """

    bins: NDArray[np.uint8]
    by_column: NDArray[np.uint8]
    words: NDArray[np.int64]
    columns: NDArray[np.int64]
    n_bins: NDArray[np.int64]
    categorical: NDArray[np.bool_]
    signs: NDArray[np.int8]
    count_bits: int
    units: NDArray[np.float64]
    limits: NDArray[np.float64]
    max_depth: int
    max_leaves: int
    breadth: bool
    price_unit: float
    cells_worth_threads: int


class Room(NamedTuple):
    """Where a tree grows. Every leaf has a slot; of two children, the larger one takes over the slot of its parent.

    A price depends on the leaf and the feature but not on the threshold. So whatever prices do later, the best split of
    a leaf is that of the feature with the largest gain less price, and no histogram is scanned again.

    Attributes
    ----------
    state : int64 (6,)
        Leaves, the next node to look at, slots of the smaller and of the larger leaf to be searched, whether the caller
        searches them, and how many histograms are free.
    gain, best_bin, best_missing_left, best_left, best_set
        (leaves, d): the best split of each leaf on each feature: its gain, -inf if there is none; the highest bin that
        goes left; whether missing values do; sums of words that go left, (2,); and for categories the set of bins, (4,)
        words of bits.
    paid, money, weight : float64 (leaves, items), float64 (leaves, d), float64 (leaves,)
        Weight of a leaf's rows that has paid for each item, what a split on each feature costs the rows, and the weight
        of all.
    place : int64 (leaves, 6)
        Node, depth, first row, number of rows, best feature at current prices, and number of the histogram or -1.
    sums, bounds, value : int64 (leaves, 2), float64 (leaves, 2), float64 (leaves,)
        Sums of words, least and largest output in units of gradients over hessians, and worth of the best split.
    searched, tested : bool (leaves,), bool (leaves, d)
        Whether a leaf may still be split, and features tested on the way to it.
    feature, bin, missing_left, left, right, node_set : (nodes,), the last one (nodes, 4)
        The tree: -1 for feature and children at leaves.
    gained, slot_of : float64 (nodes,), int64 (nodes,)
        What a split is worth, and the slot of a leaf.
    histogram, free : int64 (histograms, columns, bins, 1 or 2), int64 (histograms,)
        Sums of words by bin; the last bin holds missing values. Numbers of those that are free.
    rows, price, goes_left : int32 (n,), float64 (d,), bool (256,)
        Scratch.
    """

    state: NDArray[np.int64]
    gain: NDArray[np.float64]
    best_bin: NDArray[np.uint8]
    best_missing_left: NDArray[np.bool_]
    best_left: NDArray[np.int64]
    best_set: NDArray[np.uint64]
    paid: NDArray[np.float64]
    money: NDArray[np.float64]
    weight: NDArray[np.float64]
    place: NDArray[np.int64]
    sums: NDArray[np.int64]
    bounds: NDArray[np.float64]
    value: NDArray[np.float64]
    searched: NDArray[np.bool_]
    tested: NDArray[np.bool_]
    feature: NDArray[np.int32]
    bin: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    node_set: NDArray[np.uint64]
    gained: NDArray[np.float64]
    slot_of: NDArray[np.int64]
    histogram: NDArray[np.int64]
    free: NDArray[np.int64]
    rows: NDArray[np.int32]
    price: NDArray[np.float64]
    goes_left: NDArray[np.bool_]


_BY_LEAF = Room._fields[1 : Room._fields.index("feature")]
_BY_NODE = Room._fields[Room._fields.index("feature") : Room._fields.index("histogram")]


def task_for(
    data: BinnedData,
    words: NDArray[np.int64],
    count_bits: int,
    limits: tuple[float, float, float],
    max_leaves: int = UNLIMITED,
    columns: NDArray[np.int64] | None = None,
) -> Task:
    """Return a task of one thread, best first, without prices and signs.

    Parameters
    ----------
    data : BinnedData
    words, count_bits, limits, max_leaves
        As in `Task`; units are ones.
    columns : int64 (k,), optional
        Columns that may be split on; all that can be by default.
    """
    mapper = data.mapper
    searched = np.flatnonzero(data.splittable) if columns is None else columns
    return Task(
        data.bins,
        data.columns,
        words,
        searched,
        mapper.n_bins[searched],
        mapper.categorical if mapper.has_categories else np.zeros(0, np.bool_),
        np.zeros(0, np.int8),
        count_bits,
        np.ones(2),
        np.array(limits, np.float64),
        max_depth=UNLIMITED,
        max_leaves=max_leaves,
        breadth=False,
        price_unit=1.0,
        cells_worth_threads=2**62,
    )


def room_for(data: BinnedData, n_words: int, n_items: int, max_leaves: int, *, whole: bool = False) -> Room:
    """Return room for trees on the columns of the data: `whole`, or to be widened as the tree grows, an old one."""
    if not whole:
        try:
            return data.rooms.setdefault((n_words, n_items), []).pop()
        except IndexError:
            pass
    (n, d), leaves = data.bins.shape, max_leaves if whole else min(_LEAVES, max_leaves)
    n_bins, sets = data.mapper.n_bins[data.splittable], data.mapper.has_categories
    width = 1 << int(n_bins.max(initial=1)).bit_length()
    nodes = 2 * leaves
    return Room(
        np.zeros(6, np.int64),
        np.empty((leaves, d)),
        np.empty((leaves, d), np.uint8),
        np.empty((leaves, d), np.bool_),
        np.empty((leaves, d, 2), np.int64),
        np.empty((leaves, d if sets else 0, 4), np.uint64),
        np.empty((leaves, n_items)),
        np.empty((leaves, d)),
        np.empty(leaves),
        np.empty((leaves, 6), np.int64),
        np.empty((leaves, 2), np.int64),
        np.empty((leaves, 2)),
        np.empty(leaves),
        np.empty(leaves, np.bool_),
        np.empty((leaves, d), np.bool_),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.bool_),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
        np.empty((nodes, 4), np.uint64),
        np.empty(nodes),
        np.empty(nodes, np.int64),
        np.empty((leaves, len(n_bins), width, n_words), np.int64),
        np.arange(leaves),
        np.empty(n, np.int32),
        np.empty(d),
        np.empty(256, np.bool_),
    )


def widened(room: Room, *, histograms: bool) -> Room:
    """Return twice the room for histograms, or for leaves, with what it holds."""
    if histograms:  # the new ones are free
        count = len(room.free)
        free = np.concatenate([room.free, np.empty_like(room.free)])
        free[room.state[5] : room.state[5] + count] = np.arange(count, 2 * count)
        room.state[5] += count
        return room._replace(histogram=_doubled(room.histogram), free=free)
    return room._replace(**{name: _doubled(getattr(room, name)) for name in (*_BY_LEAF, *_BY_NODE)})


def _doubled(values: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([values, np.empty_like(values)])
