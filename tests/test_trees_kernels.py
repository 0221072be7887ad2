"""Every step between the bins and the finished tree, against its twin."""

import naive_trees as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe import engine
from costframe.core.errors import DataError
from costframe.trees.binning.thresholds import few_values
from costframe.trees.growing.grow import pack
from costframe.trees.growing.room import Task

pytestmark = pytest.mark.engine

CELLS = [0, 1, 2, 5, 254, 255]
rng_seeds = st.integers(0, 2**32 - 1)


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


@pytest.mark.parametrize("with_hessians", [False, True])
def test_scattered_rows_of_a_table_beyond_the_cache(with_hessians):
    rng = np.random.default_rng(0)
    bins = np.zeros((2**23 // 64 + 1, 64), np.uint8)
    rows = np.sort(rng.permutation(len(bins))[:75]).astype(np.int32)
    bins[rows] = rng.integers(0, 256, (75, 64))
    words = rng.integers(-99, 99, (len(bins), 1 + with_hessians))
    columns = np.array([3, 63])
    found = by_column(filled(bins, words, rows, columns, np.full(2, 255), 256), 2)
    for k, column in enumerate(columns):
        for word in range(1 + with_hessians):
            sums = np.bincount(bins[rows, column], words[rows, word], 256)
            assert np.array_equal(found[k, :, word], sums)


hard = st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 5e-324, 1.0, 2.0, 3.0, np.inf, np.nan])


@given(st.lists(st.tuples(hard, st.floats()), min_size=1, max_size=40), st.integers(1, 6), st.integers(1, 50))
def test_distinct_values_are_those_of_a_set(rows, limit, size):
    table = np.array(rows)
    values, counts = np.empty((2, limit)), np.zeros(2, np.int64)
    engine.collect_distinct(table, values, counts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("costframe.trees.binning.thresholds._ROWS_PER_PART", size)
        joined = [few_values(table, limit, n_threads=n) for n in (1, 3)]
    for column in range(2):
        expected = naive.distinct(table[:, column])
        if len(expected) > limit:
            assert counts[column] == limit + 1
            assert [each[column] for each in joined] == [None, None]
        else:
            assert sorted(values[column, : counts[column]].tolist()) == expected
            assert [each[column].tolist() for each in joined] == [expected, expected]


def test_255_values_fit_and_further_ones_do_not():
    table = np.tile(np.arange(-100.0, 156.0), 5)[:, None]  # 256 values
    assert few_values(table, 255) == [None]
    assert few_values(table[table[:, 0] != 7], 255)[0].tolist() == [x for x in range(-100, 156) if x != 7]


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


def as_bins(goes_left):
    """A set of bins as bits, int64 (4,)."""
    return np.packbits(goes_left, bitorder="little").view(np.int64)


@given(rng_seeds, st.integers(0, 40), st.integers(1, 5))
def test_partition_is_stable(seed, m, parts):
    rng = np.random.default_rng(seed)
    column, goes_left = rng.choice([0, 3, 64, 255], 50).astype(np.uint8), rng.random(256) < 0.5
    rows = np.sort(rng.permutation(50)[:m]).astype(np.int32)
    left = [row for row in rows if goes_left[column[row]]]
    right = [row for row in rows if not goes_left[column[row]]]
    counts = np.empty(parts, np.int64)
    assert engine.divide_rows(column, as_bins(goes_left), rows, np.empty_like(rows), counts) == len(left)
    assert counts.sum() == len(left)
    assert rows.tolist() == left + right


@given(rng_seeds, st.booleans())
def test_leaf_sums(seed, with_hessians):
    rng = np.random.default_rng(seed)
    g, h = rng.standard_normal((2, 40))
    leaf_of_row, sums = rng.choice([-1, 1, 3, 4], 40).astype(np.int32), np.empty((5, 2), np.int64)
    h = np.abs(h) if with_hessians else h[:0]
    scales = engine.leaf_scale(g, 0), engine.leaf_scale(h, 0) if with_hessians else 1.0
    engine.sum_leaves(leaf_of_row, g, h, *scales, sums)
    again, order = np.empty((5, 2), np.int64), rng.permutation(40)
    engine.sum_leaves(leaf_of_row[order], g[order], h[order] if with_hessians else h, *scales, again)
    assert again.tolist() == sums.tolist()
    for leaf in range(5):
        inside = leaf_of_row == leaf
        expected = [g[inside].sum(), h[inside].sum() if with_hessians else inside.sum()]
        assert (sums[leaf] / scales).tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(rng_seeds)
def test_routing_follows_the_tests(seed):
    rng = np.random.default_rng(seed)
    bins = rng.choice(CELLS, (30, 2)).astype(np.uint8)
    bin_, missing_left = rng.choice(CELLS[:-1], 5).astype(np.uint8), rng.random(5) < 0.5
    nodes = np.zeros((5, 10), np.int64)
    nodes[:, :5] = [0, 0, 0, 1, 2], [1, 0, 0, 3, 4], *[[-1] * 5] * 3
    for node in range(5):
        goes_left = np.arange(256) <= bin_[node]
        goes_left[255] = missing_left[node]
        nodes[node, 6:] = as_bins(goes_left)
    leaf_of_row = np.where(rng.random(30) < 0.5, -1, 9).astype(np.int32)
    expected = []
    for row in range(30):
        node = 0
        while nodes[node, 0] >= 0:
            to_left = naive.goes_left(bins[row, nodes[node, 0]], bin_[node], missing_left[node])
            node = nodes[node, 3] if to_left else nodes[node, 4]
        expected.append(node if leaf_of_row[row] < 0 else 9)
    engine.route_rows(bins, nodes, leaf_of_row)
    assert leaf_of_row.tolist() == expected


def found_splits(bins, packed, histogram, n_bins, limits, *, named=(), signs=(), prices=None):
    """Gains and splits of all columns."""
    d = len(n_bins)
    task = Task(
        bins, np.ascontiguousarray(bins.T), packed.words, np.arange(d), n_bins, np.array(named, bool),
        np.array(signs, np.int8), packed.count_bits, np.array([packed.gradient_unit, packed.hessian_unit]),
        np.array(limits, float), 99, 99, False, 1.0, 2**62, 0,
    )  # fmt: skip
    gain, best = np.empty(d), np.zeros((d, 8 if len(named) else 4), np.int64)
    total, bounds = np.append(packed.words.sum(axis=0), 0)[:2], np.array([-np.inf, np.inf])
    given = np.empty((2, 0)) if prices is None else prices
    engine.find_splits(engine.Task(*task), histogram, total, bounds, given, gain, best)
    return gain, best


@given(
    rng_seeds,
    st.integers(1, 14),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.75]),
    st.sampled_from([(3, 8), (4, 256)]),
)
def test_the_best_split_is_the_best_of_all(seed, n, with_hessians, l2, min_rows, min_hessian, sizes):
    rng = np.random.default_rng(seed)
    d, size = sizes
    n_bins = np.array([1, 3, 6, 255])[:d]
    cells = [[0, 255], [0, 1, 2], [0, 1, 2, 4, 5, 255], [0, 100, 254, 255]]
    bins = np.stack([rng.choice(each, n) for each in cells[:d]], axis=1).astype(np.uint8)
    g = (rng.integers(-6, 7, n) / 4).astype(np.float64)
    h = (rng.integers(0, 5, n) / 4).astype(np.float64) if with_hessians else np.ones(n)
    packed = pack(g, h if with_hessians else None)
    columns = np.arange(d)
    histogram = filled(bins, packed.words, np.arange(n, dtype=np.int32), columns, n_bins, size)
    gain, best = found_splits(bins, packed, histogram, n_bins, [l2, min_rows, min_hessian])
    for f in columns:
        expected = naive.best_split(
            bins[:, f].tolist(), n_bins[f], g.tolist(), h.tolist(), l2=l2, min_rows=min_rows, min_hessian=min_hessian
        )
        if expected is None:
            assert gain[f] == -np.inf
        else:
            assert (gain[f], *best[f, 2:]) == expected
            inside = [i for i in range(n) if naive.goes_left(bins[i, f], expected[1], expected[2])]
            assert best[f, :2].tolist()[: packed.words.shape[1]] == packed.words[inside].sum(axis=0).tolist()


@given(rng_seeds, st.integers(1, 300), st.booleans(), st.sampled_from([0.0, 1.0]), st.integers(1, 3))
def test_bounds_at_infinity_and_no_signs_are_the_general_case_of_none(seed, n, with_hessians, l2, min_rows):
    rng = np.random.default_rng(seed)
    n_bins, columns, named = np.array([1, 4, 200, 5]), np.arange(4), np.array([False, False, False, True])
    bins = np.stack([rng.choice([*range(count), 255], n) for count in n_bins], axis=1).astype(np.uint8)
    packed = pack(rng.standard_normal(n), rng.random(n) if with_hessians else None)
    histogram = filled(bins, packed.words, np.arange(n, dtype=np.int32), columns, n_bins, 256)
    given = bins, packed, histogram, n_bins, [l2, min_rows, 0.0]
    found = [found_splits(*given, named=named, signs=signs) for signs in ([], [0] * 4)]
    for quick, general in zip(*found, strict=True):
        assert np.array_equal(quick, general)


def unpacked(packed, rows):
    """Count, sum of gradients and sum of hessians of some rows, from the sums of their words."""
    word, *hessian = (int(each) for each in packed.words[rows].sum(axis=0))
    count = word & ((1 << packed.count_bits) - 1)
    gradient = (word >> packed.count_bits) * packed.gradient_unit
    return count, gradient, hessian[0] * packed.hessian_unit if hessian else float(count)


@given(rng_seeds, st.integers(1, 50), st.sampled_from([1e-30, 1.0, 1e30]), st.booleans())
def test_packed_sums_are_sums(seed, n, size, with_hessians):
    rng = np.random.default_rng(seed)
    g = rng.standard_normal(n) * size
    h = rng.random(n) if with_hessians else None
    packed = pack(g, h, n_threads=2)
    rows = np.flatnonzero(rng.random(n) < 0.5).astype(np.int32)
    for inside in (np.arange(n, dtype=np.int32), rows):
        count, gradient, hessian = unpacked(packed, inside)
        assert count == len(g[inside])
        assert gradient == pytest.approx(g[inside].sum(), rel=0, abs=1e-12 * np.abs(g).sum())
        assert hessian == pytest.approx(len(g[inside]) if h is None else h[inside].sum(), rel=1e-12)


@given(st.lists(st.integers(-(2**10), 2**10), min_size=1, max_size=50))
def test_dyadic_gradients_are_packed_exactly(numbers):
    g = np.array(numbers, np.float64) / 64
    packed = pack(g, np.abs(g))
    assert (packed.words[:, 0] >> packed.count_bits) * packed.gradient_unit == pytest.approx(g, rel=0, abs=0)
    assert packed.words[:, 1] * packed.hessian_unit == pytest.approx(np.abs(g), rel=0, abs=0)


def test_the_largest_possible_sums_do_not_overflow():
    n = 1000
    packed = pack(np.full(n, -3.4e38), np.full(n, 3.4e38))
    assert unpacked(packed, slice(None)) == (n, pytest.approx(-3.4e41, rel=1e-6), pytest.approx(3.4e41, rel=1e-6))


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e300, 4e307])
def test_sums_of_any_size_are_packed(size):
    g, h = np.array([1.0, -1.0, 0.5]) * size, np.array([1.0, 0.25, 0.5]) * size
    packed = pack(g, h)
    _, gradient, hessian = unpacked(packed, [0, 2])
    assert gradient == pytest.approx(1.5 * size, rel=1e-4, abs=0)
    assert hessian == pytest.approx(1.5 * size, rel=1e-4, abs=0)


def test_the_bound_of_sums_is_tight():
    for count in (1, 2, 3, 1000):
        packed = pack(np.ones(count), None)
        assert count <= 2.0**packed.gradient_exponent <= 4 * count


@pytest.mark.parametrize(
    ("g", "h", "text"),
    [
        ([np.nan, 1], None, "gradients: must be finite"),
        ([np.inf, 1], None, "gradients: must be finite"),
        ([1, 1], [np.nan, 1], "hessians: must be finite"),
        ([1, 1], [-1, 1], "hessians: must not be negative"),
        ([1e308, 1e308], None, "gradients: must be finite and have a finite sum"),
    ],
)
def test_gradients_that_cannot_be_summed_are_refused(g, h, text):
    with pytest.raises(DataError, match=text):
        pack(np.array(g, float), None if h is None else np.array(h, float))


@given(rng_seeds, st.integers(2, 300), st.booleans(), st.sampled_from([0.0, 1.0]), st.integers(1, 20), st.booleans())
def test_the_best_column_at_any_price_to_come_is_not_left_out(seed, n, with_hessians, l2, min_rows, correlated):
    rng = np.random.default_rng(seed)
    d = 19
    n_bins, columns = rng.choice([1, 4, 200], d), np.arange(d)
    bins = np.stack([rng.choice([*range(count), 255], n) for count in n_bins], axis=1).astype(np.uint8)
    g = rng.standard_normal(n) + (bins[:, 3] if correlated else 0)
    packed = pack(g, rng.random(n) if with_hessians else None)
    histogram = filled(bins, packed.words, np.arange(n, dtype=np.int32), columns, n_bins, 256)
    prices = np.sort(rng.choice([0.0, 1e-3, 0.5, 20.0], (2, d)) * rng.random(d), axis=0)
    given = bins, packed, histogram, n_bins, [l2, min_rows, 0.0]
    every, some = (found_splits(*given, prices=each)[0] for each in (None, prices))
    assert np.isin(some[some != every], -np.inf).all()
    for price in (*prices, *rng.uniform(*prices, (5, d))):
        if (every - price).max() > 0:
            assert np.argmax(some - price) == np.argmax(every - price)
