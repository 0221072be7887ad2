import warnings
from math import inf, nan

import naive_trees as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe.core.errors import DataError
from costframe.core.workers import ALONE
from costframe.testing.parts import run_together
from costframe.trees.binning import bin_mapper as binning
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.binning.thresholds import midpoints

TINY, HUGE = 5e-324, 1.7976931348623157e308
hard = st.sampled_from([-inf, -HUGE, -1.0, -TINY, -0.0, 0.0, TINY, 1.0, np.nextafter(1.0, 2), 2.0, HUGE, inf, nan])
values = st.one_of(hard, st.integers(-20, 20).map(float), st.floats(allow_nan=True, allow_infinity=True))
columns = st.lists(st.tuples(values, st.integers(0, 5)), min_size=1, max_size=40).filter(
    lambda rows: any(weight for _, weight in rows)
)


@given(columns, st.integers(2, 8))
def test_thresholds_and_bins_are_the_naive_ones(rows, max_bins):
    column, weights = zip(*rows, strict=True)
    mapper = BinMapper.fit(np.array(column)[:, None], max_bins=max_bins, sample_weight=weights)
    cuts = naive.thresholds(column, weights, max_bins)
    assert mapper.thresholds[0].tolist() == cuts
    assert len(cuts) <= max_bins
    assert mapper.transform(np.array(column)[:, None]).bins[:, 0].tolist() == [naive.bin_of(x, cuts) for x in column]


@given(columns, st.integers(2, 8))
def test_a_weight_of_two_is_a_row_given_twice(rows, max_bins):
    column, weights = np.array(rows).T
    weighted = BinMapper.fit(column[:, None], max_bins=max_bins, sample_weight=weights)
    repeated = BinMapper.fit(np.repeat(column, weights.astype(int))[:, None], max_bins=max_bins)
    assert weighted.thresholds[0].tolist() == repeated.thresholds[0].tolist()


@given(columns, values)
def test_a_threshold_means_what_its_bin_means(rows, x):
    mapper = BinMapper.fit(np.array([row[0] for row in rows])[:, None], max_bins=5)
    cell = mapper.transform([[x]]).bins[0, 0]
    for bin_, threshold in enumerate(mapper.thresholds[0]):
        assert (x <= threshold) == (cell <= bin_)


@given(hard, hard)
def test_midpoints_part_any_two_values(a, b):
    if a < b:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            (t,) = midpoints(np.array([a]), np.array([b]))
        assert a <= t < b


@pytest.mark.parametrize("layout", ["C", "F", "strided", "float32", "reversed"])
def test_any_layout_and_any_number_of_threads(layout):
    rng = np.random.default_rng(0)
    table = rng.standard_normal((20_000, 19)).astype(np.float32).astype(np.float64)
    table[rng.random(table.shape) < 0.1] = nan
    given_as = {
        "C": table,
        "F": np.asfortranarray(table),
        "strided": np.repeat(table, 2, axis=1)[:, ::2],
        "float32": table.astype(np.float32),
        "reversed": table[::-1, ::-1].copy()[::-1, ::-1],
    }[layout]
    plain = BinMapper.fit(table, max_bins=64)
    expected = plain.transform(table)
    for n_threads in (1, 2, 3):
        mapper = BinMapper.fit(given_as, max_bins=64, n_threads=n_threads)
        assert all(map(np.array_equal, mapper.thresholds, plain.thresholds))
        binned = mapper.transform(given_as, n_threads=n_threads)
        assert np.array_equal(binned.bins, expected.bins)
        assert binned.bins.flags.c_contiguous
        assert np.array_equal(binned.columns, binned.bins.T)
        assert binned.columns.flags.c_contiguous


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_depends_neither_on_the_order_of_rows_nor_on_workers(weighted):
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.standard_normal((5000, 2)), rng.integers(0, 400, 5000)])
    weight = rng.random(5000) + 0.1 if weighted else None
    dealt = rng.integers(0, 4, 5000) % 3 * 2  # of five workers, two have no rows

    def fit(rows, workers=ALONE):
        weights = None if weight is None else weight[rows]
        return BinMapper.fit(table[rows], max_bins=50, sample_weight=weights, subsample=600, workers=workers)

    first = fit(slice(None))
    others = [fit(rng.permutation(5000)), *run_together(5, lambda each: fit(dealt == each.rank, each))]
    for other in others:
        assert all(map(np.array_equal, first.thresholds, other.thresholds))
    whole = BinMapper.fit(table, max_bins=50, sample_weight=weight)
    assert np.allclose(first.thresholds[0][10:-11], whole.thresholds[0][10:-11], atol=0.2)
    assert not np.array_equal(first.thresholds[0], whole.thresholds[0])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_value_of_one_row_is_seen_among_many(weighted):
    n = 250_000
    X = np.zeros((n, 2))
    X[123_456] = 1, n
    X[:200, 1] = np.arange(200)
    weight = np.where(X[:, 0] == 1, n, 1) if weighted else None
    mapper = BinMapper.fit(X, sample_weight=weight)
    assert mapper.thresholds[0].tolist() == [0.5, inf]
    assert mapper.thresholds[1].tolist() == [*np.arange(0.5, 199), (199 + n) / 2, inf]


@given(columns, st.integers(2, 8), st.integers(1, 3))
def test_few_values_need_no_sample(rows, max_bins, subsample):
    column, weights = zip(*rows, strict=True)
    cuts = naive.thresholds(column, weights, 255)
    if len(cuts) <= max_bins:
        mapper = BinMapper.fit(np.array(column)[:, None], max_bins=max_bins, sample_weight=weights, subsample=subsample)
        assert mapper.thresholds[0].tolist() == cuts


@pytest.mark.parametrize("weighted", [False, True])
def test_rare_values_that_a_sample_misses_are_cut_by_all_rows(weighted):
    column = np.zeros(20_000)
    column[::50] = np.arange(400)
    weight = np.random.default_rng(0).random(len(column)) + 0.5 if weighted else None
    sampled, whole = (
        BinMapper.fit(column[:, None], max_bins=100, sample_weight=weight, subsample=size) for size in (50, 10**9)
    )
    assert sampled.thresholds[0].tolist() == whole.thresholds[0].tolist()
    assert len(sampled.thresholds[0]) > 90


def test_a_sample_is_drawn_by_weight():
    rng = np.random.default_rng(0)
    column, n = rng.standard_normal(20_000), 20_000
    weight = np.where(column > 2, 40.0, 1.0)  # a fiftieth of the rows has about half of the weight
    sampled, whole = (
        BinMapper.fit(column[:, None], max_bins=10, sample_weight=weight, subsample=size).thresholds[0][:-1]
        for size in (5_000, 10**9)
    )
    cumulated = np.array([[weight[column <= cut].sum() / weight.sum() for cut in cuts] for cuts in (sampled, whole)])
    assert np.abs(cumulated[0] - cumulated[1]).max() < 0.015  # three standard errors: rows are drawn one by one
    heavy = np.arange(n) == 77  # with all the weight but one in a million
    cuts = BinMapper.fit(column[:, None], sample_weight=np.where(heavy, 1e6 * n, 1.0), max_bins=9, subsample=100)
    assert cuts.transform(column[heavy, None]).bins[0, 0] != cuts.transform([[column[77] + 1e-3]]).bins[0, 0]


def test_constant_and_missing_columns():
    table = np.array([[1.0, nan, 1.0, nan], [1.0, nan, nan, 2.0], [1.0, nan, 1.0, 3.0]])
    mapper = BinMapper.fit(table)
    assert [each.tolist() for each in mapper.thresholds] == [[inf], [inf], [inf], [2.5, inf]]
    assert mapper.transform(table).splittable.tolist() == [False, False, True, True]


def test_infinite_categories_are_refused():
    with pytest.raises(DataError, match="categories must be finite numbers"):
        BinMapper.fit([[np.inf], [1.0]], categorical=np.ones(1, bool))


def test_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr(binning, "MAX_ROWS", 2)
    with pytest.raises(DataError, match="fewer than 2 rows"):
        BinMapper.fit(np.zeros((2, 3)))


@pytest.mark.parametrize("max_bins", [2, 17, 255])
def test_bins_of_columns_of_any_range(max_bins):
    rng, n = np.random.default_rng(0), 2000
    normal = rng.standard_normal(n)
    columns = [
        np.exp(300 * normal.clip(-2, 2)),
        5e-324 * rng.integers(0, 2000, n),
        rng.choice([1e308, -1e308], n) * rng.random(n),
        np.where(rng.random(n) < 0.2, rng.choice([-np.inf, np.inf], n), normal),
        np.append(np.arange(n - 1) * 1e-300, 1e308),
        1e16 + 2.0 * np.arange(n),
        np.where(rng.random(n) < 0.3, np.nan, np.where(rng.random(n) < 0.5, 0.0, normal)),
        np.full(n, np.nan),
    ]
    mapper = BinMapper.fit(np.column_stack(columns), max_bins=max_bins)
    found = mapper.transform(np.column_stack(columns))
    for column, cuts, bins in zip(columns, mapper.thresholds, found.columns, strict=True):
        assert np.array_equal(bins, np.where(np.isnan(column), 255, np.searchsorted(cuts, column)))
