"""Trees at lazy prices, bit for bit: whatever the threads, the order of rows, and what else runs."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import costframe as cf
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.growing.grow import grow_tree
from costframe.trees.growing.lazy_prices import LazyPrices

NAMES = [f"x{f}" for f in range(11)]
COSTS = cf.CostModel.from_dict(
    {
        "features": {name: {"cost": 0.5 + f, "needs": [f"r{f % 3}"], "once": f} for f, name in enumerate(NAMES)},
        "resources": {"r0": {"cost": 2.0, "needs": ["r2"]}, "r1": 1.0, "r2": 0.25},
        "split": 0.125,
        "learner": 0.5,
        "reuse": 0.25,
    }
)
ARRAYS = ("feature", "threshold", "missing_left", "left", "right", "outputs", "leaf_of_row")


def draw_rows(n=1500):
    """Values with ties and holes; gradients and hessians of a few trees and weights, in 1/64 and so added exactly."""
    rng = np.random.default_rng(3)
    X = np.round(rng.standard_normal((n, 11)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0] * X[:, 1]) + np.isnan(X[:, 2])
    g = np.round(64 * (signal - 0.5 + 0.3 * rng.standard_normal((4, n)))) / 64
    return X, g, rng.integers(1, 64, (4, n)) / 64, rng.integers(1, 8, n) / 4


def grow(X, g, h, weight, *, n_threads=1, growth="best", anew=False):
    """Trees one after the other, which share what rows have paid; every other one on a part of the rows.

    `anew` makes bins for each.
    """
    data = BinMapper.fit(X).transform(X, n_threads=n_threads)
    prices = LazyPrices(COSTS.select(NAMES), 2.0**-8, len(X), weight)
    trees = []
    for number, (gradients, hessians) in enumerate(zip(g, h, strict=True)):
        data = BinMapper.fit(X).transform(X, n_threads=n_threads) if anew else data
        rows = None if number % 2 == 0 else np.flatnonzero(X[:, 3] > -1)
        settings = {"prices": prices, "growth": growth, "max_leaves": 17, "l2": 0.5, "n_threads": n_threads}
        trees.append(grow_tree(data, gradients * weight, hessians * weight, rows=rows, **settings))
        if rows is not None:
            prices.charge_rows(trees[-1], np.setdiff1d(np.arange(len(X)), rows).astype(np.int32))
    return trees, prices


@pytest.fixture(scope="module")
def alone():
    return grow(*draw_rows())


def assert_same(grown, others):
    for tree, other in zip(grown[0], others[0], strict=True):
        for name in ARRAYS:
            assert np.array_equal(getattr(tree, name), getattr(other, name))
    assert (grown[1].spent, grown[1].fixed) == (others[1].spent, others[1].fixed)


@pytest.mark.parametrize("shared_rows", [False, True])
@pytest.mark.parametrize("growth", ["best", "breadth"])
def test_one_two_and_three_threads_give_the_same_bits(monkeypatch, alone, shared_rows, growth):
    grown = alone if growth == "best" else grow(*draw_rows(), growth=growth)
    assert [tree.n_leaves > 5 for tree in grown[0]] == [True] * 4
    monkeypatch.setattr("costframe.trees.growing.grow._CELLS_WORTH_THREADS", 0)
    monkeypatch.setattr("costframe.trees.growing.grow._CELLS_PER_THREAD", 1)
    monkeypatch.setattr("costframe.trees.growing.finish._ROWS_WORTH_THREADS", 0)
    monkeypatch.setattr("costframe.trees.growing.finish._ROWS_PER_PART", 101)
    if shared_rows:
        monkeypatch.setattr("costframe.trees.growing.grow._CACHED", 0)
        monkeypatch.setattr("costframe.trees.growing.grow._ROWS_PER_THREAD", 50)
    for n_threads in (2, 3):
        assert_same(grown, grow(*draw_rows(), n_threads=n_threads, growth=growth))


def test_a_tree_grows_the_same_in_room_that_others_have_left(alone):
    assert_same(alone, grow(*draw_rows(), anew=True))


def test_what_all_rows_have_paid_is_known_without_counting():
    X, g, h, _ = draw_rows()
    data, known, counted = (
        BinMapper.fit(X).transform(X),
        *(LazyPrices(COSTS.select(NAMES), 2.0**-8, 1500) for _ in "12"),
    )
    passed = np.arange(0, 1500, 50, dtype=np.int32)
    for number, (gradients, hessians) in enumerate(zip(g, h, strict=True)):
        trees = []
        for prices in (known, counted):
            counted._all_known = False
            rows = np.setdiff1d(np.arange(1500), passed) if number == 2 else None
            trees.append(grow_tree(data, gradients, hessians, prices=prices, rows=rows, max_leaves=9))
            if rows is not None:
                prices.charge_rows(trees[-1], passed)
        assert_same((trees[:1], known), (trees[1:], counted))
        assert known._all_known == (number < 2)


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_rows_gives_the_same_trees_where_gradients_add_exactly(alone, seed):
    X, g, h, weight = draw_rows()
    order = np.random.default_rng(seed).permutation(len(X))
    trees, prices = grow(X[order], g[:, order], h[:, order], weight[order])
    for tree, other in zip(alone[0], trees, strict=True):
        for name in ARRAYS[:-1]:
            assert np.array_equal(getattr(tree, name), getattr(other, name))
        assert np.array_equal(tree.leaf_of_row[order], other.leaf_of_row)
    assert prices.spent == alone[1].spent


def test_trees_grown_at_once_are_those_grown_alone(alone):
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(grow, *draw_rows(), n_threads=n) for n in (1, 2, 2, 1, 2, 3)]
    for job in jobs:
        assert_same(alone, job.result())
