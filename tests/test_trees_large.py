"""Tables of more than 2^32 cells: untouched memory costs nothing, so only a few rows are ever real."""

import numpy as np
import pytest

from costframe import engine
from costframe.core.learners.cuts import lay_out_cuts
from costframe.trees.binning.bin_mapper import BinMapper, BinnedData
from costframe.trees.growing.grow import grow_tree

N, D = 120_000, 40_000


def untouched(shape):
    try:
        return np.zeros(shape, np.uint8)
    except MemoryError:
        pytest.skip(f"this system does not lend {shape[0] * shape[1]:,} bytes that are not used")


@pytest.mark.parametrize("words", [1, 2])
@pytest.mark.parametrize("columns", [np.arange(D - 11, D), np.array([0, D // 2, D - 1])])
def test_histograms_reach_the_last_cell(words, columns):
    rng = np.random.default_rng(0)
    bins, rows = untouched((N, D)), np.array([0, 53_687, 107_375, N - 2, N - 1], np.int32)
    bins[np.ix_(rows, columns)] = rng.integers(0, 256, (5, len(columns)))
    values = rng.integers(-99, 99, (N, words))
    lanes = 8 // words
    found = np.empty((-(-len(columns) // lanes), 256, lanes, words), np.int64)
    engine.fill_histogram(bins, values, rows, columns, np.full(len(columns), 255), found)
    for k, column in enumerate(columns):
        for word in range(words):
            assert np.array_equal(
                found[k // lanes, :, k % lanes, word], np.bincount(bins[rows, column], values[rows, word], 256)
            )


def test_a_tree_splits_the_last_rows_on_the_last_column():
    bins, columns = untouched((N, D)), untouched((D, N))
    rows = np.arange(N - 100, N)
    bins[rows[::3], D - 1] = columns[D - 1, rows[::3]] = 1
    mapper = BinMapper([np.array([0.5, np.inf])] * D)
    allowed = np.zeros(D, np.bool_)
    allowed[[0, 14_000, D - 2, D - 1]] = True
    gradients = np.where(bins[:, D - 1] == 1, 1.0, -1.0)
    tree = grow_tree(BinnedData(bins, columns, mapper), gradients, rows=rows, features=allowed)
    assert tree.feature.tolist() == [D - 1, -1, -1]
    assert tree.leaf_of_row.tolist() == np.where(bins[:, D - 1] == 1, 2, 1).tolist()


def test_bins_are_written_beyond_the_last_place_of_32_bits():
    n = 2**30 - 1
    columns, first = untouched((6, n)), n - 2
    X, bins = np.array([[0.0, 1.0, 2.0] * 2, [3.0, np.nan, 0.0] * 2]), np.empty((2, 6), np.uint8)
    cuts = lay_out_cuts(np.arange(0, 13, 2), np.array([0.5, np.inf] * 6))
    engine.bin_rows(X, *cuts, bins, columns, first)
    assert bins.tolist() == [[0, 1, 1] * 2, [1, 255, 0] * 2]
    assert np.array_equal(columns[:, first:], bins.T)
