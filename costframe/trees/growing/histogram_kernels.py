"""Sums of packed gradients per bin.

Training spends most of its time here, and a processor writes about one word per cycle. So one vector adds both words of
a row, one load reads the bins of eight neighboring columns, and rows are prefetched, so that their ways from memory
overlap. Offsets are unsigned: numba then leaves out the test for negative subscripts, and no product of rows and
columns overflows.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["fill_histogram", "subtract"]

_AHEAD = 12  # rows between the prefetch and the sum of a row
_STRIP = 64  # columns whose histograms stay in the second-level cache


def _add_pair(sums: Any, place: Any, first: Any, second: Any) -> None:
    """Add to two neighboring words; in compiled code as one vector."""
    sums[place] += first
    sums[place + np.uint64(1)] += second


def _ask(values: Any, place: Any) -> None:
    """Prefetch a value; without compilation, do nothing."""


def _typed_vector_add(_: Any, sums: Any, place: Any, first: Any, second: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pair, lane = ir.VectorType(ir.IntType(64), 2), ir.IntType(32)
        addend = builder.insert_element(ir.Constant(pair, ir.Undefined), arguments[2], lane(0))
        addend = builder.insert_element(addend, arguments[3], lane(1))
        address = builder.bitcast(_address(context, builder, signature, arguments), pair.as_pointer())
        builder.store(builder.add(builder.load(address, align=8), addend), address, align=8)
        return context.get_dummy_value()

    return types.void(sums, place, first, second), generate


def _typed_prefetch(_: Any, values: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(_address(context, builder, signature, arguments), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(prefetch, [address, number(0), number(3), number(1)])  # data, to be read, and kept
        return context.get_dummy_value()

    return types.void(values, place), generate


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return the address of an array's item, both among the arguments."""
    proxy: Any = cgutils.create_struct_proxy  # numba has no types for it
    return builder.gep(proxy(signature.args[0])(context, builder, arguments[0]).data, [arguments[1]])


_vector_add: Any = intrinsic(_typed_vector_add)
_prefetch: Any = intrinsic(_typed_prefetch)


@overload(_add_pair, strict=False)
def _compiled_add_pair(sums: Any, place: Any, first: Any, second: Any) -> Any:
    del sums, place, first, second  # any types
    return lambda sums, place, first, second: _vector_add(sums, place, first, second)  # noqa: PLW0108 # numba needs one


@overload(_ask, strict=False)
def _compiled_ask(values: Any, place: Any) -> Any:
    del values, place
    return lambda values, place: _prefetch(values, place)  # noqa: PLW0108 # numba needs one


@kernel
def _eight(cells: NDArray[np.uint8], at: np.uint64) -> np.uint64:
    """Return eight bins, the first one lowest; the compiler makes this one load."""
    bins = np.uint64(0)
    for k in range(8):
        bins = bins | (np.uint64(cells[at + np.uint64(k)]) << np.uint64(8 * k))
    return bins


@kernel
def _eights(columns: NDArray[np.int64]) -> np.uint64:
    """Count the leading groups of eight columns without a gap."""
    count = 0
    while count + 8 <= columns.shape[0] and columns[count + 7] == columns[0] + count + 7:
        count += 8
    return np.uint64(count // 8)


@kernel
def _mask(log_size: int) -> np.uint64:
    """Return the bit mask from bins to places; the missing bin, 255, goes to the last."""
    return (np.uint64(1) << np.uint64(log_size)) - np.uint64(1)


@kernel
def _ask_for(
    cells: NDArray[np.uint8],
    width: np.uint64,
    words: NDArray[np.int64],
    words_a_row: np.uint64,
    row: np.uint64,
    columns: NDArray[np.int64],
) -> None:
    """Prefetch a row."""
    _ask(cells, row * width + np.uint64(columns[0]))
    _ask(cells, row * width + np.uint64(columns[-1]))
    _ask(words, row * words_a_row)


@kernel
def _add_words(
    cells: NDArray[np.uint8],
    width: np.uint64,
    words: NDArray[np.int64],
    rows: NDArray[np.int32],
    columns: NDArray[np.int64],
    sums: NDArray[np.int64],
    log_size: int,
) -> None:
    """Add one word per row, two rows at a time; the pair of an odd last row adds zero."""
    n_eights, n_columns = _eights(columns), np.uint64(columns.shape[0])
    first_column = np.uint64(columns[0])
    three, room, byte, one, last = np.uint64(3), np.uint64(log_size), _mask(log_size), np.uint64(1), rows.shape[0] - 1
    for at in range(0, rows.shape[0], 2):
        _ask_for(cells, width, words, one, np.uint64(rows[min(at + _AHEAD, last)]), columns)
        _ask_for(cells, width, words, one, np.uint64(rows[min(at + _AHEAD + 1, last)]), columns)
        row, next_row = np.uint64(rows[at]), np.uint64(rows[min(at + 1, last)])
        word, next_word = words[row], words[next_row] if at < last else np.int64(0)
        begin, next_begin = row * width, next_row * width
        for eighth in range(n_eights):
            k = np.uint64(eighth) << three
            bins, next_bins = _eight(cells, begin + first_column + k), _eight(cells, next_begin + first_column + k)
            for j in range(8):
                shift, base = np.uint64(8 * j), (k + np.uint64(j)) << room
                sums[base + ((bins >> shift) & byte)] += word
                sums[base + ((next_bins >> shift) & byte)] += next_word
        for single in range(n_eights << three, n_columns):
            column, base = np.uint64(columns[single]), np.uint64(single) << room
            sums[base + (np.uint64(cells[begin + column]) & byte)] += word
            sums[base + (np.uint64(cells[next_begin + column]) & byte)] += next_word


@kernel
def _add_pairs(
    cells: NDArray[np.uint8],
    width: np.uint64,
    words: NDArray[np.int64],
    rows: NDArray[np.int32],
    columns: NDArray[np.int64],
    sums: NDArray[np.int64],
    log_size: int,
) -> None:
    """Add two words per row, in the same way."""
    n_eights, n_columns = _eights(columns), np.uint64(columns.shape[0])
    first_column = np.uint64(columns[0])
    three, byte, one, two, room = np.uint64(3), _mask(log_size), np.uint64(1), np.uint64(2), np.uint64(log_size + 1)
    last = rows.shape[0] - 1
    for at in range(0, rows.shape[0], 2):
        _ask_for(cells, width, words, two, np.uint64(rows[min(at + _AHEAD, last)]), columns)
        _ask_for(cells, width, words, two, np.uint64(rows[min(at + _AHEAD + 1, last)]), columns)
        row, next_row = np.uint64(rows[at]), np.uint64(rows[min(at + 1, last)])
        first, second = words[row << one], words[(row << one) + one]
        next_first, next_second = words[next_row << one], words[(next_row << one) + one]
        if at == last:
            next_first, next_second = np.int64(0), np.int64(0)
        begin, next_begin = row * width, next_row * width
        for eighth in range(n_eights):
            k = np.uint64(eighth) << three
            bins, next_bins = _eight(cells, begin + first_column + k), _eight(cells, next_begin + first_column + k)
            for j in range(8):
                shift, base = np.uint64(8 * j), (k + np.uint64(j)) << room
                _add_pair(sums, base + (((bins >> shift) & byte) << one), first, second)
                _add_pair(sums, base + (((next_bins >> shift) & byte) << one), next_first, next_second)
        for single in range(n_eights << three, n_columns):
            column, base = np.uint64(columns[single]), np.uint64(single) << room
            _add_pair(sums, base + ((np.uint64(cells[begin + column]) & byte) << one), first, second)
            _add_pair(sums, base + ((np.uint64(cells[next_begin + column]) & byte) << one), next_first, next_second)


@kernel
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
    histogram : int64 (k, B, 1 or 2)
        Written. B is a power of two, at most 256 and more than any column's bins; the last one is for missing values.
    """
    n_words, log_size = histogram.shape[2], 0
    width, sums = histogram.shape[1] * n_words, histogram.ravel()
    for k in range(columns.shape[0]):
        begin, end = np.uint64(k * width), np.uint64((k + 1) * width)
        for at in range(begin, begin + np.uint64(n_bins[k] * n_words)):
            sums[at] = 0
        for at in range(end - np.uint64(n_words), end):  # the missing bin
            sums[at] = 0
    while 1 << log_size < histogram.shape[1]:
        log_size += 1
    cells, n_features, flat = bins.ravel(), np.uint64(bins.shape[1]), words.ravel()
    for first in range(0, columns.shape[0] if rows.shape[0] > 0 else 0, _STRIP):
        some, part = columns[first : first + _STRIP], sums[first * width : (first + _STRIP) * width]
        if n_words == 1:
            _add_words(cells, n_features, flat, rows, some, part, log_size)
        else:
            _add_pairs(cells, n_features, flat, rows, some, part, log_size)


@kernel
def subtract(histogram: NDArray[np.int64], child: NDArray[np.int64], n_bins: NDArray[np.int64]) -> None:
    """Turn a parent's histogram into that of its other child, in place.

    Parameters
    ----------
    histogram, child : int64 (k, B, 1 or 2)
        Of the parent, written, and of one child.
    n_bins : int64 (k,)
        Used bins, without the missing bin.
    """
    last = histogram.shape[1] - 1
    for k in range(histogram.shape[0]):
        for word in range(histogram.shape[2]):
            for cell in range(n_bins[k]):
                histogram[k, cell, word] -= child[k, cell, word]
            histogram[k, last, word] -= child[k, last, word]
