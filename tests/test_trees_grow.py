"""Whole trees against the naive grower, and laws that hold whatever the data."""

from math import inf, nan

import naive_trees as naive
import numpy as np
import pytest
from attrs import fields
from hypothesis import given
from hypothesis import strategies as st

from costframe.core.errors import BankError, DataError
from costframe.core.learners.tree_table import TreeTable
from costframe.core.prices.needs import Needs
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.growing.grow import grow_tree
from costframe.trees.growing.prices import NoPrices, OncePrices

seeds = st.integers(0, 2**32 - 1)
UNLIMITED = 10**9


def draw_data(rng, n, d):
    X = rng.choice([-inf, -1.5, 0.0, 0.5, 1.0, 2.0, 3.5, inf, nan], (n, d), p=[0.04] + [0.14] * 6 + [0.04, 0.08])
    X[:, rng.random(d) < 0.15] = 1.0
    X[:, rng.random(d) < 0.1] = nan
    return X


def draw_gradients(rng, n, weighted):
    g = (rng.integers(-16, 17, n) / 8).astype(np.float32)
    return g, (rng.integers(0, 9, n) / 4).astype(np.float32) if weighted else None


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
    slow = naive.Prices(feature.tolist(), resource.tolist(), needed, split.tolist(), root, reuse, weights.tolist())
    return fast, slow


def assert_same_tree(tree, slow, mapper):
    feature, bin_, missing_left, left, right = zip(*slow.nodes, strict=True)
    assert tree.feature.tolist() == list(feature)
    assert tree.left.tolist() == list(left)
    assert tree.right.tolist() == list(right)
    inner = [node for node, f in enumerate(feature) if f >= 0]
    assert tree.missing_left[inner].tolist() == [missing_left[node] for node in inner]
    assert tree.threshold[inner].tolist() == [mapper.thresholds[feature[node]][bin_[node]] for node in inner]
    assert tree.leaf_of_row.tolist() == slow.leaf_of_row
    assert tree.outputs.tolist() == slow.outputs
    assert tree.n_leaves == len(slow.open)


@given(
    seed=seeds,
    n=st.integers(1, 24),
    d=st.integers(1, 5),
    growth=st.sampled_from(["breadth", "best"]),
    priced=st.booleans(),
    weighted=st.booleans(),
    depth=st.sampled_from([None, 1, 2, 3]),
    leaves=st.sampled_from([None, 1, 2, 3, 5]),
    min_rows=st.integers(1, 3),
    min_hessian=st.sampled_from([0.0, 0.5]),
    l2=st.sampled_from([0.0, 0.5]),
    part_of_rows=st.booleans(),
)
def test_trees_are_the_naive_ones(
    seed, n, d, growth, priced, weighted, depth, leaves, min_rows, min_hessian, l2, part_of_rows
):
    rng = np.random.default_rng(seed)
    X = draw_data(rng, n, d)
    data = BinMapper.fit(X, max_bins=int(rng.integers(2, 8))).transform(X)
    prices, slow_prices = draw_prices(rng, n, d) if priced else (NoPrices(), naive.Free())
    rows = rng.permutation(n)[: rng.integers(1, n + 1)] if part_of_rows else None
    features = rng.random(d) < 0.8
    for _ in range(3):  # trees of one ensemble share what is paid
        g, h = draw_gradients(rng, n, weighted)
        tree = grow_tree(
            data, g, h, rows=rows, features=features, prices=prices, growth=growth, max_depth=depth, max_leaves=leaves,
            min_samples_leaf=min_rows, min_hessian_leaf=min_hessian, l2=l2,
        )  # fmt: skip
        slow = naive.Tree(
            data.bins.tolist(), data.mapper.n_bins, g.tolist(), [1.0] * n if h is None else h.tolist(), slow_prices,
            rows=list(range(n)) if rows is None else sorted(rows.tolist()), features=np.flatnonzero(features).tolist(),
            growth=growth, depth=depth or UNLIMITED, leaves=leaves or UNLIMITED, min_rows=min_rows,
            min_hessian=min_hessian, l2=l2,
        )  # fmt: skip
        assert_same_tree(tree, slow, data.mapper)


@pytest.fixture
def eager_threads(monkeypatch):
    monkeypatch.setattr("costframe.trees.growing.grow._CELLS_WORTH_THREADS", 0)
    monkeypatch.setattr("costframe.trees.growing.grow._CELLS_PER_THREAD", 1)
    monkeypatch.setattr("costframe.trees.growing.finish._ROWS_WORTH_THREADS", 0)
    monkeypatch.setattr("costframe.trees.growing.finish._ROWS_PER_PART", 101)
    monkeypatch.setattr("costframe.trees.growing.grow._ROWS_PER_PART", 99)


def draw_table(n=1500, d=11):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < 0.1] = nan
    y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + np.isnan(X[:, 2]) + 0.1 * rng.standard_normal(n)
    return X, y.astype(np.float32)


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize("growth", ["breadth", "best"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shared_rows", [False, True])
def test_the_same_bit_for_bit_with_any_number_of_threads(monkeypatch, growth, weighted, shared_rows):
    if shared_rows:
        monkeypatch.setattr("costframe.trees.growing.grow._CACHED", 0)
        monkeypatch.setattr("costframe.trees.growing.grow._ROWS_PER_THREAD", 50)
    X, y = draw_table()
    data = BinMapper.fit(X).transform(X)
    h = np.random.default_rng(0).random(len(y)).astype(np.float32) if weighted else None
    rows = np.flatnonzero(np.random.default_rng(1).random(len(y)) < 0.7)
    trees = [
        grow_tree(
            data,
            -y,
            h,
            rows=rows,
            prices=OncePrices(np.full(11, 2.0)),
            growth=growth,
            max_leaves=17,
            l2=0.1,
            n_threads=n,
        )
        for n in (1, 2, 3)
    ]
    assert trees[0].n_leaves == 17
    for tree in trees[1:]:
        for name in ("feature", "threshold", "missing_left", "left", "right", "outputs", "leaf_of_row"):
            assert np.array_equal(getattr(tree, name), getattr(trees[0], name))


@pytest.mark.usefixtures("eager_threads")
def test_an_error_of_a_helping_thread_ends_growth(monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr("costframe.engine.assist", fail)
    X, y = draw_table()
    with pytest.raises(MemoryError):
        grow_tree(BinMapper.fit(X).transform(X), -y, max_leaves=17, n_threads=2)


@pytest.mark.parametrize("growth", ["breadth", "best"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_tree_grows_the_same_in_room_that_is_widened_on_the_way(monkeypatch, growth, n_threads):
    X, y = draw_table()
    settings = {"growth": growth, "min_samples_leaf": 3, "n_threads": n_threads}
    trees = []
    for leaves in (1000, 2, 1):
        monkeypatch.setattr("costframe.trees.growing.grow._LEAVES", leaves)
        data = BinMapper.fit(X).transform(X)
        prices = OncePrices(np.full(11, 0.01), split_price=1e-4)
        trees.append([grow_tree(data, -y, prices=prices, **settings) for _ in range(2)])
    assert trees[0][0].n_leaves > 100
    for other in trees[1:]:
        for tree, expected in zip(other, trees[0], strict=True):
            for name in ("feature", "threshold", "missing_left", "left", "right", "outputs", "leaf_of_row"):
                assert np.array_equal(getattr(tree, name), getattr(expected, name))


def test_any_order_of_rows_gives_the_same_tree():
    X, y = draw_table()
    order = np.random.default_rng(0).permutation(len(y))
    first, second = (
        grow_tree(BinMapper.fit(A).transform(A), -b, max_leaves=20) for A, b in ((X, y), (X[order], y[order]))
    )
    for name in ("feature", "threshold", "missing_left", "left", "right"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    assert np.array_equal(first.leaf_of_row[order], second.leaf_of_row)
    assert second.outputs == pytest.approx(first.outputs, rel=1e-12)


def test_prices_of_zero_change_nothing_and_high_ones_forbid():
    X, y = draw_table()
    data = BinMapper.fit(X).transform(X)
    for growth in ("breadth", "best"):
        free = grow_tree(data, -y, growth=growth, max_leaves=12)
        zero = OncePrices(np.zeros(11), resource_price=[0.0], needed=Needs.of([[0]] * 11, [[]]).listed())
        priced = grow_tree(data, -y, growth=growth, max_leaves=12, prices=zero)
        assert free.table.feature.tolist() == priced.table.feature.tolist()
        assert free.outputs.tolist() == priced.outputs.tolist()
        assert grow_tree(data, -y, growth=growth, prices=OncePrices(np.full(11, 1e9))).n_leaves == 1


def test_a_payment_reorders_leaves_that_are_already_open():
    # Splits at the root and both children are on features 0, 1, 2; features 2 and 1 share a dear resource. The child
    # with the smaller gain becomes the better one once its sibling has paid for the resource.
    X = np.array([[a, b, c] for a in (0.0, 1.0) for b in (0.0, 1.0) for c in (0.0, 1.0)])
    y = (8 * X[:, 0] + np.where(X[:, 0] == 0, 4 * X[:, 1], 3.5 * X[:, 2])).astype(np.float32)
    data = BinMapper.fit(X).transform(X)
    prices = OncePrices(np.zeros(3), resource_price=[7.0], needed=Needs.of([[], [0], [0]], [[]]).listed())
    tree = grow_tree(data, -y, prices=prices)
    assert tree.feature.tolist() == [0, 1, 2, -1, -1, -1, -1]
    assert prices.resource_paid.all()
    dear = OncePrices(np.zeros(3), resource_price=[8.0], needed=Needs.of([[], [0], [0]], [[]]).listed())
    assert grow_tree(data, -y, prices=dear).n_leaves == 2  # neither gain alone repays it


def test_equal_leaves_are_split_oldest_first():
    X = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)])
    tree = grow_tree(BinMapper.fit(X).transform(X), -(8 * X[:, 0] + X[:, 1]), max_leaves=3)
    assert tree.feature.tolist() == [0, 1, -1, -1, -1]


@pytest.mark.parametrize("growth", ["breadth", "best"])
def test_a_split_must_gain_more_than_it_costs(growth):
    X = np.array([[0.0], [1.0]])
    data = BinMapper.fit(X).transform(X)
    gradients = np.array([-1.0, 1.0])  # a gain of 1/2 (1 + 1)
    assert grow_tree(data, gradients, growth=growth, prices=OncePrices([1.0])).n_leaves == 1
    assert grow_tree(data, gradients, growth=growth, prices=OncePrices([1.0 - 1e-9])).n_leaves == 2


def test_the_table_sends_rows_to_their_leaves():
    X, y = draw_table()
    tree = grow_tree(BinMapper.fit(X).transform(X), -y, max_leaves=31)
    table = tree.table
    for row in range(0, len(X), 50):
        node = 0
        while table.feature[node] >= 0:
            x = X[row, table.feature[node]]
            left = table.missing_left[node] if np.isnan(x) else x <= table.threshold[node]
            node = table.left[node] if left else table.right[node]
        assert node == tree.leaf_of_row[row]
        assert table.values[table.value[node]] == tree.outputs[node]
    scores = np.ones((len(X), 2))
    tree.add_to(scores[:, 1], 0.5)
    assert np.array_equal(scores[:, 1], 1 + 0.5 * tree.outputs[tree.leaf_of_row])
    assert (scores[:, 0] == 1).all()


@pytest.mark.parametrize("X", [[[1.0]], [[nan], [nan]], [[2.0], [2.0], [2.0]]])
@pytest.mark.parametrize("growth", ["breadth", "best"])
def test_what_cannot_be_split_is_a_constant(X, growth):
    tree = grow_tree(BinMapper.fit(X).transform(X), np.full(len(X), -3.0), growth=growth)
    assert tree.n_leaves == 1
    assert tree.outputs.tolist() == [3.0]
    assert tree.leaf_of_row.tolist() == [0] * len(X)
    assert len(tree.table) == 1


def test_rounding_buys_no_feature():
    X = np.random.default_rng(0).standard_normal((1000, 5))
    data = BinMapper.fit(X).transform(X)
    assert grow_tree(data, np.full(1000, 0.1, np.float32)).n_leaves == 1
    h = np.random.default_rng(1).random(1000).astype(np.float32)
    assert grow_tree(data, h * np.float32(0.25), h).n_leaves == 1


def test_no_weight_at_all_is_a_constant_of_zero():
    tree = grow_tree(BinMapper.fit([[1.0], [2.0]]).transform([[1.0], [2.0]]), np.array([1, -1]), np.zeros(2))
    assert tree.outputs.tolist() == [0.0]


@pytest.mark.parametrize(
    ("given_", "text"),
    [
        ({"gradients": np.array([1.0, nan])}, "gradients: must be finite"),
        ({"gradients": np.array([inf, 1e300])}, "gradients: must be finite"),
        ({"hessians": np.array([1.0, inf])}, "hessians: must be finite"),
    ],
)
def test_gradients_that_are_not_finite_are_refused(given_, text):
    data = BinMapper.fit(np.eye(2)).transform(np.eye(2))
    with pytest.raises(DataError, match=text):
        grow_tree(data, **{"gradients": np.ones(2), **given_})


def test_the_table_of_a_grown_tree_is_one_that_stands_all_checks():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (300, 2)).astype(float)
    data = BinMapper.fit(X, categorical=np.array([False, True])).transform(X)
    tree = grow_tree(data, np.sin(X.sum(axis=1)), max_leaves=9)
    shape = tree.feature, tree.threshold, tree.missing_left, tree.left, tree.right
    checked = TreeTable.single(*shape, tree.outputs, tree.categories)
    assert len(tree.categories) > 0
    for each in fields(TreeTable):
        found, expected = getattr(tree.table, each.name), getattr(checked, each.name)
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected, equal_nan=found.dtype.kind == "f")
        assert not found.flags.writeable
    with pytest.raises(BankError, match="must be finite"):
        TreeTable.single(*shape, np.where(tree.feature < 0, inf, 0.0), tree.categories, grown=True)
