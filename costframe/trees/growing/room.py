"""The grower's task, and its memory, the room, which the next tree uses again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.binning.bin_mapper import BinnedData

__all__ = ["LINE", "UNLIMITED", "Room", "Task", "new_room", "task_for", "widened"]

UNLIMITED = 2**31
FEW_ROWS = 1024  # with at most so many, a leaf's histograms are as quickly filled anew as read from memory
# Places in arrays that the engine knows as records; see `engine/room.h`.
LEAVES = 0  # of `Room.state`
WEIGHT = 3  # of `Room.numbers`
NODE_SET = 6  # of `Room.nodes`
STOP, ROWS_PER_THREAD, THREADS = 16, 30, 31  # of `Room.board`
LINE = 8  # words of a bin in the histograms of a group of columns, as many as in a line of a cache


class Task(NamedTuple):
    """The tree to grow.

    Attributes
    ----------
    bins, by_column : uint8 (n, d), uint8 (d, n)
        Rows as bins, in both layouts.
    words : int64 (n, 1 or 2)
        Packed gradients, and hessians if not all are one.
    columns, n_bins : int64 (k,)
        Columns of splits, ascending, and their numbers of bins without the missing bin.
    categorical : bool (d,) or (0,)
        Features whose bins are categories; (0,) if there are none.
    signs : int8 (d,) or (0,)
        1 if outputs must not fall, -1 if they must not rise; (0,) without constraints.
    count_bits : int
        Low bits of (sums of) first words that count rows.
    units : float64 (2,)
        Units of gradients and of hessians.
    limits : float64 (3,)
        l2, and the least rows and hessian of a leaf.
    max_depth, max_leaves : int
        Most comparisons on a path, and most leaves.
    breadth : bool
        Whether to split leaves level by level, or else best first.
    price_unit : float
        Factor from prices to the unit of gains.
    cells_worth_threads : int
        Least work for several threads, in cells added to a histogram.
    address : int
        Of the function that combines with other workers (`Workers.address`), 0 for a worker alone. Limits and sums are
        of the rows of all.
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
    address: int


class Room(NamedTuple):
    """Memory of a growing tree. Every leaf has a slot; the larger of two children takes the slot of its parent.

    A price depends on the leaf and the feature but not on the threshold. So even after changes of prices, the best
    split of a leaf is that of the feature with the largest gain minus price, without another scan of histograms.

    Attributes
    ----------
    state : int64 (4,)
        Number of leaves, the next node, and slots of the smaller and of the larger leaf to search.
    gain, best : float64 (leaves, d), int64 (leaves, d, 4 or 8)
        The best split of each leaf on each feature: its gain, or -inf without a split; two sums of words that go left,
        the highest bin that goes left, and whether missing values do; for categories also the set of bins, as bits.
    paid, money : float64 (leaves, items), float64 (leaves, d)
        Weight of a leaf's rows that have paid for each item, and the rows' payments for a split on each feature.
    place : int64 (leaves, 8)
        Node, depth, first row, number of rows, best feature at present prices, whether the leaf may still split, and
        its sums of words.
    numbers : float64 (leaves, 4)
        Least and largest output in units of gradients over hessians, worth of the best split, and weight of the rows.
    tested : bool (leaves, d) or (leaves, 0)
        Features tested on the way to a leaf, for prices of items.
    nodes : int64 (nodes, 10)
        The tree: feature, bin, missing left, left and right child, slot, and the set of bins that go left, as bits; -1
        for feature and children at leaves.
    gained : float64 (nodes,)
        The worth of each split.
    histogram : int64 (leaves, kept, bins, 8, 1) or (leaves, kept, bins, 4, 2)
        Sums of words by group of columns and bin, of the first groups only if those of all would take much more memory
        than the table; the last bin holds missing values.
    rows, price, goes_left : int32 (n,), float64 (d,), bool (256,)
        Scratch.
    board : int64 (64,)
        Of `engine/share.h`, for jobs of several threads.
    parts : int64 (helpers, kept, bins, 8, 1), (helpers, kept, bins, 4, 2) or (0, ...)
        Histograms of a leaf's rows that helpers read.
    """

    state: NDArray[np.int64]
    gain: NDArray[np.float64]
    best: NDArray[np.int64]
    paid: NDArray[np.float64]
    money: NDArray[np.float64]
    place: NDArray[np.int64]
    numbers: NDArray[np.float64]
    tested: NDArray[np.bool_]
    nodes: NDArray[np.int64]
    gained: NDArray[np.float64]
    histogram: NDArray[np.int64]
    rows: NDArray[np.int32]
    price: NDArray[np.float64]
    goes_left: NDArray[np.bool_]
    board: NDArray[np.int64]
    parts: NDArray[np.int64]


_LEAST_KEPT = 2**26  # bytes of histograms for any table
_WIDENED = Room._fields[1 : Room._fields.index("rows")]  # with leaves


def task_for(
    data: BinnedData,
    words: NDArray[np.int64],
    count_bits: int,
    limits: tuple[float, float, float],
    columns: NDArray[np.int64],
    **more: Any,
) -> Task:
    """Return a task of one thread, best first, without prices and signs, unless `more` replaces these.

    Parameters
    ----------
    data : BinnedData
    words, count_bits, limits, columns, more
        As in `Task`; units are ones by default.
    """
    return Task(
        data.bins,
        data.columns,
        words,
        columns,
        data.mapper.n_bins[columns],
        data.mapper.categorical if data.mapper.has_categories else np.zeros(0, np.bool_),
        np.zeros(0, np.int8),
        count_bits,
        np.ones(2),
        np.array(limits, np.float64),
        max_depth=UNLIMITED,
        max_leaves=UNLIMITED,
        breadth=False,
        price_unit=1.0,
        cells_worth_threads=2**62,
        address=data.workers.address,
    )._replace(**more)


def new_room(data: BinnedData, n_words: int, n_items: int, leaves: int) -> Room:
    """Return room for trees of at most `leaves` leaves on the columns of the data; see `widened`."""
    n, d = data.bins.shape
    everyone = data.total_rows  # all workers keep as many histograms
    n_bins = data.mapper.n_bins[data.splittable]
    width, lanes = 1 << int(n_bins.max(initial=1)).bit_length(), LINE // n_words
    kept = min(-(-len(n_bins) // lanes), _most_kept(data, 8 * leaves * width * LINE)) if everyone > FEW_ROWS else 0
    return Room(
        np.zeros(4, np.int64),
        np.empty((leaves, d)),
        np.empty((leaves, d, 8 if data.mapper.has_categories else 4), np.int64),
        np.empty((leaves, n_items)),
        np.empty((leaves, d)),
        np.empty((leaves, 8), np.int64),
        np.empty((leaves, 4)),
        np.empty((leaves, d if n_items else 0), np.bool_),
        np.empty((2 * leaves, 10), np.int64),
        np.empty(2 * leaves),
        np.empty((leaves, kept, width, lanes, n_words), np.int64),
        np.empty(n, np.int32),
        np.empty(d),
        np.empty(256, np.bool_),
        np.zeros(64, np.int64),
        np.empty((0, kept, width, lanes, n_words), np.int64),
    )


def widened(room: Room, data: BinnedData) -> Room:
    """Return a copy with room for twice as many leaves of a tree on these data."""
    kept = min(room.histogram.shape[1], _most_kept(data, 2 * room.histogram[:, :1].nbytes))
    fewer = room._replace(histogram=room.histogram[:, :kept])
    old = ((name, getattr(fewer, name)) for name in _WIDENED)
    return fewer._replace(**{name: np.concatenate([values, np.empty_like(values)]) for name, values in old})


def _most_kept(data: BinnedData, bytes_per_group: int) -> int:
    """Return the most groups whose histograms may be kept: these take half as much as a table of doubles, or few."""
    cells = data.total_rows // data.workers.count * int(data.bins.shape[1])
    return max(_LEAST_KEPT, 4 * cells) // max(bytes_per_group, 1)
