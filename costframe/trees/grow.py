"""Growth of one tree: breadth-first or best-first, at prices.

Gradients become whole numbers with exact sums. Histograms spend their time on loading, adding and storing. So one int64
word holds the gradient of a row, in units of a power of two, above the bits of a count of one; a sum of words adds
gradients and counts at once. With up to 2^20 rows, a gradient of mean size has 21 bits or more, with errors far below
its noise. Sums of whole numbers do not depend on the order of rows, and subtraction gives a sibling's exact histogram.
"""

from __future__ import annotations

from math import frexp, isnan, ldexp
from typing import TYPE_CHECKING, Literal

import numpy as np
from attrs import frozen

from costframe import engine
from costframe.core.errors import DataError
from costframe.core.machine import run_parallel
from costframe.core.workers import ALONE, Workers
from costframe.trees.prices import NoPrices
from costframe.trees.room import (
    LEAVES,
    ROWS_PER_THREAD,
    STOP,
    THREADS,
    UNLIMITED,
    GrownTree,
    finish_tree,
    new_room,
    task_for,
    widened,
)
from costframe.trees.scaling import EXACT_BITS, WORD_BITS, power_of_two

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from costframe.trees.bin_mapper import BinnedData
    from costframe.trees.prices import PriceState, SplitPrices
    from costframe.trees.room import Room, Task

_CELLS_WORTH_THREADS = 60_000  # least work to share, in cells added to a histogram: some 50 us
_CELLS_PER_THREAD = 100_000  # of a tree's table, at least
_CACHED = 2**23  # bytes of bins that stay in a cache; with more, each thread reads separate rows
_ROWS_PER_THREAD = 8192  # at least, if threads share the rows
_LEAVES = 64  # in the first room


def grow_tree(
    data: BinnedData,
    gradients: NDArray[np.floating],
    hessians: NDArray[np.floating] | None = None,
    *,
    counts: NDArray[np.int64] | None = None,
    rows: ArrayLike | None = None,
    features: NDArray[np.bool_] | None = None,
    prices: SplitPrices | None = None,
    signs: NDArray[np.int8] | None = None,
    growth: Literal["breadth", "best"] = "best",
    max_depth: int | None = None,
    max_leaves: int | None = None,
    min_samples_leaf: int = 1,
    min_hessian_leaf: float = 0.0,
    l2: float = 0.0,
    n_threads: int = 1,
) -> GrownTree:
    """Grow one tree.

    A split of leaf p on feature f is worth 1/2 [G_l^2/(H_l+l2) + G_r^2/(H_r+l2) - G_p^2/(H_p+l2)] minus the price of
    (p, f), and must be worth more than 0. Equal splits: the lowest feature, then the lowest bin, then missing right.

    Parameters
    ----------
    data : BinnedData
        Training rows.
    gradients : float64 (n,)
        dloss/dscore of every row, times its weight.
    hessians : float64 (n,), optional
        Second derivative of every row, times its weight; ones by default.
    counts : int64 (n,), optional
        Positive counts of rows for `min_samples_leaf`, ones by default. They require hessians.
    rows : int (m,), optional
        Rows of the tree, each once; all by default.
    features : bool (d,), optional
        Features of splits; all by default.
    prices : SplitPrices, optional
        Prices of splits; free by default.
    signs : int8 (d,), optional
        Features with which outputs must not fall (1) or not rise (-1), if other features are equal and values are not
        missing. No split breaks this, the middle between two children's values is a bound for all nodes below, values
        are clipped to their bounds, and gains are those of the clipped values.
    growth : {"breadth", "best"}
        Level by level, from left to right, at the prices at the leaf's turn; or the leaf with the best split first, the
        oldest of several.
    max_depth : int, optional
        Most comparisons on a path.
    max_leaves : int, optional
        Most leaves.
    min_samples_leaf : int
        Least rows in a leaf.
    min_hessian_leaf : float
        Least sum of hessians in a leaf.
    l2 : float
        Added to every sum of hessians in a denominator.
    n_threads : int
        Does not change the result.

    Raises
    ------
    DataError
        If gradients or hessians or their sums are not finite, or hessians are negative.
    """
    n_rows = len(data.bins)
    g = np.ascontiguousarray(gradients, np.float64)
    h = None if hessians is None else np.ascontiguousarray(hessians, np.float64)
    chosen = np.arange(n_rows, dtype=np.int32) if rows is None else np.sort(np.asarray(rows)).astype(np.int32)
    packed = pack(g, h, counts, workers=data.workers)
    depth, most = (UNLIMITED if limit is None else min(limit, UNLIMITED) for limit in (max_depth, max_leaves))
    exponent = packed.gradient_exponent
    task = task_for(
        data,
        packed.words,
        packed.count_bits,
        (float(l2), float(min_samples_leaf), float(min_hessian_leaf)),
        data.split_columns if features is None else np.flatnonzero(data.splittable & features),
        units=np.array([ldexp(packed.gradient_unit, -exponent), packed.hessian_unit]),  # with finite squares of sums
        price_unit=power_of_two(-2 * exponent),  # a gain is G^2/H, with G in units of the largest possible sum
        max_depth=depth,
        max_leaves=most,
        breadth=growth == "breadth",
        signs=np.zeros(0, np.int8) if signs is None else signs,
        cells_worth_threads=_CELLS_WORTH_THREADS if n_threads > 1 else 2**62,
    )
    paid = (prices or NoPrices()).state()
    key = packed.words.shape[1], len(paid.paid_by_all)
    try:
        room, memory = data.rooms.setdefault(key, []).pop()
    except IndexError:
        room = new_room(data, *key, min(_LEAVES, most))
        memory = engine.Room(*room)
    room, memory = _grow(task, room, memory, chosen, paid, data, n_threads)
    tree = finish_tree(data, room, g, h, chosen, l2, power_of_two(exponent), n_threads)
    data.workers.check()
    data.rooms[key].append((room, memory))
    return tree


def _grow(
    task: Task,
    room: Room,
    memory: engine.Record,
    rows: NDArray[np.int32],
    paid: PriceState,
    data: BinnedData,
    n_threads: int,
) -> tuple[Room, engine.Record]:
    """Let one thread grow a tree, and others assist it; sums of integers do not depend on threads.

    Return the room, which may have become wider, and as the engine reads it.
    """
    n_threads = max(1, min(n_threads, len(rows) * len(task.columns) // _CELLS_PER_THREAD))
    if n_threads == 1:
        task = task._replace(cells_worth_threads=2**62)
    helpers = n_threads - 1 if task.bins.size > _CACHED else 0  # that read separate rows

    given, prices = engine.Task(*task), engine.Prices(*paid)

    def work(number: int) -> int:
        try:
            return int((engine.assist if number else engine.grow)(given, memory, prices, rows))
        finally:
            room.board[STOP] = 1

    room.state[LEAVES] = 0
    while True:
        room.board[:] = 0
        room.board[[ROWS_PER_THREAD, THREADS]] = _ROWS_PER_THREAD, n_threads
        if room.parts.shape[:2] != (helpers, room.histogram.shape[1]):
            room = room._replace(parts=np.empty((helpers, *room.histogram.shape[1:]), np.int64))
        if any(own is not known for own, known in zip(room, memory.arrays, strict=True)):
            memory = engine.Room(*room)
        asked = run_parallel(work, range(n_threads), n_threads)[0]
        if asked == engine.DONE:
            return room, memory
        if asked == engine.MORE_LEAVES:
            room = widened(room, data)


@frozen(eq=False)
class PackedGradients:
    """One or two words per row, and their units."""

    words: NDArray[np.int64]  # (n, 1) or (n, 2): `gradient * 2**count_bits + count`, and the hessian if not all are one
    count_bits: int  # number of low bits of (sums of) first words for the count
    # gradient_unit, hessian_unit: powers of two that turn the integers back into gradients and hessians
    gradient_unit: float
    hessian_unit: float
    gradient_exponent: int  # no sum of gradients exceeds 2**gradient_exponent, which is near the largest possible sum


def pack(
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64] | None,
    counts: NDArray[np.int64] | None = None,
    *,
    workers: Workers = ALONE,
) -> PackedGradients:
    """Round gradients and hessians, float64 (n,), to integers; arguments and errors as for `grow_tree`."""
    n_rows, second = len(gradients), gradients[:0] if hessians is None else hessians
    given = np.zeros(0, np.int64) if counts is None else counts
    count_bits = workers.count_all(n_rows if counts is None else int(counts.sum())).bit_length()
    words, scales = np.empty((n_rows, 1 if hessians is None else 2), np.int64), np.empty(2)
    engine.pack(gradients, second, given, count_bits, workers.address, words, scales)
    workers.check()
    scale, hessian_scale = scales.tolist()
    for name, found in (("gradients", scale), ("hessians", hessian_scale)):
        if isnan(found):
            raise DataError(f"{name}: must be finite and have a finite sum, got NaN or infinity")
    if (second < 0).any():
        raise DataError("hessians: must not be negative")
    exponent = min(EXACT_BITS, WORD_BITS - count_bits) - frexp(scale)[1] + 1
    return PackedGradients(words, count_bits, 1 / scale, 1 / hessian_scale, exponent)
