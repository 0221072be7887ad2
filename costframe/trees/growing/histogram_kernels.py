"""Sums of packed gradients per bin.

Training spends most of its time here. A processor adds to about one place per cycle if the first-level cache holds it,
but at half that speed if only the second-level cache does. So a part of the rows at a time is laid out by groups of
eight columns, and then added to the histograms of one group, or for two words of half a group. One vector adds both
words of a row. Histograms hold the eight words of a group's bin side by side, for vectors that go through the bins of
all its columns. Offsets are unsigned: numba then leaves out the test for negative subscripts, and no product of rows
and columns overflows.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from costframe.core.combine_kernels import address_of
from costframe.core.jit import kernel, kernel_apart
from costframe.trees.growing.room import LINE

__all__ = ["add_pairs", "add_to", "add_up", "add_words", "fill_histogram", "subtract", "used_cells"]
_AHEAD = 16  # rows between the prefetch and the copy of a row
_PART = 512  # rows laid out at a time
_STRIDE = _PART + 8  # of a group; a power of two would crowd the groups into few sets of the cache
_STRIP = 64  # columns laid out at a time


def _add_pair(sums: Any, place: Any, first: Any, second: Any) -> None:
    """Add to two neighboring words; in compiled code as one vector."""
    sums[place] += first
    sums[place + np.uint64(1)] += second


def _ask(values: Any, place: Any) -> None:
    """Prefetch a value; without compilation, do nothing."""


def add_up(cells: Any, n_cells: Any, running: Any) -> None:
    """Write the sums of a group's words, int64 (8 B,), up to each of its first bins; in compiled code as one vector."""
    running[: LINE * n_cells] = cells[: LINE * n_cells].reshape(n_cells, LINE).cumsum(axis=0).ravel()


def _typed_vector_add(_: Any, sums: Any, place: Any, first: Any, second: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pair, lane = ir.VectorType(ir.IntType(64), 2), ir.IntType(32)
        addend = builder.insert_element(ir.Constant(pair, ir.Undefined), arguments[2], lane(0))
        addend = builder.insert_element(addend, arguments[3], lane(1))
        address = builder.bitcast(address_of(context, builder, signature, arguments), pair.as_pointer())
        builder.store(builder.add(builder.load(address, align=8), addend), address, align=8)
        return context.get_dummy_value()

    return types.void(sums, place, first, second), generate


def _typed_prefetch(_: Any, values: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(address_of(context, builder, signature, arguments), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(prefetch, [address, number(0), number(3), number(1)])  # data, to be read, and kept
        return context.get_dummy_value()

    return types.void(values, place), generate


def _typed_vector_sums(_: Any, cells: Any, n_cells: Any, running: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        line, whole = ir.VectorType(ir.IntType(64), LINE), signature.args[1]
        reserve: Any = cgutils.alloca_once_value  # numba has no types for it
        total = reserve(builder, ir.Constant(line, [0] * LINE))
        with cgutils.for_range(builder, arguments[1]) as loop:
            at, places = builder.mul(loop.index, loop.index.type(LINE)), []
            for k in (0, 2):
                address = address_of(context, builder, types.void(signature.args[k], whole), (arguments[k], at))
                places.append(builder.bitcast(address, line.as_pointer()))
            words = builder.add(builder.load(total), builder.load(places[0], align=8))
            builder.store(words, total)
            builder.store(words, places[1], align=8)
        return context.get_dummy_value()

    del n_cells  # an int64
    return types.void(cells, types.int64, running), generate


_vector_add: Any = intrinsic(_typed_vector_add)
_prefetch: Any = intrinsic(_typed_prefetch)
_vector_sums: Any = intrinsic(_typed_vector_sums)


@overload(_add_pair, strict=False)
def _compiled_add_pair(sums: Any, place: Any, first: Any, second: Any) -> Any:
    del sums, place, first, second  # any types
    return lambda sums, place, first, second: _vector_add(sums, place, first, second)  # noqa: PLW0108 # numba needs one


@overload(_ask, strict=False)
def _compiled_ask(values: Any, place: Any) -> Any:
    del values, place
    return lambda values, place: _prefetch(values, place)  # noqa: PLW0108 # numba needs one


@overload(add_up, strict=False)
def _compiled_add_up(cells: Any, n_cells: Any, running: Any) -> Any:
    del cells, n_cells, running
    return lambda cells, n_cells, running: _vector_sums(cells, n_cells, running)  # noqa: PLW0108 # numba needs one


@kernel
def _eight(cells: NDArray[np.uint8], at: np.uint64) -> np.uint64:
    """Return eight bins, the first one lowest; the compiler makes this one load."""
    bins = np.uint64(0)
    for k in range(8):
        bins = bins | (np.uint64(cells[at + np.uint64(k)]) << np.uint64(8 * k))
    return bins


@kernel
def _lay_out(
    cells: NDArray[np.uint8],
    width: np.uint64,
    words: NDArray[np.int64],
    n_words: np.uint64,
    rows: NDArray[np.int32],
    columns: NDArray[np.int64],
    eights: NDArray[np.uint64],
    copied: NDArray[np.int64],
) -> None:
    """Copy the words of some rows, and their bins in groups of eight columns, one word for each row and group."""
    one, last, n_columns = np.uint64(1), rows.shape[0] - 1, columns.shape[0]
    first_column, last_column = np.uint64(columns[0]), np.uint64(columns[-1])
    unbroken, groups = columns[-1] - columns[0] == n_columns - 1, (n_columns + 7) // 8
    last_begin = cells.shape[0] - columns[0] - 8 * groups if unbroken else -1
    for at in range(rows.shape[0]):
        coming, row = np.uint64(rows[min(at + _AHEAD, last)]), np.uint64(rows[at])
        _ask(cells, coming * width + first_column)
        _ask(cells, coming * width + last_column)
        _ask(words, coming * n_words)
        begin = row * width
        if n_words == one:
            copied[at] = words[row]
        else:
            copied[2 * at], copied[2 * at + 1] = words[row << one], words[(row << one) + one]
        whole = groups if np.int64(begin) <= last_begin else n_columns // 8 if unbroken else 0  # with bins of no column
        for group in range(whole):
            eights[np.uint64(group * _STRIDE + at)] = _eight(cells, begin + first_column + np.uint64(8 * group))
        for group in range(whole, groups):
            bins = np.uint64(0)
            for k in range(min(8, n_columns - 8 * group)):
                bins |= np.uint64(cells[begin + np.uint64(columns[8 * group + k])]) << np.uint64(8 * k)
            eights[np.uint64(group * _STRIDE + at)] = bins


@kernel
def add_words(
    eights: NDArray[np.uint64], words: NDArray[np.int64], n_rows: int, n_columns: int, sums: NDArray[np.int64],
    last: np.uint64,
) -> None:  # fmt: skip
    """Add one word per row to the histograms of a group of at most eight columns, whose last bin is `last`."""
    room = np.uint64(3)
    for at in range(np.uint64(n_rows)):
        bins, word = eights[at], words[at]
        if n_columns == 8:
            for j in range(8):
                sums[(((bins >> np.uint64(8 * j)) & last) << room) + np.uint64(j)] += word
        else:
            for k in range(np.uint64(n_columns)):
                sums[(((bins >> (k << room)) & last) << room) + k] += word


@kernel
def add_pairs(
    eights: NDArray[np.uint64], words: NDArray[np.int64], n_rows: int, first: int, n_columns: int,
    sums: NDArray[np.int64], last: np.uint64,
) -> None:  # fmt: skip
    """Add two words per row to the histograms of at most four columns, which begin at the `first` of eight."""
    one, room, begin = np.uint64(1), np.uint64(3), np.uint64(8 * first)
    for at in range(np.uint64(n_rows)):
        bins, word, second = eights[at] >> begin, words[at << one], words[(at << one) + one]
        if n_columns == 4:
            for j in range(4):
                place = (((bins >> np.uint64(8 * j)) & last) << room) + np.uint64(2 * j)
                _add_pair(sums, place, word, second)
        else:
            for k in range(np.uint64(n_columns)):
                _add_pair(sums, (((bins >> (k << room)) & last) << room) + (k << one), word, second)


@kernel
def used_cells(n_bins: NDArray[np.int64], group: int, lanes: int) -> int:
    """Return the largest number of bins of a group's columns."""
    most = 0
    for count in n_bins[group * lanes : (group + 1) * lanes]:
        most = max(most, count)
    return most


@kernel_apart
def fill_histogram(
    bins: NDArray[np.uint8],
    words: NDArray[np.int64],
    rows: NDArray[np.int32],
    columns: NDArray[np.int64],
    n_bins: NDArray[np.int64],
    histogram: NDArray[np.int64],
) -> None:
    """Fill the histogram of some rows, in the used bins.

    Parameters
    ----------
    bins : uint8 (n, d)
        All rows.
    words : int64 (n, 1 or 2)
        Packed gradients of all rows, and hessians if not all are one.
    rows : int32 (m,)
        Rows to add up.
    columns, n_bins : int64 (k,)
        Columns of the histogram, ascending, and their numbers of bins without the missing bin.
    histogram : int64 (groups, B, 8, 1) or (groups, B, 4, 2)
        Written, by groups of eight columns, or of four with two words each. B is a power of two, at most 256 and more
        than any column's bins; the last one is for missing values.
    """
    size, lanes, n_words, sums = histogram.shape[1], histogram.shape[2], histogram.shape[3], histogram.ravel()
    for group in range(histogram.shape[0]):
        begin = LINE * size * group
        sums[begin : begin + LINE * used_cells(n_bins, group, lanes)] = 0
        sums[begin + LINE * (size - 1) : begin + LINE * size] = 0  # the missing bin
    cells, n_features, flat, last = bins.ravel(), np.uint64(bins.shape[1]), words.ravel(), np.uint64(size - 1)
    part_rows = min(_PART, rows.shape[0])
    eights, copied = np.empty(_STRIP // 8 * _STRIDE, np.uint64), np.empty(part_rows * n_words, np.int64)
    for first in range(0, columns.shape[0] if rows.shape[0] > 0 else 0, _STRIP):
        some = columns[first : first + _STRIP]
        for begin_row in range(0, rows.shape[0], _PART):
            part = rows[begin_row : begin_row + _PART]
            _lay_out(cells, n_features, flat, np.uint64(n_words), part, some, eights, copied)
            for at in range(0, some.shape[0], lanes):
                laid, count = eights[at // 8 * _STRIDE :], min(lanes, some.shape[0] - at)
                mine = sums[(first + at) // lanes * size * LINE :]
                if n_words == 1:
                    add_words(laid, copied, part.shape[0], count, mine, last)
                else:
                    add_pairs(laid, copied, part.shape[0], at % 8, count, mine, last)


@kernel_apart
def add_to(histogram: NDArray[np.int64], part: NDArray[np.int64]) -> None:
    """Add the sums of a part of the rows, int64 (groups, B, 8, 1) or (groups, B, 4, 2), to those of another."""
    sums, more = histogram.ravel(), part.ravel()
    for at in range(sums.shape[0]):
        sums[at] += more[at]


@kernel_apart
def subtract(histogram: NDArray[np.int64], child: NDArray[np.int64], n_bins: NDArray[np.int64]) -> None:
    """Turn a parent's histogram into that of its other child, in place.

    Parameters
    ----------
    histogram, child : int64 (groups, B, 8, 1) or (groups, B, 4, 2)
        Of the parent, written, and of one child.
    n_bins : int64 (k,)
        Used bins of the columns, without the missing bin.
    """
    size, sums, less = LINE * histogram.shape[1], histogram.ravel(), child.ravel()
    for group in range(histogram.shape[0]):
        begin, end = np.uint64(size * group), np.uint64(size * (group + 1))
        for at in range(begin, begin + np.uint64(LINE * used_cells(n_bins, group, histogram.shape[2]))):
            sums[at] -= less[at]
        for at in range(end - np.uint64(LINE), end):  # the missing bin
            sums[at] -= less[at]
