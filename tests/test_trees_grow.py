"""Whole trees: the naive grower's, scikit-learn's, the same bits in any circumstances, and tables of any size."""

from concurrent.futures import ThreadPoolExecutor
from math import inf, nan

import naive_trees as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.core.prices.needs import Needs
from costframe.plugin import DataError, tree_leaves
from costframe.trees import BinMapper, BinnedData, LazyPrices, NoPrices, OncePrices
from costframe.trees.grow import grow_tree
from costframe.trees.room import new_room, widened

UNLIMITED = 10**9
SHAPE = "feature", "threshold", "missing_left", "left", "right", "category_count", "categories"


def same(tree, other, *names):
    """Whether two trees agree to the last bit."""
    return all(
        np.array_equal(getattr(tree, name), getattr(other, name), equal_nan=True)
        for name in names or ("outputs", "leaf_of_row")
    ) and all(np.array_equal(getattr(tree.table, name), getattr(other.table, name), equal_nan=True) for name in SHAPE)


# --- against twins and oracles -----------------------------------------------------------------------------------


def draw_data(rng, n, d):
    X = rng.choice([-inf, -1.5, 0.0, 0.5, 1.0, 2.0, 3.5, inf, nan], (n, d), p=[0.04] + [0.14] * 6 + [0.04, 0.08])
    X[:, rng.random(d) < 0.15] = 1.0
    X[:, rng.random(d) < 0.1] = nan
    named = rng.random(d) < 0.3
    X[:, named] = np.where(np.isinf(X[:, named]), nan, X[:, named])
    return X, named


def draw_prices(rng, n, d):
    """The same prices twice: the engine's and the naive ones."""
    eighths = lambda size, high: rng.integers(0, high, size) / 8  # noqa: E731 - a name for a formula
    n_resources = rng.integers(0, 3)
    feature, resource = eighths(d, 24), eighths(n_resources, 32)
    needed = [set(np.flatnonzero(row).tolist()) for row in rng.random((d, n_resources)) < 0.5]
    split = eighths(d, 2) / 4 if rng.random() < 0.5 else np.zeros(d)
    root, reuse = (eighths((), 8) if rng.random() < 0.5 else 0.0 for _ in range(2))
    weight = rng.integers(0, 5, n) / 2 if rng.random() < 0.5 else None
    fast = OncePrices(
        feature,
        resource_price=resource,
        needed=Needs.of(needed, [[]] * n_resources).listed(),
        split_price=split,
        root_price=root,
        reuse_price=reuse,
        row_weight=weight,
    )
    weights = np.ones(n) if weight is None else weight
    return fast, naive.Prices(feature.tolist(), resource.tolist(), needed, split.tolist(), root, reuse, weights)


def assert_same_tree(tree, slow, mapper):
    feature, bin_, missing_left, left, right = zip(*slow.nodes, strict=True)
    table, first = tree.table, tree.table.category_first
    assert table.feature.tolist() == list(feature)
    assert (table.left.tolist(), table.right.tolist()) == (list(left), list(right))
    for node, f in enumerate(feature):
        if f < 0:
            continue
        assert table.missing_left[node] == missing_left[node]
        if mapper.categorical[f]:
            against = [b for b in range(mapper.n_bins[f]) if (b in bin_[node]) != missing_left[node]]
            assert table.categories[first[node] : first[node + 1]].tolist() == mapper.thresholds[f][against].tolist()
        else:
            assert table.threshold[node] == mapper.thresholds[f][bin_[node]]
    assert tree.leaf_of_row.tolist() == slow.leaf_of_row
    assert tree.outputs.tolist() == slow.outputs
    assert tree.n_leaves == len(slow.open)


@pytest.mark.engine
@settings(max_examples=120)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 24),
    d=st.integers(1, 10),
    growth=st.sampled_from(["breadth", "best"]),
    priced=st.booleans(),
    weighted=st.booleans(),
    depth=st.sampled_from([None, 1, 2, 3]),
    leaves=st.sampled_from([None, 1, 2, 3, 5]),
    limits=st.tuples(st.sampled_from([0.0, 0.5]), st.integers(1, 3), st.sampled_from([0.0, 0.5])),
    part_of_rows=st.booleans(),
    n_threads=st.integers(1, 2),
)
def test_trees_are_the_naive_ones(seed, n, d, growth, priced, weighted, depth, leaves, limits, part_of_rows, n_threads):
    rng = np.random.default_rng(seed)
    X, named = draw_data(rng, n, d)
    data = BinMapper.fit(X, max_bins=int(rng.integers(2, 8)), categorical=named).transform(X)
    prices, slow_prices = draw_prices(rng, n, d) if priced else (NoPrices(), naive.Free())
    rows = rng.permutation(n)[: rng.integers(1, n + 1)] if part_of_rows else None
    features = data.splittable & (rng.random(d) < 0.8)
    l2, min_rows, min_hessian = limits
    for _ in range(3):  # trees of one ensemble share what is paid
        g = (rng.integers(-16, 17, n) / 8).astype(np.float32)
        h = (rng.integers(0, 9, n) / 4).astype(np.float32) if weighted else None
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("costframe.trees.grow._CELLS_WORTH_THREADS", 0)
            patch.setattr("costframe.trees.grow._CELLS_PER_THREAD", 1)
            tree = grow_tree(
                data, g, h, rows=rows, features=features, prices=prices, growth=growth, max_depth=depth, l2=l2,
                max_leaves=leaves, min_samples_leaf=min_rows, min_hessian_leaf=min_hessian, n_threads=n_threads,
            )  # fmt: skip
        slow = naive.Tree(
            data.bins.tolist(), [None if name else bins for name, bins in zip(named, data.mapper.n_bins, strict=True)],
            g.tolist(), [1.0] * n if h is None else h.tolist(), slow_prices,
            rows=list(range(n)) if rows is None else sorted(rows.tolist()), features=np.flatnonzero(features).tolist(),
            growth=growth, depth=depth or UNLIMITED, leaves=leaves or UNLIMITED, min_rows=min_rows,
            min_hessian=min_hessian, l2=l2,
        )  # fmt: skip
        assert_same_tree(tree, slow, data.mapper)
        assert tree_leaves(tree.table, X)[:, 0].tolist() == tree.leaf_of_row.tolist()
        unseen, missing = np.where(named, 99.0, X), np.where(named, nan, X)
        assert np.array_equal(tree_leaves(tree.table, unseen), tree_leaves(tree.table, missing))


# --- the same bits -----------------------------------------------------------------------------------------------

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


def draw_rows(n=4000):
    """Values with ties and holes; gradients and hessians of a few trees and weights, in 1/64 and so added exactly."""
    rng = np.random.default_rng(3)
    X = np.round(rng.standard_normal((n, 11)), 1)
    X[:, 4] = rng.integers(0, 90, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0] * X[:, 1]) + np.isnan(X[:, 2]) + np.sin(np.nan_to_num(X[:, 4]))
    g = np.round(64 * (signal - 0.5 + 0.3 * rng.standard_normal((4, n)))) / 64
    return X, g, rng.integers(1, 64, (4, n)) / 64, rng.integers(1, 8, n) / 4


def bin_table(X, n_threads=1):
    return BinMapper.fit(X, categorical=np.arange(11) == 4).transform(X, n_threads=n_threads)


def grow(X, g, h, weight, *, n_threads=1, growth="best", anew=False):
    """Trees one after the other, which share what rows have paid; every other one on a part of the rows.

    `anew` makes bins, and so room to grow in, for each.
    """
    data = bin_table(X, n_threads)
    prices = LazyPrices(COSTS.select(NAMES), 2.0**-8, len(X), weight)
    trees = []
    for number, (gradients, hessians) in enumerate(zip(g, h, strict=True)):
        data = bin_table(X) if anew else data
        rows = None if number % 2 == 0 else np.flatnonzero(X[:, 3] > -1)
        shape = {"prices": prices, "growth": growth, "max_leaves": 17, "l2": 0.5, "n_threads": n_threads}
        trees.append(grow_tree(data, gradients * weight, hessians * weight, rows=rows, **shape))
        if rows is not None:
            prices.charge_rows(trees[-1], np.setdiff1d(np.arange(len(X)), rows).astype(np.int32))
    return trees, prices


@pytest.fixture(scope="module")
def alone():
    return grow(*draw_rows())


@pytest.fixture
def eager_threads(monkeypatch):
    for name, value in (("_CELLS_WORTH_THREADS", 0), ("_CELLS_PER_THREAD", 1)):
        monkeypatch.setattr(f"costframe.trees.grow.{name}", value)
    monkeypatch.setattr("costframe.trees.room._ROWS_PER_PART", 101)


def assert_same(grown, others):
    assert all(map(same, grown[0], others[0]))
    assert (grown[1].spent, grown[1].fixed) == (others[1].spent, others[1].fixed)


@pytest.mark.engine
@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize("shared_rows", [False, True])
@pytest.mark.parametrize("growth", ["best", "breadth"])
def test_threads_change_no_bit(monkeypatch, alone, shared_rows, growth):
    grown = alone if growth == "best" else grow(*draw_rows(), growth=growth)
    X, g, h, weight = draw_rows()
    for number, tree in enumerate(grown[0]):
        assert tree.n_leaves > 5
        assert tree_leaves(tree.table, X)[:, 0].tolist() == tree.leaf_of_row.tolist()
        inside = tree.leaf_of_row == tree.leaf_of_row[0]
        inside &= X[:, 3] > -1 if number % 2 else True
        of_leaf = (weight[inside] @ each[number, inside] for each in (g, h))
        assert tree.outputs[tree.leaf_of_row[0]] == pytest.approx(-next(of_leaf) / (next(of_leaf) + 0.5), rel=1e-12)
    free = {"prices": OncePrices(np.full(11, 2.0)), "growth": growth, "max_leaves": 17}
    plain = grow_tree(bin_table(X), g[0], **free)
    if shared_rows:
        monkeypatch.setattr("costframe.trees.grow._CACHED", 0)
        monkeypatch.setattr("costframe.trees.grow._ROWS_PER_THREAD", 520)  # few rows are always filled anew
    for n_threads in (2, 3):
        assert_same(grown, grow(*draw_rows(), n_threads=n_threads, growth=growth))
        free["prices"] = OncePrices(np.full(11, 2.0))
        assert same(plain, grow_tree(bin_table(X), g[0], n_threads=n_threads, **free))


@pytest.mark.usefixtures("eager_threads")
def test_an_error_of_a_helping_thread_ends_growth(monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr("costframe.engine.assist", fail)
    X, g, _, _ = draw_rows()
    with pytest.raises(MemoryError):
        grow_tree(BinMapper.fit(X).transform(X), g[0], max_leaves=17, n_threads=2)


def test_room_that_is_new_left_by_others_or_widened_on_the_way_changes_nothing(monkeypatch, alone):
    assert_same(alone, grow(*draw_rows(), anew=True))
    for leaves in (2, 1):
        monkeypatch.setattr("costframe.trees.grow._LEAVES", leaves)
        assert_same(alone, grow(*draw_rows(), n_threads=leaves))


def test_any_order_of_rows_gives_the_same_trees_where_gradients_add_exactly(alone):
    X, g, h, weight = draw_rows()
    order = np.random.default_rng(0).permutation(len(X))
    trees, prices = grow(X[order], g[:, order], h[:, order], weight[order])
    for tree, other in zip(alone[0], trees, strict=True):
        assert same(tree, other, "outputs")
        assert np.array_equal(tree.leaf_of_row[order], other.leaf_of_row)
    assert prices.spent == alone[1].spent


def test_trees_grown_at_once_are_those_grown_alone(alone):
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(grow, *draw_rows(), n_threads=n) for n in (1, 2, 2, 3)]
    for job in jobs:
        assert_same(alone, job.result())


# --- edges and sizes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-290, 1e-200, 1e200, 1e300])
def test_gradients_and_hessians_to_the_ends_of_the_doubles(size):
    X = np.array([[0.0], [1.0], [2.0]])
    g, h = np.array([-1.0, 1.0, 0.5]), np.array([1.0, 0.5, 0.5])
    data = BinMapper.fit(X).transform(X)
    assert grow_tree(data, g * size, h * size).outputs == pytest.approx([0, 1, 0, -2, -1], rel=1e-3)
    assert grow_tree(data, g * size, prices=OncePrices([1e300])).n_leaves == (1 if size < 1e200 else 3)
    assert grow_tree(data, g * size, h, l2=1.0).n_leaves == 2


@pytest.mark.parametrize("unit", [1e-60, 1.0, 1e60])
def test_rounding_buys_no_feature_at_any_size(unit):
    X, h = np.random.default_rng(0).standard_normal((1000, 5)), np.random.default_rng(1).random(1000)
    data = BinMapper.fit(X).transform(X)
    assert grow_tree(data, np.full(1000, 0.1 * unit)).n_leaves == 1
    assert grow_tree(data, h * 0.25, h * unit).n_leaves == 1


@pytest.mark.parametrize(
    ("gradients", "hessians", "text"),
    [
        ([1.0, nan], None, "gradients: must be finite"),
        ([1e308, 1e308], None, "gradients: must be finite and have a finite sum"),
        ([1.0, 1.0], [1.0, inf], "hessians: must be finite"),
        ([1.0, 1.0], [-1.0, 1.0], "hessians: must not be negative"),
    ],
)
def test_gradients_that_cannot_be_summed_are_refused(gradients, hessians, text):
    data = BinMapper.fit(np.eye(2)).transform(np.eye(2))
    with pytest.raises(DataError, match=text):
        grow_tree(data, np.array(gradients), None if hessians is None else np.array(hessians))


def wide_table(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0] * X[:, 1]) + rng.standard_normal(n)


def test_a_tree_is_the_same_whichever_histograms_are_kept(monkeypatch):
    X, y = wide_table(3000, 21)
    trees = []
    monkeypatch.setattr("costframe.trees.grow._CELLS_PER_THREAD", 1000)
    for least in (2**26, 2**20, 0):  # of all columns, of some, of fewer
        monkeypatch.setattr("costframe.trees.room._LEAST_KEPT", least)
        data = BinMapper.fit(X).transform(X)
        trees.append(grow_tree(data, -y, np.abs(y), max_leaves=40, min_samples_leaf=5, n_threads=2))
        (place,) = next(iter(data.places.values()))
        assert (place.room.histogram.shape[1] == 6) == (least == 2**26)
    assert trees[0].n_leaves == 40
    assert same(trees[0], trees[1])
    assert same(trees[0], trees[2])


def test_memory_grows_with_the_table_and_not_with_columns_times_leaves():
    n, d = 2000, 10_000
    shape = np.broadcast_to(np.uint8(0), (n, d))
    data = BinnedData(shape, shape.T, BinMapper((np.arange(256.0)[1:],) * d))
    room = new_room(data, 2, 0, 32)
    assert 0 < room.histogram.nbytes <= 4 * n * d
    assert widened(room, data).histogram.nbytes <= 4 * n * d


def test_a_tree_splits_the_last_rows_on_the_last_column_of_more_than_2_to_the_32_cells():
    n, d = 120_000, 40_000
    try:
        bins, columns = np.zeros((n, d), np.uint8), np.zeros((d, n), np.uint8)  # untouched memory costs nothing
    except MemoryError:
        pytest.skip("this system does not lend 10 GB that are not used")
    rows = np.arange(n - 100, n)
    bins[rows[::3], d - 1] = columns[d - 1, rows[::3]] = 1
    allowed = np.isin(np.arange(d), [0, 14_000, d - 2, d - 1])
    data = BinnedData(bins, columns, BinMapper([np.array([0.5, np.inf])] * d))
    tree = grow_tree(data, np.where(bins[:, d - 1] == 1, 1.0, -1.0), rows=rows, features=allowed)
    assert tree.table.feature.tolist() == [d - 1, -1, -1]
    assert tree.leaf_of_row.tolist() == np.where(bins[:, d - 1] == 1, 2, 1).tolist()
