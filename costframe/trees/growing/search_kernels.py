"""The search of new leaves for splits, their payments, and the division of a leaf's rows: jobs that threads share.

Several workers add up their histograms, and then all search the same sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.combine_kernels import sum_both_over_workers, sum_doubles_over_workers, sum_over_workers
from costframe.core.jit import kernel, kernel_apart
from costframe.trees.growing import room as at
from costframe.trees.growing.histogram_kernels import add_to, fill_histogram, subtract
from costframe.trees.growing.price_kernels import count_account, mark_rows, range_prices, settle_account
from costframe.trees.growing.row_kernels import divide_rows, join_rows
from costframe.trees.growing.share_kernels import (
    COUNTS,
    FIRST_PARAMETER,
    JOB,
    draw_part,
    end_part,
    has_stopped,
    post,
    rest,
    wait_for_parts,
)
from costframe.trees.growing.split_kernels import find_splits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.growing.prices import PriceState
    from costframe.trees.growing.room import Room, Task

__all__ = ["assist", "divide_leaf", "search_leaves"]

_STRIP = 64  # columns whose histograms stay in the second-level cache
_CELLS_PER_BIN = 8  # scanning a bin takes about as long as adding this many cells
_CELLS_PER_ROW = 4  # dividing a row, too
_MANY_COLUMNS = 1024  # with at least so many, it looks for those that may be the best at present prices
_BLOCKS_PER_THREAD = 8  # fewer blocks may end unevenly, more repeat the reading of rows
_DIVIDE, _FILL, _SEARCH = range(3)  # jobs
_IN_PARTS, _WHOLE = 1, 2  # states of the smaller leaf's histogram, after 0
_SLOT, _OWED, _ACCOUNTS, _BLOCKS, _FILLED = range(FIRST_PARAMETER, FIRST_PARAMETER + 5)  # their parameters


@kernel
def _range_prices(task: Task, room: Room, p: PriceState, first: int, last: int) -> NDArray[np.float64]:
    """Return prices of columns from `first` to `last` for the waiting leaves, or none if there are few columns."""
    prices = np.empty((2, 2, last - first if task.columns.shape[0] >= _MANY_COLUMNS else 0))
    for k, slot in enumerate((room.state[at.SMALL], room.state[at.LARGE])):
        if prices.shape[2] > 0 and slot >= 0:
            range_prices(p, room.money[slot], task.columns[first:last], task.price_unit, prices[k])
    return prices


@kernel
def _add_parts(room: Room, sums: NDArray[np.int64], first: int, last: int) -> None:
    """Add what helpers have filled to the sums of groups of columns from `first` to `last`."""
    for part in range(room.parts.shape[0]):
        add_to(sums, room.parts[part, first:last])


@kernel
def _search_columns(
    task: Task, room: Room, rows: NDArray[np.int32], p: PriceState, first: int, last: int, filled: int
) -> None:
    """Search the waiting leaves on columns from `first` to `last`, by place.

    A histogram that the room does not keep, as those of leaves of few rows, is filled for both leaves, and overwritten
    by that of the next columns. The sums of the smaller leaf may be there, `filled` whole or in parts.
    """
    small, large, lanes = room.state[at.SMALL], room.state[at.LARGE], room.histogram.shape[3]
    kept = room.histogram.shape[1] * lanes
    n_rows = room.place[small, at.COUNT] + (room.place[large, at.COUNT] if large >= 0 else 0)
    if n_rows <= at.FEW_ROWS and task.address == 0:
        kept = 0
    size = (min(_STRIP, last - first) + lanes - 1) // lanes if last > kept else 0
    scratch = np.empty((size, room.histogram.shape[2], lanes, room.histogram.shape[4]), np.int64)
    begin, worth, prices = first, np.zeros((2, 1)), _range_prices(task, room, p, first, last)
    while begin < last:
        end = min(begin + _STRIP, last if begin >= kept else min(last, kept))
        columns, n_bins = task.columns[begin:end], task.n_bins[begin:end]
        group, end_group = begin // lanes, (end + lanes - 1) // lanes
        for k, slot in enumerate((small, large)):
            if slot < 0 or (slot == large and room.place[slot, at.OPEN] == 0):
                continue
            place = room.place[slot]
            mine = room.histogram[slot, group:end_group] if begin < kept else scratch[: end_group - group]
            if begin < kept and slot == large:
                subtract(mine, room.histogram[small, group:end_group], n_bins)
            elif filled == _IN_PARTS:
                _add_parts(room, mine, group, end_group)
            elif filled == 0 and (begin < kept or place[at.OPEN] == 1):
                own = rows[place[at.BEGIN] : place[at.BEGIN] + place[at.COUNT]]
                fill_histogram(task.bins, task.words, own, columns, n_bins, mine)
                sum_over_workers(task.address, mine.ravel())
            if place[at.OPEN] == 1:
                find_splits(
                    mine, n_bins, columns, task.categorical, place[at.SUMS :], task.count_bits, task.units, task.limits,
                    task.signs, room.numbers[slot], prices[k, :, begin - first : end - first], worth[k],
                    room.gain[slot], room.best[slot],
                )  # fmt: skip
        begin = end


@kernel
def _edge(n_columns: int, n_blocks: int, block: int) -> int:
    """Return the first column of a block; eight neighbors together are quicker."""
    return n_columns if block == n_blocks else 8 * ((n_columns + 7) // 8 * block // n_blocks)


@kernel
def _count_waiting(room: Room, rows: NDArray[np.int32], p: PriceState) -> NDArray[np.float64]:
    """Count what the rows of two waiting leaves have paid; see `count_account`."""
    small, large = room.state[at.SMALL], room.state[at.LARGE]
    begin, beside = room.place[small, at.BEGIN], room.place[large, at.BEGIN]
    own, rest_ = rows[begin : begin + room.place[small, at.COUNT]], rows[beside : beside + room.place[large, at.COUNT]]
    return count_account(p, room, large, own, rest_)


@kernel
def _combine_waiting(room: Room, p: PriceState, address: int, n_parts: int, counted: NDArray[np.float64]) -> None:
    """Add up the histogram of the smaller leaf, and its account, of all workers by one combination."""
    small = room.state[at.SMALL]
    if n_parts > 1:
        _add_parts(room, room.histogram[small], 0, room.histogram.shape[1])
    sum_both_over_workers(address, room.histogram[small].ravel(), counted, p.unit)
    if counted.shape[0] > 0:
        settle_account(p, room, small, room.state[at.LARGE], counted)


@kernel_apart
def _do_part(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState, part: int) -> None:
    """Do one part of the job on the board."""
    board, n_columns = room.board, task.columns.shape[0]
    job, searching = board[JOB], board[JOB] == _SEARCH
    slot = board[_SLOT] if job == _DIVIDE else room.state[at.SMALL]
    begin, count = room.place[slot, at.BEGIN], room.place[slot, at.COUNT]
    if searching and part < board[_ACCOUNTS]:
        counted = _count_waiting(room, rows, p)
        sum_doubles_over_workers(p.address, counted)
        settle_account(p, room, slot, room.state[at.LARGE], counted)
    elif searching:
        block, n_blocks = part - board[_ACCOUNTS], board[_BLOCKS]
        first, last = _edge(n_columns, n_blocks, block), _edge(n_columns, n_blocks, block + 1)
        _search_columns(task, room, rows, p, first, last, board[_FILLED])
    else:
        first, last = begin + count * part // board[_BLOCKS], begin + count * (part + 1) // board[_BLOCKS]
        mine = rows[first:last]
        if job == _FILL:
            sums = room.histogram[slot] if part == 0 else room.parts[part - 1]
            fill_histogram(task.bins, task.words, mine, task.columns, task.n_bins, sums)
        else:
            if board[_OWED] == 1:
                mark_rows(p, mine, room.place[slot, at.FEATURE])
            column = task.by_column[room.place[slot, at.FEATURE]]
            board[COUNTS + part] = divide_rows(column, room.goes_left, mine, room.rows[first:last])


@kernel
def assist(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState) -> None:
    """Do parts of the jobs of a thread that grows a tree, until it stops."""
    spins = 0
    while not has_stopped(room.board):
        part = draw_part(room.board)
        if part < 0:
            spins = rest(spins)
        else:
            _do_part(task, room, rows, p, part)
            end_part(room.board)
            spins = 0


@kernel_apart
def _share(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState, job: int, parts: int) -> bool:
    """Do a job with any helpers; return False if one of them failed."""
    post(room.board, job, parts)
    part = draw_part(room.board)
    while part >= 0:
        _do_part(task, room, rows, p, part)
        end_part(room.board)
        part = draw_part(room.board)
    return wait_for_parts(room.board, parts)


@kernel
def search_leaves(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState, accounts: bool) -> bool:
    """Search the waiting leaves on all columns, and open their accounts if asked; return False if a helper failed."""
    small, large, n_columns, board = room.state[at.SMALL], room.state[at.LARGE], task.columns.shape[0], room.board
    count = room.place[small, at.COUNT]
    scanned = room.place[small, at.OPEN] + (room.place[large, at.OPEN] if large >= 0 else 0)
    shared = (count + 256 * _CELLS_PER_BIN * scanned) * n_columns > task.cells_worth_threads
    board[_ACCOUNTS], board[_FILLED], board[JOB], board[_BLOCKS] = int(accounts), 0, _SEARCH, 1
    together, all_kept = task.address != 0, room.histogram.shape[1] * room.histogram.shape[3] >= n_columns
    counted = np.empty(0)
    if accounts and (n_columns >= _MANY_COLUMNS or together):  # the search looks at prices; combination has an order
        if together and all_kept:
            counted = _count_waiting(room, rows, p)
        else:
            _do_part(task, room, rows, p, 0)
        accounts = False
        board[_ACCOUNTS] = 0
    n_threads, n_parts = board[at.THREADS], 1
    if count >= n_threads * board[at.ROWS_PER_THREAD] and shared and all_kept:
        n_parts += room.parts.shape[0]
    if n_parts > 1 or (together and all_kept):
        board[_BLOCKS], board[_FILLED] = n_parts, _IN_PARTS
        if not _share(task, room, rows, p, _FILL, n_parts):
            return False
    if together and all_kept:
        _combine_waiting(room, p, task.address, n_parts, counted)
        board[_FILLED] = _WHOLE
    board[JOB], board[_BLOCKS] = _SEARCH, 1
    if not shared or (together and not all_kept):
        for part in range(1 + int(accounts)):
            _do_part(task, room, rows, p, part)
        return True
    blocks = n_threads * min((n_columns + _STRIP * n_threads - 1) // (_STRIP * n_threads), _BLOCKS_PER_THREAD)
    board[_BLOCKS] = min(blocks, (n_columns + 7) // 8)
    return _share(task, room, rows, p, _SEARCH, board[_BLOCKS] + int(accounts))


@kernel
def divide_leaf(task: Task, room: Room, rows: NDArray[np.int32], p: PriceState, slot: int, owed: bool) -> int:
    """Order a leaf's rows by their side, and mark them if they owe for the feature; return how many go left, or -1.

    It returns -1 if a helper failed.
    """
    board, begin, count = room.board, room.place[slot, at.BEGIN], room.place[slot, at.COUNT]
    board[JOB], board[_SLOT], board[_OWED], board[_BLOCKS] = _DIVIDE, slot, int(owed), 1
    if count * _CELLS_PER_ROW <= task.cells_worth_threads:
        _do_part(task, room, rows, p, 0)
    else:
        board[_BLOCKS] = min(2 * board[at.THREADS], board.shape[0] - COUNTS)
        if not _share(task, room, rows, p, _DIVIDE, board[_BLOCKS]):
            return -1
    parts = board[COUNTS : COUNTS + board[_BLOCKS]]
    return join_rows(rows[begin : begin + count], room.rows[begin : begin + count], parts)
