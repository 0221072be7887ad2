"""Values and categories in bins: against naive thresholds, in samples, in any layout, and beyond 32 bits."""

from math import inf, nan

import naive_trees as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_layout import lay_out_cuts

from costframe import engine
from costframe.plugin import DataError
from costframe.testing import run_together
from costframe.trees import BinMapper
from costframe.trees import bin_mapper as binning

TINY, HUGE = 5e-324, 1.7976931348623157e308
hard = st.sampled_from([-inf, -HUGE, -1.0, -TINY, -0.0, 0.0, TINY, 1.0, np.nextafter(1.0, 2), 2.0, HUGE, inf, nan])
values = st.one_of(hard, st.integers(-20, 20).map(float), st.floats(allow_nan=True, allow_infinity=True))
columns = st.lists(st.tuples(values, st.integers(0, 5)), min_size=1, max_size=40).filter(
    lambda rows: any(weight for _, weight in rows)
)


@pytest.mark.engine
@given(columns, st.lists(values, max_size=5), st.integers(2, 8), st.sampled_from([1, 3]), st.booleans())
def test_thresholds_and_bins_are_the_naive_ones(rows, others, max_bins, subsample, repeated):
    column, weights = zip(*rows, strict=True)
    cuts = naive.thresholds(column, weights, max_bins)
    X, weight = np.array(column)[:, None], np.array(weights)
    if repeated:  # a weight of two is a row given twice
        X, weight = np.repeat(X, weight, axis=0), None
    if len(naive.thresholds(column, weights, 255)) > max_bins:
        subsample = 200_000  # few values need no sample
    mapper = BinMapper.fit(X, max_bins=max_bins, sample_weight=weight, subsample=subsample)
    assert mapper.thresholds[0].tolist() == cuts
    assert len(cuts) <= max_bins
    seen = [*column, *others]
    found = mapper.transform(np.array(seen)[:, None]).bins[:, 0].tolist()
    assert found == [naive.bin_of(x, cuts) for x in seen]
    assert mapper.transform(X).splittable[0] == (len({*mapper.transform(X).bins[:, 0].tolist()}) > 1)


@pytest.mark.engine
@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.sampled_from([2, 64, 255]), st.booleans(), st.booleans())
def test_the_heaviest_categories_have_bins(seed, n_categories, max_bins, weighted, many_rows):
    rng = np.random.default_rng(seed)
    column = rng.permutation(1000)[:n_categories][rng.integers(0, n_categories, 600)].astype(float)
    column[rng.random(600) < 0.1] = nan
    weight = rng.integers(0, 4, 600).astype(float) if weighted else np.ones(600)
    weight[0] = 1.0
    X, categorical = np.stack([column, rng.standard_normal(600)], axis=1), np.array([True, False])
    mapper = BinMapper.fit(
        X, max_bins=max_bins, sample_weight=weight, categorical=categorical, subsample=50 if many_rows else 200_000
    )
    mass = {}
    for value, w in zip(column, weight, strict=True):
        if w > 0 and not np.isnan(value):
            mass[value] = mass.get(value, 0) + w
    heaviest = sorted(mass, key=lambda value: (-mass[value], value))[:max_bins]
    assert mapper.thresholds[0].tolist() == (sorted(heaviest) or [inf])
    seen = np.append(column, [inf, -inf, -1.0, 0.5, 1e300])
    bins = mapper.transform(np.stack([seen, seen], axis=1), n_threads=2).bins[:, 0]
    place = {value: number for number, value in enumerate(sorted(heaviest))}
    assert bins.tolist() == [place.get(value, 255) for value in seen.tolist()]


@pytest.mark.parametrize("max_bins", [2, 255])
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
    ]
    mapper = BinMapper.fit(np.column_stack(columns), max_bins=max_bins)
    found = mapper.transform(np.column_stack(columns))
    for column, cuts, bins in zip(columns, mapper.thresholds, found.columns, strict=True):
        assert np.array_equal(bins, np.where(np.isnan(column), 255, np.searchsorted(cuts, column)))


def test_any_layout_and_any_number_of_threads():
    rng = np.random.default_rng(0)
    table = rng.standard_normal((20_000, 19)).astype(np.float32).astype(np.float64)
    table[rng.random(table.shape) < 0.1] = nan
    plain = BinMapper.fit(table, max_bins=64)
    expected = plain.transform(table)
    strided, turned = np.repeat(table, 2, axis=1)[:, ::2], table[::-1, ::-1].copy()[::-1, ::-1]
    for given_as in (table, np.asfortranarray(table), strided, table.astype(np.float32), turned):
        mapper = BinMapper.fit(given_as, max_bins=64, n_threads=3)
        assert all(map(np.array_equal, mapper.thresholds, plain.thresholds))
        binned = mapper.transform(given_as, n_threads=2)
        assert np.array_equal(binned.bins, expected.bins)
        assert np.array_equal(binned.columns, binned.bins.T)
        assert binned.columns.flags.c_contiguous


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_depends_neither_on_the_order_of_rows_nor_on_workers(weighted):
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.standard_normal((5000, 2)), rng.integers(0, 400, 5000)])
    weight = rng.random(5000) + 0.1 if weighted else None
    dealt = rng.integers(0, 4, 5000) % 3 * 2  # of five workers, two have no rows

    def fit(rows, **workers):
        weights = None if weight is None else weight[rows]
        return BinMapper.fit(table[rows], max_bins=50, sample_weight=weights, subsample=600, **workers)

    first = fit(slice(None))
    others = [fit(rng.permutation(5000)), *run_together(5, lambda each: fit(dealt == each.rank, workers=each))]
    for other in others:
        assert all(map(np.array_equal, first.thresholds, other.thresholds))
    whole = BinMapper.fit(table, max_bins=50, sample_weight=weight)
    assert np.allclose(first.thresholds[0][10:-11], whole.thresholds[0][10:-11], atol=0.2)
    assert not np.array_equal(first.thresholds[0], whole.thresholds[0])


def test_a_sample_is_drawn_by_weight():
    column = np.random.default_rng(0).standard_normal(20_000)
    weight = np.where(column > 2, 40.0, 1.0)  # a fiftieth of the rows has about half of the weight
    sampled, whole = (
        BinMapper.fit(column[:, None], max_bins=10, sample_weight=weight, subsample=size).thresholds[0][:-1]
        for size in (5_000, 10**9)
    )
    cumulated = np.array([[weight[column <= cut].sum() / weight.sum() for cut in cuts] for cuts in (sampled, whole)])
    assert np.abs(cumulated[0] - cumulated[1]).max() < 0.015  # three standard errors: rows are drawn one by one


def test_infinite_categories_and_too_many_rows_are_refused(monkeypatch):
    with pytest.raises(DataError, match="categories must be finite numbers"):
        BinMapper.fit([[np.inf], [1.0]], categorical=np.ones(1, bool))
    monkeypatch.setattr(binning, "MAX_ROWS", 2)
    with pytest.raises(DataError, match="fewer than 2 rows"):
        BinMapper.fit(np.zeros((2, 3)))


def test_bins_are_written_beyond_the_last_place_of_32_bits():
    n = 2**30 - 1
    try:
        columns, first = np.zeros((6, n), np.uint8), n - 2  # untouched memory costs nothing
    except MemoryError:
        pytest.skip("this system does not lend 6 GB that are not used")
    X, bins = np.array([[0.0, 1.0, 2.0] * 2, [3.0, np.nan, 0.0] * 2]), np.empty((2, 6), np.uint8)
    engine.bin_rows(X, *lay_out_cuts(np.arange(0, 13, 2), np.array([0.5, np.inf] * 6)), bins, columns, first)
    assert bins.tolist() == [[0, 1, 1] * 2, [1, 255, 0] * 2]
    assert np.array_equal(columns[:, first:], bins.T)
