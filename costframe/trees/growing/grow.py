"""Growing one tree: breadth-first or best-first, at prices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from costframe.core.errors import DataError, ParameterError
from costframe.core.threads import run_parallel
from costframe.trees.binning.scaling import power_of_two
from costframe.trees.growing.finish import GrownTree, finish_tree
from costframe.trees.growing.packing import pack
from costframe.trees.growing.prices import NoPrices
from costframe.trees.growing.room import UNLIMITED, room_for, task_for, widened

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.growing.prices import PriceState, SplitPrices
    from costframe.trees.growing.room import Room, Task

__all__ = ["GrownTree", "grow_tree"]

_CELLS_WORTH_THREADS = 400_000  # what two threads must save to pay for waking the second
_CACHED = 2**23  # bytes of bins that stay in a cache; beyond it, each thread had better read rows of its own
_ROWS_PER_THREAD = 8192  # at least, where threads share the rows
_COLUMNS_PER_BLOCK = 64  # histograms of so many columns stay in the second-level cache


def grow_tree(
    data: BinnedData,
    gradients: NDArray[np.floating],
    hessians: NDArray[np.floating] | None = None,
    *,
    counts: NDArray[np.int64] | None = None,
    rows: ArrayLike | None = None,
    features: ArrayLike | None = None,
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

    A split of leaf p on feature f is worth 1/2 [G_l^2/(H_l+l2) + G_r^2/(H_r+l2) - G_p^2/(H_p+l2)] less the price of
    (p, f), and is made if that is positive. Equal splits: the lowest feature, then the lowest bin, then missing right.

    Parameters
    ----------
    data : BinnedData
        Training rows.
    gradients : float64 (n,)
        dloss/dscore of every row, times its weight.
    hessians : float64 (n,), optional
        Second derivative of every row, times its weight; one each if not given.
    counts : int64 (n,), optional
        How many rows each row is for `min_samples_leaf`, positive; one if not given. If given, hessians must be too.
    rows : int (m,), optional
        Rows to grow the tree on, none twice; all by default.
    features : bool (d,), optional
        Features that may be split on; all by default.
    prices : SplitPrices, optional
        What splits cost; nothing by default.
    signs : int8 (d,), optional
        Features with which outputs must not fall (1) or not rise (-1), other features being equal and missing values
        apart. Splits that break this are not made, the middle between two children's values is a bound for all that
        grows below them, values are clipped to their bounds, and gains are those of the clipped values.
    growth : {"breadth", "best"}
        Level by level, from left to right, at the prices current when a leaf's turn comes; or always the leaf whose
        split is worth most, the oldest of several.
    max_depth : int, optional
        Comparisons on a path, at most.
    max_leaves : int, optional
        Leaves, at most.
    min_samples_leaf : int
        Rows in a leaf, at least.
    min_hessian_leaf : float
        Sum of hessians in a leaf, at least.
    l2 : float
        Added to every sum of hessians that divides.
    n_threads : int
        Does not change the result.

    Raises
    ------
    DataError
        If arrays do not fit the data, or gradients are not finite or hessians negative.
    ParameterError
        If a setting is out of its range.
    """
    _check_settings(growth, max_depth, max_leaves, min_samples_leaf, min_hessian_leaf, l2)
    n_rows, n_features = data.bins.shape
    g = _per_row("gradients", gradients, n_rows)
    h = None if hessians is None else _per_row("hessians", hessians, n_rows)
    chosen = np.arange(n_rows, dtype=np.int32) if rows is None else _chosen_rows(rows, n_rows)
    packed = pack(g, h, counts, n_threads=n_threads)
    allowed = data.splittable if features is None else data.splittable & _chosen_features(features, n_features)
    depth, most = (UNLIMITED if limit is None else min(limit, UNLIMITED) for limit in (max_depth, max_leaves))
    limits = float(l2), float(min_samples_leaf), float(min_hessian_leaf)
    exponent = packed.gradient_exponent
    task = task_for(data, packed.words, packed.count_bits, limits, most, np.flatnonzero(allowed))._replace(
        units=np.array([np.ldexp(packed.gradient_unit, -exponent), packed.hessian_unit]),  # squares of sums are doubles
        price_unit=power_of_two(-2 * exponent),  # a gain is G^2/H, with G in units of the largest possible sum
        max_depth=depth,
        breadth=growth == "breadth",
        cells_worth_threads=_CELLS_WORTH_THREADS if n_threads > 1 else 2**62,
    )
    if signs is not None:
        task = task._replace(signs=signs)
    paid = (prices or NoPrices()).state()
    key = packed.words.shape[1], len(paid.paid_by_all)
    room = _grow(task, room_for(data, *key, most), chosen, paid, n_threads)
    tree = finish_tree(data, room, g, h, chosen, l2, power_of_two(exponent), everyone=rows is None, n_threads=n_threads)
    data.rooms[key].append(room)
    return tree


def _grow(task: Task, room: Room, rows: NDArray[np.int32], paid: PriceState, n_threads: int) -> Room:
    """Let the kernel grow a tree, and do what it asks for meanwhile."""
    from costframe.trees.growing.grow_kernels import MORE_HISTOGRAMS, MORE_LEAVES, SEARCH, grow

    room.state[0] = 0  # no leaves yet
    while asked := grow(task, room, rows, paid):
        if asked == SEARCH:
            _search(task, room, rows, n_threads)
        elif asked in {MORE_LEAVES, MORE_HISTOGRAMS}:
            room = widened(room, histograms=asked == MORE_HISTOGRAMS)
    return room


def _search(task: Task, room: Room, rows: NDArray[np.int32], n_threads: int) -> None:
    """Search the leaves that wait for it, each thread some columns; sums of integers come out the same."""
    from costframe.trees.growing.grow_kernels import search_columns
    from costframe.trees.growing.histogram_kernels import add_rows

    begin, count = room.place[room.state[2], 2:4]
    mine, added = rows[begin : begin + count], room.histogram[0, :0]
    if count >= n_threads * _ROWS_PER_THREAD and task.bins.size > _CACHED:  # threads share the rows first

        def add_part(part: NDArray[np.int32]) -> NDArray[np.int64]:
            histogram = np.empty((len(task.columns), *room.histogram.shape[2:]), np.int64)
            for at in range(0, len(task.columns), _COLUMNS_PER_BLOCK):
                here = slice(at, at + _COLUMNS_PER_BLOCK)
                add_rows(task.bins, task.words, part, task.columns[here], histogram[here])
            return histogram

        parts = run_parallel(add_part, np.array_split(mine, n_threads), n_threads)
        added = parts[0]
        for part in parts[1:]:
            added += part
    edges = _edges(len(task.columns), n_threads)

    def search(block: int) -> None:
        search_columns(task, room, rows, edges[block], edges[block + 1], added)

    run_parallel(search, range(len(edges) - 1), n_threads)


def _edges(n_columns: int, n_threads: int) -> list[int]:
    """Cut columns into a multiple of `n_threads` blocks of similar size; eight neighbors are quicker together."""
    rounds = -(-n_columns // (_COLUMNS_PER_BLOCK * n_threads))
    edges = np.linspace(0, n_columns, min(rounds * n_threads, -(-n_columns // 8)) + 1)
    edges[1:-1] = 8 * np.round(edges[1:-1] / 8)
    return [int(edge) for edge in edges]


def _check_settings(
    growth: str,
    max_depth: int | None,
    max_leaves: int | None,
    min_samples_leaf: int,
    min_hessian_leaf: float,
    l2: float,
) -> None:
    if growth not in {"breadth", "best"}:
        raise ParameterError(f"growth: must be 'breadth' or 'best', got {growth!r}")
    for name, limit in (("max_depth", max_depth), ("max_leaves", max_leaves), ("min_samples_leaf", min_samples_leaf)):
        if limit is not None and limit < 1:
            raise ParameterError(f"{name}: must be at least 1, got {limit!r}")
    for name, amount in (("min_hessian_leaf", min_hessian_leaf), ("l2", l2)):
        if not 0 <= amount < np.inf:
            raise ParameterError(f"{name}: must be finite and not negative, got {amount!r}")


def _per_row(name: str, values: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    array = np.ascontiguousarray(values, np.float64)
    if array.shape != (n_rows,):
        raise DataError(f"{name}: must have shape ({n_rows},), one entry a row, got {array.shape}")
    return array


def _chosen_rows(rows: ArrayLike, n_rows: int) -> NDArray[np.int32]:
    chosen = np.sort(np.asarray(rows))
    if chosen.ndim != 1 or not len(chosen) or chosen.dtype.kind not in "iu":
        raise DataError(
            f"rows: must be a vector of at least one row number, got {chosen.dtype} of shape {chosen.shape}"
        )
    if chosen[0] < 0 or chosen[-1] >= n_rows or (chosen[1:] == chosen[:-1]).any():
        raise DataError(f"rows: must be different numbers from 0 to {n_rows - 1}")
    return chosen.astype(np.int32)


def _chosen_features(features: ArrayLike, n_features: int) -> NDArray[np.bool_]:
    chosen = np.asarray(features)
    if chosen.shape != (n_features,) or chosen.dtype != np.bool_:
        raise DataError(f"features: must be bool of shape ({n_features},), got {chosen.dtype} of shape {chosen.shape}")
    return chosen
