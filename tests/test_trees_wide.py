"""Tables of many columns: memory grows with the table, not with columns times leaves or items."""

import tracemalloc

import numpy as np
import pytest

import costframe as cf
from costframe.trees.binning.bin_mapper import BinMapper, BinnedData
from costframe.trees.growing.grow import grow_tree
from costframe.trees.growing.lazy_prices import LazyPrices
from costframe.trees.growing.room import new_room, widened

FIELDS = "feature", "threshold", "missing_left", "left", "right", "outputs", "leaf_of_row"


def draw_table(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0] * X[:, 1]) + rng.standard_normal(n)


@pytest.mark.parametrize("with_hessians", [False, True])
@pytest.mark.parametrize("leaves", [2, 64])
def test_a_tree_is_the_same_whichever_histograms_are_kept(monkeypatch, with_hessians, leaves):
    X, y = draw_table(3000, 21)
    hessians, trees = np.abs(y) if with_hessians else None, []
    monkeypatch.setattr("costframe.trees.growing.grow._LEAVES", leaves)
    monkeypatch.setattr("costframe.trees.growing.grow._CELLS_PER_THREAD", 1000)
    for least in (2**26, 2**20, 0):  # of all columns, of some, of fewer
        monkeypatch.setattr("costframe.trees.growing.room._LEAST_KEPT", least)
        data = BinMapper.fit(X).transform(X)
        trees.append(grow_tree(data, -y, hessians, max_leaves=40, min_samples_leaf=5, n_threads=2))
        (room,) = next(iter(data.rooms.values()))
        assert (room.histogram.shape[1] == (6 if with_hessians else 3)) == (least == 2**26)
    assert trees[0].n_leaves == 40
    for tree in trees[1:]:
        for name in FIELDS:
            assert np.array_equal(getattr(tree, name), getattr(trees[0], name))


@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("with_hessians", [False, True])
def test_copies_of_columns_change_nothing(priced, with_hessians):
    X, y = draw_table(300, 600)  # with copies, they are so many that a search leaves out those of little worth
    hessians, digests = np.abs(y) if with_hessians else None, []
    for table in (X, np.hstack([X, X])):
        data, d = BinMapper.fit(table).transform(table), table.shape[1]
        costs = np.tile(np.random.default_rng(0).random(600), d // 600)
        prices = cf.CostModel.from_dict({"features": {f"x{f}": {"cost": costs[f], "once": 5.0} for f in range(d)}})
        paid = LazyPrices(prices.select(prices.names), 1e-2, len(X)) if priced else None
        for _ in range(3):
            tree = grow_tree(data, -y, hessians, prices=paid, max_leaves=20, min_samples_leaf=5, n_threads=2)
            digests.append([getattr(tree, name).tolist() for name in FIELDS])
        assert tree.n_leaves > 5
    assert digests[:3] == digests[3:]


@pytest.mark.parametrize("with_hessians", [False, True])
def test_products_of_weights_that_overflow_leave_out_no_column(with_hessians):
    X, y = draw_table(200, 512)
    hessians, digests = np.abs(y) if with_hessians else None, []
    for table in (X, np.hstack([X, X])):
        data, names = BinMapper.fit(table).transform(table), [f"x{f}" for f in range(table.shape[1])]
        paid = LazyPrices(cf.CostModel.uniform(names, 0.0).select(names), 1.0, len(X))
        tree = grow_tree(data, -y, hessians, prices=paid, max_leaves=4, min_samples_leaf=5, l2=1e200)
        digests.append([getattr(tree, name).tolist() for name in FIELDS])
        assert tree.n_leaves == 4
    assert digests[0] == digests[1]


def test_kept_histograms_are_bounded_by_the_table():
    n, d = 2000, 10_000
    shape = np.broadcast_to(np.uint8(0), (n, d))
    data = BinnedData(shape, shape.T, BinMapper((np.arange(256.0)[1:],) * d))
    room = new_room(data, 2, 0, 32)
    assert 0 < room.histogram.nbytes <= 4 * n * d
    assert widened(room, data).histogram.nbytes <= 4 * n * d
    few = BinnedData(shape[:1000], shape[:1000].T, data.mapper)
    assert new_room(few, 2, 0, 32).histogram.nbytes == 0


def test_prices_of_many_features_take_memory_in_proportion():
    d = 20_000
    prices = cf.CostModel.uniform([f"x{f}" for f in range(d)])
    arrays = prices.select(prices.names)
    tracemalloc.start()
    LazyPrices(arrays, 1.0, 100).state()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16e6  # a bit for each pair of features would be 50e6 bytes
