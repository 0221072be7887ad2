"""The grower's task, its memory, the room, which the next tree uses again, and the finished tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8, U8
from costframe.core.learners.bits import bits_of
from costframe.core.learners.tree_table import TreeTable
from costframe.core.machine import run_parallel
from costframe.trees.bin_mapper import BinnedData

UNLIMITED = 2**31
NO_SIGNS = np.zeros(0, np.int8)
# Rows of a leaf whose histograms are as quickly filled anew as read from memory; and words of a bin in the histograms
# of a group of columns, as many as in a line of a cache.
FEW_ROWS, LINE = engine.constants("few_rows", "line_words")
# Places in arrays that the engine knows as records: of `Room.state`, `Room.nodes` and `Room.board`.
LEAVES, NODE_SET = engine.constants("State.leaves", "Node.left_bins")
STOP, ROWS_PER_THREAD, THREADS = engine.constants("Board.stop", "Board.rows_per_thread", "Board.threads")
_LEAST_KEPT = 2**26  # bytes of histograms for any table
_ROWS_PER_PART = 16_384


class Task(NamedTuple):
    """The tree to grow."""

    bins: U8  # (n, d)
    by_column: U8  # (d, n): the same
    words: I8  # (n, 1 or 2): packed gradients, and hessians if not all are one
    columns: I8  # (k,): of splits, ascending
    n_bins: I8  # (k,): of these, without the missing bin
    categorical: B1  # (d,): features whose bins are categories; (0,) if there are none
    # (d,): 1 if outputs must not fall, -1 if they must not rise; (0,) without constraints
    signs: NDArray[np.int8]
    count_bits: int  # low bits of (sums of) first words that count rows
    units: F8  # (3,): units of gradients and of hessians, see `TreeUnits`, which the engine sets
    limits: F8  # (3,): l2, and the least rows and hessian of a leaf
    max_depth: int  # comparisons on a path
    max_leaves: int
    breadth: bool  # whether to split leaves level by level, or else best first
    cells_worth_threads: int  # least work for several threads, in cells added to a histogram
    # of the function that combines with other workers (`Workers.address`), 0 for a worker alone. Limits and sums are of
    # the rows of all.
    address: int


class Room(NamedTuple):
    """Memory of a growing tree. Every leaf has a slot; the larger of two children takes the slot of its parent.

    A price depends on the leaf and the feature but not on the threshold. So even after changes of prices, the best
    split of a leaf is that of the feature with the largest gain minus price, without another scan of histograms.
    """

    # (4,): number of leaves, the next node, and slots of the smaller and of the larger leaf to search
    state: I8
    # gain (leaves, d), best (leaves, d, 4 or 8): the best split of each leaf on each feature: its gain, or -inf
    # without a split; two sums of words that go left, the highest bin that goes left, and whether missing values do;
    # for categories also the set of bins, as bits
    gain: F8
    best: I8
    # paid (leaves, items), money (leaves, d): weight of a leaf's rows that have paid for each item, and the rows'
    # payments for a split on each feature
    paid: F8
    money: F8
    # (leaves, 8): node, depth, first row, number of rows, best feature at present prices, whether the leaf may still
    # split, and its sums of words
    place: I8
    # (leaves, 4): least and largest output in units of gradients over hessians, worth of the best split, and weight of
    # the rows
    numbers: F8
    tested: B1  # (leaves, d) or (leaves, 0): features tested on the way to a leaf, for prices of items
    # (nodes, 10): the tree: feature, bin, missing left, left and right child, slot, and the set of bins that go left,
    # as bits; -1 for feature and children at leaves
    nodes: I8
    gained: F8  # (nodes,): the worth of each split
    # (leaves, kept, bins, 8, 1) or (leaves, kept, bins, 4, 2): sums of words by group of columns and bin, of the first
    # groups only if those of all would take much more memory than the table; the last bin holds missing values
    histogram: I8
    rows: NDArray[np.int32]  # (n,): scratch, as the next two
    price: F8  # (d,)
    goes_left: B1  # (256,)
    board: I8  # (64,): of `engine/share.h`, for jobs of several threads
    # (helpers, kept, bins, 8, 1), (helpers, kept, bins, 4, 2) or (0, ...): histograms of rows that helpers read
    parts: I8


# Stands below its class.
_WIDENED = Room._fields[1 : Room._fields.index("rows")]  # with leaves


def task_for(
    data: BinnedData, words: I8, count_bits: int, limits: tuple[float, float, float], columns: I8, **more: Any
) -> Task:
    """Return a task of one thread, best first, without signs; `more` may replace these."""
    return Task(
        data.bins,
        data.columns,
        words,
        columns,
        data.mapper.n_bins[columns],
        data.mapper.categorical if data.mapper.has_categories else np.zeros(0, np.bool_),
        NO_SIGNS,
        count_bits,
        np.zeros(3),
        np.array(limits, np.float64),
        max_depth=UNLIMITED,
        max_leaves=UNLIMITED,
        breadth=False,
        cells_worth_threads=2**62,
        address=data.workers.address,
    )._replace(**more)


def new_room(data: BinnedData, n_words: int, n_items: int, leaves: int) -> Room:
    """Return room for trees of at most `leaves` leaves on the columns of the data; see `widened`."""
    n, d = data.bins.shape
    everyone = data.total_rows  # all workers keep as many histograms
    n_bins = data.mapper.n_bins[data.splittable]
    width, lanes = 1 << int(n_bins.max(initial=1)).bit_length(), LINE // n_words
    n_stored = min(-(-len(n_bins) // lanes), _most_kept(data, 8 * leaves * width * LINE)) if everyone > FEW_ROWS else 0
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
        np.empty((leaves, n_stored, width, lanes, n_words), np.int64),
        np.empty(n, np.int32),
        np.empty(d),
        np.empty(256, np.bool_),
        np.zeros(64, np.int64),
        np.empty((0, n_stored, width, lanes, n_words), np.int64),
    )


@attrs.define(eq=False)
class Workplace:
    """A task of trees that differ in gradients, and the memory to grow them; `records` are both for the engine."""

    task: Task
    room: Room
    records: tuple[engine.Record, engine.Record] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.records = engine.Task(*self.task), engine.Room(*self.room)

    def set_task(self, **changed: Any) -> None:
        """Change some fields of the task."""
        self.task = self.task._replace(**changed)
        self.records = engine.Task(*self.task), self.records[1]

    def move(self, room: Room) -> None:
        """Take another room."""
        self.room, self.records = room, (self.records[0], engine.Room(*room))


def widened(room: Room, data: BinnedData) -> Room:
    """Return a copy with room for twice as many leaves of a tree on these data."""
    n_stored = min(room.histogram.shape[1], _most_kept(data, 2 * room.histogram[:, :1].nbytes))
    fewer = room._replace(histogram=room.histogram[:, :n_stored])
    old = ((name, getattr(fewer, name)) for name in _WIDENED)
    return fewer._replace(**{name: np.concatenate([values, np.empty_like(values)]) for name, values in old})


def _most_kept(data: BinnedData, bytes_per_group: int) -> int:
    """Return the most groups whose histograms may be kept: these take half as much as a table of doubles, or few."""
    cells = data.total_rows // data.workers.count * int(data.bins.shape[1])
    return max(_LEAST_KEPT, 4 * cells) // max(bytes_per_group, 1)


@attrs.frozen(eq=False)
class GrownTree:
    """One tree of one output."""

    table: TreeTable
    outputs: F8  # (nodes,): -G/(H+l2) of the training rows at leaves; 0 at inner nodes
    leaf_of_row: NDArray[np.int32]  # (n,): the leaf of each training row, also of rows outside the subsample

    @property
    def n_leaves(self) -> int:
        """Number of leaves; 1 for a constant tree."""
        return (len(self.outputs) + 1) // 2

    def add_to(self, scores: F8, step: float = 1.0) -> None:
        """Add `step` times the tree's output to the score of every training row, float64 (n,), in place."""
        scores += (step * self.outputs)[self.leaf_of_row]


def finish_tree(
    data: BinnedData,
    place: Workplace,
    prices: engine.Record,
    derived: tuple[F8, F8],
    rows: NDArray[np.int32],
    n_threads: int,
) -> GrownTree:
    """Make a tree from the grower's memory, with outputs of the exact gradients and hessians, (n,), none for ones.

    Splits are those of the packed ones. `rows`, int32 (m,), are the rows of the tree, as growth has permuted them.
    """
    n_nodes, mapper, n = 2 * int(place.room.state[LEAVES]) - 1, data.mapper, data.n_rows
    nodes, leaf_of_row, cuts = place.room.nodes[:n_nodes], np.empty(n, np.int32), mapper.cuts
    feature, left, right = (np.empty(n_nodes, np.int32) for _ in range(3))
    threshold, missing_left, outputs = np.empty(n_nodes), np.empty(n_nodes, np.bool_), np.empty(n_nodes)
    shape = feature, threshold, missing_left, left, right
    engine.finish_tree(*place.records, prices, *derived, rows, cuts.first, cuts.cut, leaf_of_row, *shape, outputs)
    categories = {}
    by_category = mapper.has_categories and (feature >= 0) & mapper.categorical[np.maximum(feature, 0)]
    for node in np.flatnonzero(by_category).tolist():
        goes_left, threshold[node] = bits_of(nodes[node : node + 1, NODE_SET:].view(np.uint64), 256)[0], np.nan
        known = mapper.thresholds[feature[node]]  # lists those that go the other way than missing values
        categories[node] = known[goes_left[: len(known)] != missing_left[node]]
    if len(rows) < n:

        def route(first: int) -> None:
            part = slice(first, first + _ROWS_PER_PART)
            engine.route_rows(data.bins[part], nodes, leaf_of_row[part])

        run_parallel(route, range(0, n, _ROWS_PER_PART), n_threads)
    return GrownTree(TreeTable.single(*shape, outputs, categories, grown=True), outputs, leaf_of_row)
