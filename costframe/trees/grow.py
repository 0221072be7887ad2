"""Growth of one tree: breadth-first or best-first, at prices.

Gradients become whole numbers with exact sums. Histograms spend their time on loading, adding and storing. So one int64
word holds the gradient of a row, in units of a power of two, above the bits of a count of one; a sum of words adds
gradients and counts at once. With up to 2^20 rows, a gradient of mean size has 21 bits or more, with errors far below
its noise. Sums of whole numbers do not depend on the order of rows, and subtraction gives a sibling's exact histogram.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import DataError
from costframe.core.machine import run_parallel
from costframe.trees.bin_mapper import BinnedData
from costframe.trees.prices import NoPrices, SplitPrices
from costframe.trees.room import (
    LEAVES,
    NO_SIGNS,
    ROWS_PER_THREAD,
    STOP,
    THREADS,
    UNLIMITED,
    GrownTree,
    Workplace,
    finish_tree,
    new_room,
    task_for,
    widened,
)

_CELLS_WORTH_THREADS = 60_000  # least work to share, in cells added to a histogram: some 50 us
_CELLS_PER_THREAD = 100_000  # of a tree's table, at least
_CACHED = 2**23  # bytes of bins that stay in a cache; with more, each thread reads separate rows
_ROWS_PER_THREAD = 8192  # at least, if threads share the rows
_LEAVES = 64  # in the first room
_REFUSALS = {
    engine.BAD_GRADIENTS: "gradients: must be finite and have a finite sum, got NaN or infinity",
    engine.BAD_HESSIANS: "hessians: must be finite and have a finite sum, got NaN or infinity",
    engine.NEGATIVE: "hessians: must not be negative",
}


def grow_tree(
    data: BinnedData,
    gradients: NDArray[np.floating],
    hessians: NDArray[np.floating] | None = None,
    *,
    counts: I8 | None = None,
    rows: ArrayLike | None = None,
    features: B1 | None = None,
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
    h = g[:0] if hessians is None else np.ascontiguousarray(hessians, np.float64)
    derived = g, h, np.zeros(0, np.int64) if counts is None else counts
    chosen = np.arange(n_rows, dtype=np.int32) if rows is None else np.sort(np.asarray(rows)).astype(np.int32)
    columns = data.split_columns if features is None else np.flatnonzero(data.splittable & features)
    signs, paid = NO_SIGNS if signs is None else signs, (prices or NoPrices()).record()
    n_threads = max(1, min(n_threads, len(chosen) * len(columns) // _CELLS_PER_THREAD))
    count_bits = data.workers.count_all(n_rows if counts is None else int(counts.sum())).bit_length()
    limits = float(l2), float(min_samples_leaf), float(min_hessian_leaf)
    n_words, n_items = 1 if hessians is None else 2, paid.sizes["items"]
    depth, most = (UNLIMITED if limit is None else min(limit, UNLIMITED) for limit in (max_depth, max_leaves))
    key = count_bits, limits, n_words, n_items, depth, most, growth, n_threads > 1
    try:
        place = data.places.setdefault(key, []).pop()
    except IndexError:
        words, worth = np.empty((n_rows, n_words), np.int64), _CELLS_WORTH_THREADS if n_threads > 1 else 2**62
        shape = {"max_depth": depth, "max_leaves": most, "breadth": growth == "breadth", "cells_worth_threads": worth}
        task = task_for(data, words, count_bits, limits, columns, signs=signs, **shape)
        place = Workplace(task, new_room(data, n_words, n_items, min(_LEAVES, most)))
    if place.task.columns is not columns or place.task.signs is not signs:
        place.set_task(columns=columns, n_bins=data.mapper.n_bins[columns], signs=signs)
    ended = _grow(place, derived, chosen, paid, data, n_threads)
    data.workers.check()
    if ended in _REFUSALS:
        raise DataError(_REFUSALS[ended])
    tree = finish_tree(data, place, paid, (g, h), chosen, n_threads)
    data.workers.check()
    data.places[key].append(place)
    return tree


def _grow(
    place: Workplace,
    derived: tuple[F8, F8, I8],
    rows: NDArray[np.int32],
    prices: engine.Record,
    data: BinnedData,
    n_threads: int,
) -> int:
    """Let one thread grow a tree, and others assist it; sums of integers do not depend on threads.

    Return what the engine says of the gradients, hessians and counts `derived`.
    """
    helpers = n_threads - 1 if data.bins.size > _CACHED else 0  # that read separate rows

    def stop() -> None:
        place.room.board[STOP] = 1  # else those who assist would wait for ever

    def work(number: int) -> int:
        try:
            if number:
                return int(engine.assist(*place.records, prices, rows))
            return int(engine.grow(*place.records, prices, *derived, rows))
        finally:
            stop()

    place.room.state[LEAVES] = 0
    while True:
        histogram = place.room.histogram
        if place.room.parts.shape[:2] != (helpers, histogram.shape[1]):
            place.move(place.room._replace(parts=np.empty((helpers, *histogram.shape[1:]), np.int64)))
        place.room.board[:] = 0
        place.room.board[[ROWS_PER_THREAD, THREADS]] = _ROWS_PER_THREAD, n_threads
        asked = run_parallel(work, range(n_threads), n_threads, stop)[0]
        if asked == engine.MORE_LEAVES:
            place.move(widened(place.room, data))
        elif asked != engine.PAUSE:
            return asked
