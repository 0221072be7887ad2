"""Forward selection, compiled: a pivoted Cholesky factorization in which rows pay for the outputs that it adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    B1 = NDArray[np.bool_]
    F8 = NDArray[np.float64]
    I8 = NDArray[np.int64]
    U8 = NDArray[np.uint64]

__all__ = ["select_forward"]

LEAST = 1e-9  # of an output's variance: an output with less left is a sum of others
TINY = 2.0**-1022  # the least normal number
TILE = 1024  # outputs per pass over the rows of the factor, few enough for the nearest cache
BYTE = np.uint64(255)


@kernel
def _entries_by_output(output: I8, n_outputs: int) -> tuple[I8, I8]:
    """Sort entries by their outputs; return where those of each output begin, (C + 1,), and the entries."""
    first, entries = np.zeros(n_outputs + 1, np.int64), np.empty(output.shape[0], np.int64)
    for entry in range(output.shape[0]):
        first[output[entry] + 1] += 1
    for c in range(n_outputs):
        first[c + 1] += first[c]
    place = first.copy()
    for entry in range(output.shape[0]):
        entries[place[output[entry]]] = entry
        place[output[entry]] += 1
    return first, entries


@kernel
def _choose(left: F8, least: F8, right: F8, offers: F8, closed: B1) -> tuple[int, float, float]:
    """Return the best output, or -1, its gain and its worth; close outputs that have become sums of others."""
    best, worth, best_gain = -1, 0.0, 0.0
    fair, rate, fair_gain = -1, 0.0, 0.0
    for c in range(left.shape[0]):
        if closed[c]:
            continue
        if left[c] <= least[c]:
            closed[c] = True
            continue
        square = 0.0
        for m in range(right.shape[1]):
            square += right[c, m] * right[c, m]
        gain = 0.5 * square / left[c]
        if gain - offers[c] > worth:
            best, worth, best_gain = c, gain - offers[c], gain
        if best < 0 and gain > 0.0 and (fair < 0 or gain / offers[c] > rate):  # costs at least its gain
            fair, rate, fair_gain = c, gain / offers[c], gain
    if best >= 0 or fair < 0:
        return best, best_gain, worth
    return fair, fair_gain, fair_gain - offers[fair]


@kernel
def _fresh_bytes(reads: U8, paid: U8, word: I8, shift: U8, mask: U8) -> int:
    """Pay for one group on the rows of one output; list the bytes with rows that pay now, and return their number."""
    count = 0
    for w in range(reads.shape[0]):
        fresh = reads[w] & ~paid[w]
        if fresh == 0:
            continue
        paid[w] |= fresh
        for byte in range(8):
            part = (fresh >> np.uint64(8 * byte)) & BYTE
            if part != 0:
                word[count], shift[count], mask[count] = w, np.uint64(8 * byte), part
                count += 1
    return count


@kernel
def _buy(
    bought: I8, group: I8, first: I8, output: I8, price: F8, reads: U8, paid: U8, mass: F8, closed: B1, offers: F8
) -> None:
    """Pay for the entries of one output, and lower the offers of the other open outputs."""
    most = 8 * reads.shape[1]
    word, shift, mask = np.empty(most, np.int64), np.empty(most, np.uint64), np.empty(most, np.uint64)
    for b in range(bought.shape[0]):
        g = group[bought[b]]
        if price[g] == 0.0:
            continue
        count = _fresh_bytes(reads[bought[b]], paid[g], word, shift, mask)
        if count == 0:
            continue
        for entry in range(first[g], first[g + 1]):
            if closed[output[entry]]:
                continue
            saved = 0.0
            for k in range(count):
                both = (reads[entry, word[k]] >> shift[k]) & mask[k]
                saved += mass[8 * word[k] + np.int64(shift[k] >> np.uint64(3)), np.int64(both)]
            offers[output[entry]] = max(offers[output[entry]] - price[g] * saved, 0.0)


@kernel
def _next_row(row: F8, factor: F8, known: int, at: int) -> None:
    """Subtract the known rows' part of the factor from row `at` of the Gram matrix."""
    for begin in range(0, row.shape[0], TILE):
        end = min(begin + TILE, row.shape[0])
        part, done = row[begin:end], known - known % 4
        for j in range(0, done, 4):
            a, b, c, d = factor[j, at], factor[j + 1, at], factor[j + 2, at], factor[j + 3, at]
            fa, fb = factor[j, begin:end], factor[j + 1, begin:end]
            fc, fd = factor[j + 2, begin:end], factor[j + 3, begin:end]
            for i in range(end - begin):
                part[i] -= (a * fa[i] + b * fb[i]) + (c * fc[i] + d * fd[i])
        for j in range(done, known):
            a, fa = factor[j, at], factor[j, begin:end]
            for i in range(end - begin):
                part[i] -= a * fa[i]


@kernel
def _add_row(row: F8, at: int, left: F8, right: F8) -> None:
    """Turn a row of the remaining Gram matrix into a row of the factor; update the remaining diagonal and right side.

    Nothing reads its entries for outputs selected before, so it adds no ridge at `at`.
    """
    root = np.sqrt(left[at])
    step = right[at] / root
    for c in range(row.shape[0]):
        row[c] /= root
        left[c] -= row[c] * row[c]
        for m in range(right.shape[1]):
            right[c, m] -= row[c] * step[m]


@kernel
def select_forward(
    gram: F8, right: F8, ridge: float, first: I8, output: I8, price: F8, reads: U8, paid: U8, mass: F8, offers: F8,
    patience: int, support: B1,
) -> None:  # fmt: skip
    """Set `support`, and overwrite `right`, `paid` and `offers`; see `costframe.stagewise.fitting.forward_select`.

    `first` and `output` are the member matrix of the groups, `offers` the cost of each output at the beginning.
    """
    n_outputs = gram.shape[0]
    of_output, entries = _entries_by_output(output, n_outputs)
    group = np.empty(output.shape[0], np.int64)
    for g in range(price.shape[0]):
        group[first[g] : first[g + 1]] = g
    left, closed = np.diag(gram) + ridge, np.zeros(n_outputs, np.bool_)
    least = np.maximum(LEAST * left, TINY)
    factor, order = np.empty((min(n_outputs, 64), n_outputs)), np.empty(n_outputs, np.int64)
    value, best, kept, known = 0.0, 0.0, 0, 0
    while known - kept < patience and known < n_outputs:
        at, gain, worth = _choose(left, least, right, offers, closed)
        if gain <= 0.0:
            break
        if known == factor.shape[0]:
            longer = np.empty((min(2 * known, n_outputs), n_outputs))
            longer[:known] = factor
            factor = longer
        factor[known] = gram[at]
        _next_row(factor[known], factor, known, at)
        _add_row(factor[known], at, left, right)
        closed[at] = True
        bought = entries[of_output[at] : of_output[at + 1]]
        _buy(bought, group, first, output, price, reads, paid, mass, closed, offers)
        order[known], known, value = at, known + 1, value + worth
        if value > best:
            best, kept = value, known
    for k in range(kept):
        support[order[k]] = True
