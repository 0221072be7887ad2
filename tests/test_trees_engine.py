"""Histograms, splits, packed sums, marks and prices of the engine, against their twins; whole trees reach the rest."""

from typing import NamedTuple

import naive_trees as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costframe import engine
from costframe.core.learners.bits import bits_of
from costframe.trees import OncePrices
from costframe.trees.room import Task

pytestmark = pytest.mark.engine

rng_seeds = st.integers(0, 2**32 - 1)


class Packed(NamedTuple):
    """Words of rows, the number of bits of counts, and the units of gradients and hessians."""

    words: np.ndarray
    count_bits: int
    gradient_unit: float
    hessian_unit: float


def pack(g, h=None):
    words, scales = np.empty((len(g), 1 if h is None else 2), np.int64), np.empty(2)
    engine.pack(g, g[:0] if h is None else h, np.zeros(0, np.int64), len(g).bit_length(), 0, words, scales)
    return Packed(words, len(g).bit_length(), *(1 / scales).tolist())


def draw_rows(rng, n):
    return np.flatnonzero(rng.random(n) < rng.random()).astype(np.int32)


def by_group(sums):
    """Sums by column, bin and word as a histogram by group of columns; what is in no column does not matter."""
    d, size, words = sums.shape
    lanes = 8 // words
    histogram = np.full((-(-d // lanes) * lanes, size, words), 77, np.int64)
    histogram[:d] = sums
    return np.ascontiguousarray(histogram.reshape(-1, lanes, size, words).swapaxes(1, 2))


def by_column(histogram, d):
    """The histogram of d columns, by column, bin and word."""
    groups, size, lanes, words = histogram.shape
    return histogram.swapaxes(1, 2).reshape(groups * lanes, size, words)[:d]


def filled(bins, words, rows, columns, n_bins, size):
    """A histogram of some rows; what was there before does not matter."""
    histogram = by_group(np.full((len(columns), size, words.shape[1]), 77))
    engine.fill_histogram(bins, words, rows, columns, n_bins, histogram)
    return histogram


@given(rng_seeds, st.integers(1, 30), st.integers(1, 20), st.booleans(), st.sampled_from([8, 64, 256]))
def test_histograms_are_sums_over_rows(seed, n, d, with_hessians, size):
    rng = np.random.default_rng(seed)
    bins = rng.choice([0, 1, 2, 5, size - 2, 255], (n, d)).astype(np.uint8)
    words = rng.integers(-(2**40), 2**40, (n, 1 + with_hessians))
    rows, columns = draw_rows(rng, n), np.flatnonzero(rng.random(d) < 0.7)
    found = by_column(filled(bins, words, rows, columns, np.full(len(columns), size - 1), size), len(columns))
    expected = np.zeros_like(found)
    for row in rows:
        for k, column in enumerate(columns):
            expected[k, min(bins[row, column], size - 1)] += words[row]
    assert np.array_equal(found, expected)


@given(rng_seeds, st.integers(1, 11), st.integers(1, 2))
def test_a_sibling_is_the_parent_less_the_child(seed, k, words):
    rng = np.random.default_rng(seed)
    parent, child = rng.integers(-9, 9, (2, k, 256, words))
    n_bins = rng.integers(1, 256, k)
    for row, count in enumerate(n_bins):
        child[row, count:255] = 0  # bins that are not in use
    found = by_group(parent)
    engine.subtract(found, by_group(child), n_bins)
    assert np.array_equal(by_column(found, k), parent - child)


def search(bins, histogram, n_bins, named, packed, rows, limits, *, bounds=(), signs=None, prices=None):
    """The engine's gain of each column, and its best split: sums on the left, bin, missing left, bins that go left."""
    d, words = len(n_bins), packed.words[rows].sum(axis=0)
    task = Task(
        bins, np.ascontiguousarray(bins.T), packed.words, np.arange(d), n_bins, np.array(named, bool),
        np.zeros(0, np.int8) if signs is None else signs, packed.count_bits,
        np.array([packed.gradient_unit, packed.hessian_unit, 0.0]), np.array(limits, float), 99, 99, False, 2**62, 0,
    )  # fmt: skip
    gain, best = np.empty(d), np.zeros((d, 8), np.int64)
    engine.find_splits(
        engine.Task(*task), histogram, np.append(words, 0)[:2], np.array(bounds or [-np.inf, np.inf]),
        np.empty((2, 0)) if prices is None else prices, gain, best,
    )  # fmt: skip
    return gain, best


KINDS = [[0], [0, 255], [0, 1, 2, 4, 5, 255], [0, 2, 63, 64, 127, 128, 254], [1, 3, 5, 7, 9, 11, 254, 255]]


@settings(max_examples=150)
@given(
    rng_seeds,
    st.integers(1, 16),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.75]),
    st.sampled_from([(), (-np.inf, np.inf), (-0.25, np.inf), (-np.inf, -2.0), (-0.5, 0.75), (0.25, 0.25)]),
)
def test_the_best_split_is_the_best_of_all(seed, n, with_hessians, l2, min_rows, min_hessian, bounds):
    """Of numbers and of categories, with bounds for the values of leaves and signs of numbers, or without."""
    rng = np.random.default_rng(seed)
    named = rng.random(len(KINDS)) < 0.5
    bins = np.stack([rng.choice(kinds, n) for kinds in KINDS], axis=1).astype(np.uint8)
    n_bins = np.array([255 if name else max({*kinds} - {255}) + 1 for name, kinds in zip(named, KINDS, strict=True)])
    g = (rng.integers(-6, 7, n) / 4).astype(np.float64)
    h = (rng.integers(0, 5, n) / 4).astype(np.float64) if with_hessians else np.ones(n)
    packed, rows = pack(g, h if with_hessians else None), np.arange(n, dtype=np.int32)
    histogram = filled(bins, packed.words, rows, np.arange(len(KINDS)), n_bins, 256)
    signs = np.where(named, 0, rng.integers(-1, 2, len(KINDS))).astype(np.int8) if bounds else None
    gain, best = search(
        bins, histogram, n_bins, named, packed, rows, [l2, min_rows, min_hessian], bounds=bounds, signs=signs
    )
    low, high = bounds or (-np.inf, np.inf)
    for f, name in enumerate(named):
        limits = {"l2": l2, "min_rows": min_rows, "min_hessian": min_hessian, "low": low, "high": high}
        limits["sign"] = signs[f] if bounds else 0
        cells = bins[:, f].tolist()
        expected = naive.best_split(cells, None if name else n_bins[f], g.tolist(), h.tolist(), **limits)
        if expected is None:
            assert gain[f] == -np.inf
            continue
        chosen = frozenset(np.flatnonzero(bits_of(best[[f], 4:].view(np.uint64), 256)[0]).tolist())
        assert (gain[f], chosen if name else best[f, 2], best[f, 3]) == expected
        inside = [i for i in range(n) if naive.goes_left(cells[i], expected[1], expected[2])]
        assert best[f, :2].tolist()[: packed.words.shape[1]] == packed.words[inside].sum(axis=0).tolist()


@given(
    rng_seeds, st.integers(2, 300), st.booleans(), st.sampled_from([0.0, 1.0, 1e200]), st.integers(1, 20), st.booleans()
)
def test_the_best_column_at_any_price_to_come_is_not_left_out(seed, n, with_hessians, l2, min_rows, correlated):
    rng = np.random.default_rng(seed)
    d = 19
    n_bins, rows = rng.choice([1, 4, 200], d), np.arange(n, dtype=np.int32)
    bins = np.stack([rng.choice([*range(count), 255], n) for count in n_bins], axis=1).astype(np.uint8)
    g = rng.standard_normal(n) + (bins[:, 3] if correlated else 0)
    packed = pack(g, rng.random(n) if with_hessians else None)
    histogram = filled(bins, packed.words, rows, np.arange(d), n_bins, 256)
    prices = np.sort(rng.choice([0.0, 1e-3, 0.5, 20.0], (2, d)) * rng.random(d), axis=0)
    every, some = (
        search(bins, histogram, n_bins, np.zeros(0, bool), packed, rows, [l2, min_rows, 0.0], prices=given_prices)[0]
        for given_prices in (None, prices)
    )
    assert np.isin(some[some != every], -np.inf).all()
    for price in (*prices, *rng.uniform(*prices, (5, d))):
        if (every - price).max() > 0:
            assert np.argmax(some - price) == np.argmax(every - price)


def unpacked(packed, rows):
    """Count, sum of gradients and sum of hessians of some rows, from the sums of their words."""
    word, *hessian = (int(each) for each in packed.words[rows].sum(axis=0))
    count = word & ((1 << packed.count_bits) - 1)
    gradient = (word >> packed.count_bits) * packed.gradient_unit
    return count, gradient, hessian[0] * packed.hessian_unit if hessian else float(count)


@given(rng_seeds, st.integers(1, 50), st.sampled_from([1e-300, 1e-30, 1.0, 1e300]), st.booleans())
def test_packed_sums_are_sums(seed, n, size, with_hessians):
    rng = np.random.default_rng(seed)
    g = rng.standard_normal(n) * size
    h = rng.random(n) if with_hessians else None
    packed = pack(g, h)
    rows = np.flatnonzero(rng.random(n) < 0.5).astype(np.int32)
    for inside in (np.arange(n, dtype=np.int32), rows):
        count, gradient, hessian = unpacked(packed, inside)
        assert count == len(g[inside])
        assert gradient == pytest.approx(
            g[inside].sum(), rel=0, abs=(1e-12 if size in {1e-30, 1.0} else 1e-4) * np.abs(g).sum()
        )
        assert hessian == pytest.approx(len(g[inside]) if h is None else h[inside].sum(), rel=1e-12)


def test_the_largest_possible_sums_do_not_overflow():
    n = 1000
    packed = pack(np.full(n, -3.4e38), np.full(n, 3.4e38))
    assert unpacked(packed, slice(None)) == (n, pytest.approx(-3.4e41, rel=1e-6), pytest.approx(3.4e41, rel=1e-6))


def draw_marks(rng, n, words):
    """Marks as words and as bool (n, items)."""
    marks = rng.integers(0, 2**64, (n, words), np.uint64) | rng.integers(0, 2**64, (1, words), np.uint64)
    bits = np.unpackbits(marks.view(np.uint8).reshape(n, words, 8), axis=2, bitorder="little")
    return marks, bits.reshape(n, 64 * words).astype(bool)


@given(rng_seeds, st.integers(1, 3), st.sampled_from([0, 1, 3, 254, 255, 256, 511, 600]))
def test_marks_are_counted_and_weighed(seed, words, m):
    rng = np.random.default_rng(seed)
    marks, bits = draw_marks(rng, 600, words)
    rows = np.sort(rng.permutation(600)[:m]).astype(np.int32)
    weight = rng.integers(0, 99, 600).astype(float)
    counts, sums = np.empty(64 * words), np.empty(64 * words)
    engine.sum_marks(marks, rows, weight[:0], counts)
    engine.sum_marks(marks, rows, weight, sums)
    assert counts.tolist() == bits[rows].sum(axis=0).tolist()
    assert sums.tolist() == (weight[rows, None] * bits[rows]).sum(axis=0).tolist()
    weight = rng.uniform(0.1, 3, 600)  # a bit that all rows have weighs what the rows weigh, to the last digit
    engine.sum_marks(np.full((600, 1), 5, np.uint64), rows, weight, sums[:64])
    total = 0.0
    for row in rows.tolist():
        total += float(weight[row])
    assert [engine.weigh_rows(rows, weight), *sums[:3]] == [total, total, 0.0, total]


@given(rng_seeds, st.integers(1, 2))
def test_rows_that_pass_through_pay_for_what_is_new(seed, words):
    rng = np.random.default_rng(seed)
    marks, bits = draw_marks(rng, 9, words)
    items, wanted = draw_marks(rng, 4, words)
    rows, cost = np.array([0, 2, 7, 8], np.int32), rng.integers(0, 8, 64 * words).astype(float)
    per_row, features = np.empty(4), np.empty(4)
    engine.price_marks(marks, rows, items, cost, 30, per_row, features)
    new = wanted & ~bits[rows]
    assert per_row.tolist() == (new * cost).sum(axis=1).tolist()
    assert features.tolist() == new[:, :30].sum(axis=1).tolist()
    bits[rows] |= wanted
    assert np.array_equal(marks, np.packbits(bits, axis=1, bitorder="little").view(np.uint64))


def test_prices_are_charged_in_loss_and_at_tradeoff_zero_all_is_free_even_what_is_infinite():
    money, once = np.array([0.0, 1.0, 2.0, 1e303, 0.0, 4.0]), np.array([0.0, 0.5, 0.0, 1e303, 9.0, 9.0])
    prices, state = np.empty(6), OncePrices(np.zeros(6)).state()
    state = state._replace(tradeoff=0.25, once=once, once_paid=np.arange(6) > 3)
    engine.charge(engine.Prices(*state), money, prices)
    assert prices.tolist() == [0.0, 0.375, 0.5, 1e300, 0.0, 1.0]
    infinite = np.array([0.0, np.inf, np.inf, np.inf, 0.0, np.inf])
    engine.charge(engine.Prices(*state._replace(tradeoff=0.0)), infinite, prices)
    assert prices.tolist() == [0.0] * 6
