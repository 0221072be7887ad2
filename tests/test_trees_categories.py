"""Categorical features in the engine: bins, the best sets, whole trees against the naive grower."""

from itertools import combinations
from math import inf, nan

import naive_trees as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe import engine
from costframe.core.learners.bits import bits_of
from costframe.core.learners.leaves import tree_leaves
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.growing.grow import grow_tree, pack
from costframe.trees.growing.prices import OncePrices
from costframe.trees.growing.room import Task

pytestmark = pytest.mark.engine

seeds = st.integers(0, 2**32 - 1)
UNLIMITED = 10**9


def fitted(X, categorical, **settings):
    X = np.asarray(X, np.float64)
    return BinMapper.fit(X, categorical=np.asarray(categorical), **settings).transform(X)


# --- bins --------------------------------------------------------------------------------------------------------


def test_each_category_has_a_bin_and_all_else_is_missing():
    mapper = BinMapper.fit([[3.5, 1.0], [-2.0, 2.0], [nan, 3.0], [3.5, 4.0]], categorical=np.array([True, False]))
    assert mapper.thresholds[0].tolist() == [-2.0, 3.5]
    assert mapper.n_bins.tolist() == [2, 4]
    data = mapper.transform(
        [[-2.0, 1.0], [3.5, 9.0], [0.0, nan], [4.0, 1.6], [-3.0, 1.0], [nan, 1.0], [inf, 1], [-inf, 1]]
    )
    assert data.bins[:, 0].tolist() == [0, 1] + [255] * 6
    assert np.array_equal(data.bins, data.columns.T)
    three = BinMapper.fit([[1.0], [2.0], [3.0]], categorical=np.array([True]))
    assert three.transform([[inf], [9.0], [3.0]]).bins[:, 0].tolist() == [255, 255, 2]
    assert data.bins[:4, 1].tolist() == [0, 3, 255, 1]


@given(seeds, st.integers(1, 400), st.sampled_from([2, 7, 64, 254, 255]), st.booleans(), st.booleans())
def test_the_heaviest_categories_have_bins(seed, n_categories, max_bins, weighted, many_rows):
    rng = np.random.default_rng(seed)
    column = rng.permutation(1000)[:n_categories][rng.integers(0, n_categories, 600)].astype(float)
    column[rng.random(600) < 0.1] = nan
    weight = rng.integers(0, 4, 600).astype(float) if weighted else np.ones(600)
    weight[0] = 1.0
    X = np.stack([column, rng.standard_normal(600)], axis=1)
    mapper = BinMapper.fit(
        X, max_bins=max_bins, sample_weight=weight, categorical=np.array([True, False]),
        subsample=50 if many_rows else 200_000,
    )  # fmt: skip
    mass = {}
    for value, w in zip(column, weight, strict=True):
        if w > 0 and not np.isnan(value):
            mass[value] = mass.get(value, 0) + w
    heaviest = sorted(mass, key=lambda value: (-mass[value], value))[:max_bins]
    assert mapper.thresholds[0].tolist() == (sorted(heaviest) or [inf])
    bins = mapper.transform(X, n_threads=2).bins[:, 0]
    place = {value: number for number, value in enumerate(sorted(heaviest))}
    assert bins.tolist() == [place.get(value, 255) for value in column.tolist()]


# --- the best set ------------------------------------------------------------------------------------------------


def found_split(cells, n_bins, g, h, *, with_hessians, l2, min_rows, min_hessian, low=-inf, high=inf):
    """The kernel's (gain, bins that go left, missing left) and sums on the left, of one column."""
    bins = np.array(cells, np.uint8)[:, np.newaxis]
    packed = pack(np.array(g), np.array(h) if with_hessians else None)
    n_words = packed.words.shape[1]
    histogram = np.empty((1, 256, 8 // n_words, n_words), np.int64)
    n_cells, column = np.array([n_bins]), np.array([0])
    engine.fill_histogram(bins, packed.words, np.arange(len(cells), dtype=np.int32), column, n_cells, histogram)
    total = np.append(packed.words.sum(axis=0), 0)[:2]
    gain, best = np.empty(1), np.empty((1, 8), np.int64)
    task = Task(
        bins, bins.T.copy(), packed.words, column, n_cells, np.array([True]),
        np.zeros(int(low > -inf or high < inf), np.int8), packed.count_bits,
        np.array([packed.gradient_unit, packed.hessian_unit]), np.array([l2, min_rows, min_hessian]),
        99, 99, False, 1.0, 2**62, 0,
    )  # fmt: skip
    engine.find_splits(engine.Task(*task), histogram, total, np.array([low, high]), np.empty((2, 0)), gain, best)
    if gain[0] == -inf:
        return None
    chosen = bits_of(best[:, 4:].view(np.uint64), 256)[0]
    inside = packed.words[chosen[bins[:, 0]]].sum(axis=0).tolist()
    assert best[0, :2].tolist()[: len(inside)] == inside
    return gain[0], frozenset(np.flatnonzero(chosen).tolist()), bool(best[0, 3])


@given(
    seeds,
    st.integers(1, 16),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.75]),
    st.sampled_from([[0], [0, 255], [0, 1, 2, 255], [0, 2, 63, 64, 127, 128, 254], [1, 3, 5, 7, 9, 11, 254, 255]]),
    st.sampled_from([(-inf, inf), (-0.25, inf), (-inf, -2.0), (-0.5, 0.75), (0.25, 0.25)]),
)
def test_the_best_set_is_the_best_prefix_of_all(seed, n, with_hessians, l2, min_rows, min_hessian, kinds, bounds):
    rng = np.random.default_rng(seed)
    cells = rng.choice(kinds, n).tolist()
    g = (rng.integers(-6, 7, n) / 4).tolist()
    h = (rng.integers(0, 5, n) / 4).tolist() if with_hessians else [1.0] * n
    limits = {"l2": l2, "min_rows": min_rows, "min_hessian": min_hessian, "low": bounds[0], "high": bounds[1]}
    expected = naive.best_category_split(cells, g, h, **limits)
    assert found_split(cells, 255, g, h, with_hessians=with_hessians, **limits) == expected


@given(seeds)
def test_of_equally_frequent_categories_no_other_set_is_better(seed):
    """Where smoothing does not change the order, the best prefix is the best of all sets (Fisher, 1958)."""
    rng = np.random.default_rng(seed)
    cells = np.repeat(np.arange(6), 4).tolist()
    g = (rng.integers(-16, 17, 24) / 8).tolist()
    found = found_split(cells, 6, g, [1.0] * 24, with_hessians=False, l2=0.0, min_rows=1, min_hessian=0.0)

    def gain(chosen):
        inside = [g[i] for i in range(24) if cells[i] in chosen]
        outside = [g[i] for i in range(24) if cells[i] not in chosen]
        return 0.5 * (sum(inside) ** 2 / len(inside) + sum(outside) ** 2 / len(outside) - sum(g) ** 2 / 24)

    best = max(gain(chosen) for size in range(1, 6) for chosen in combinations(range(6), size))
    assert (0.0 if found is None else found[0]) == pytest.approx(best, abs=1e-12)


# --- whole trees -------------------------------------------------------------------------------------------------


def draw_table(rng, n, d):
    X = rng.choice([-1.5, 0.0, 0.5, 1.0, 2.0, 3.5, 7.0, nan], (n, d))
    X[:, rng.random(d) < 0.1] = nan
    X[:, rng.random(d) < 0.1] = 2.0
    return X, rng.random(d) < 0.6


def assert_same_tree(tree, slow, mapper):
    feature, bin_, missing_left, left, right = zip(*slow.nodes, strict=True)
    assert tree.feature.tolist() == list(feature)
    assert (tree.left.tolist(), tree.right.tolist()) == (list(left), list(right))
    for node, f in enumerate(feature):
        if f < 0:
            continue
        assert tree.missing_left[node] == missing_left[node]
        if mapper.categorical[f]:
            against = [b for b in range(mapper.n_bins[f]) if (b in bin_[node]) != missing_left[node]]
            assert tree.categories[node].tolist() == mapper.thresholds[f][against].tolist()
        else:
            assert tree.threshold[node] == mapper.thresholds[f][bin_[node]]
    assert tree.leaf_of_row.tolist() == slow.leaf_of_row
    assert tree.outputs.tolist() == slow.outputs


@given(
    seed=seeds,
    n=st.integers(1, 24),
    d=st.integers(1, 4),
    growth=st.sampled_from(["breadth", "best"]),
    weighted=st.booleans(),
    leaves=st.sampled_from([None, 2, 4]),
    min_rows=st.integers(1, 3),
    l2=st.sampled_from([0.0, 0.5]),
    max_bins=st.sampled_from([3, 255]),
    part_of_rows=st.booleans(),
)
def test_grown_trees_equal_those_of_the_naive_grower(
    seed, n, d, growth, weighted, leaves, min_rows, l2, max_bins, part_of_rows
):
    rng = np.random.default_rng(seed)
    X, categorical = draw_table(rng, n, d)
    data = fitted(X, categorical, max_bins=max_bins)
    g = rng.integers(-16, 17, n) / 8
    h = rng.integers(0, 9, n) / 4 if weighted else None
    rows = np.sort(rng.choice(n, rng.integers(1, n + 1), replace=False)) if part_of_rows else None
    tree = grow_tree(data, g, h, rows=rows, growth=growth, max_leaves=leaves, min_samples_leaf=min_rows, l2=l2)
    slow = naive.Tree(
        data.bins.tolist(), data.mapper.n_bins.tolist(), g.tolist(), [1.0] * n if h is None else h.tolist(),
        naive.Free(), rows=list(range(n)) if rows is None else rows.tolist(),
        features=np.flatnonzero(data.splittable).tolist(), growth=growth, depth=UNLIMITED,
        leaves=UNLIMITED if leaves is None else leaves, min_rows=min_rows, min_hessian=0.0, l2=l2,
        categorical=set(np.flatnonzero(categorical).tolist()),
    )  # fmt: skip
    assert_same_tree(tree, slow, data.mapper)
    assert tree_leaves(tree.table, X)[:, 0].tolist() == tree.leaf_of_row.tolist()


@pytest.mark.parametrize("n_categories", [1, 2, 64, 65, 128, 129, 255, 256, 700])
def test_any_number_of_categories_routes_as_training_did(n_categories):
    rng = np.random.default_rng(n_categories)
    color = rng.integers(0, n_categories, 4000)
    effect = rng.integers(-8, 9, n_categories)
    X = np.stack([color.astype(float), rng.standard_normal(4000)], axis=1)
    X[rng.random(4000) < 0.05, 0] = nan
    y = effect[color] + rng.integers(-8, 9, 4000) / 8
    data = fitted(X, [True, False])
    assert data.mapper.n_bins[0] == min(n_categories, 255)
    tree = grow_tree(data, -y, rows=np.arange(0, 4000, 2), max_leaves=20)
    assert tree_leaves(tree.table, X)[:, 0].tolist() == tree.leaf_of_row.tolist()
    on_color = [node for node, f in enumerate(tree.feature) if f == 0]
    assert bool(on_color)
    assert all(len(tree.categories[node]) for node in on_color)
    unseen, missing = X.copy(), X.copy()
    unseen[:, 0], missing[:, 0] = 10_000.0, nan
    assert np.array_equal(tree_leaves(tree.table, unseen), tree_leaves(tree.table, missing))


def test_a_set_tells_apart_what_no_threshold_can():
    color = np.tile(np.arange(8.0), 20)
    y = np.where(color % 2 == 0, 1.0, -1.0)
    named = grow_tree(fitted(color[:, np.newaxis], [True]), -y)
    assert named.n_leaves == 2
    assert sorted(named.categories[0].tolist()) in ([0, 2, 4, 6], [1, 3, 5, 7])
    ordered = grow_tree(fitted(color[:, np.newaxis], [False]), -y)
    assert ordered.n_leaves == 8


def test_missing_rows_alone_are_split_off_all_categories():
    color = np.array([0.0, 1.0, nan] * 20)
    tree = grow_tree(fitted(color[:, np.newaxis], [True]), np.where(np.isnan(color), -1.0, 1.0))
    assert tree.n_leaves == 2
    assert tree.categories[0].tolist() == [0.0, 1.0]
    leaves = tree_leaves(tree.table, np.array([[0.0], [1.0], [nan], [5.0]]))[:, 0]
    assert leaves[0] == leaves[1] != leaves[2] == leaves[3]


@pytest.mark.parametrize("column", [[1.0, 1.0, 1.0], [nan, nan, nan]])
def test_a_constant_is_not_split(column):
    data = fitted(np.array(column)[:, np.newaxis], [True])
    assert not data.splittable.any()
    assert grow_tree(data, np.array([1.0, -1.0, 3.0])).n_leaves == 1


def test_categories_without_rows_in_a_leaf_go_the_missing_way():
    X = np.array([[a, c] for a in (0.0, 1.0) for c in (range(3) if a else range(6)) for _ in range(20)])
    y = 40 * X[:, 0] + np.where(X[:, 0] == 1, X[:, 1] == 1, 0.0)
    tree = grow_tree(fitted(X, [False, True]), -y, max_leaves=3)
    node = tree.right[0]
    assert (tree.feature[0], tree.feature[node]) == (0, 1)
    assert set(tree.categories[node].tolist()) <= {0.0, 1.0, 2.0}
    leaves = tree_leaves(tree.table, np.array([[1.0, nan], [1.0, 3.0], [1.0, 5.0], [1.0, 99.0]]))
    assert len(np.unique(leaves)) == 1


def test_any_number_of_threads_and_any_order_of_rows_give_the_same_tree():
    rng = np.random.default_rng(3)
    color = rng.integers(0, 90, (30_000, 3)).astype(float)
    X = np.concatenate([color, rng.standard_normal((30_000, 2))], axis=1)
    y = rng.integers(-64, 65, 90)[color[:, 0].astype(int)] / 16 + X[:, 3].round()
    categorical = [True, True, True, False, False]
    trees = [grow_tree(fitted(X, categorical, n_threads=n), -y, max_leaves=25, n_threads=n) for n in (1, 2, 3)]
    order = rng.permutation(30_000)
    trees.append(grow_tree(fitted(X[order], categorical), -y[order], max_leaves=25))
    assert len(trees[0].categories) > 3
    for tree in trees[1:]:
        for name in ("feature", "missing_left", "left", "right"):
            assert np.array_equal(getattr(tree, name), getattr(trees[0], name))
        assert tree.categories.keys() == trees[0].categories.keys()
        assert all(np.array_equal(tree.categories[node], trees[0].categories[node]) for node in tree.categories)
    assert np.array_equal(trees[0].leaf_of_row, trees[1].leaf_of_row)
    assert np.array_equal(trees[0].leaf_of_row[order], trees[3].leaf_of_row)


def test_a_categorical_split_costs_what_a_split_on_its_feature_costs():
    color = np.array([[0.0], [1.0]])
    data, gradients = fitted(color, [True]), np.array([-1.0, 1.0])  # a gain of 1/2 (1 + 1)
    assert grow_tree(data, gradients, prices=OncePrices([1.0])).n_leaves == 1
    assert grow_tree(data, gradients, prices=OncePrices([1.0 - 1e-9])).n_leaves == 2
