"""Laws of many resources, features, tests and columns: memory stays linear, and results equal those of naive twins."""

import tracemalloc

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe import Answer, CostModel
from costframe.core.learners import tree_table
from costframe.core.learners.node_layout import path_masks
from costframe.core.prices.costs import FeaturePrice, ResourcePrice
from costframe.core.prices.needs import Needs
from costframe.errors import BankError, StorageError
from costframe.plugin import TreeTable
from costframe.trees.thresholds import at_quantiles, distinct, quantile_columns

MB = 2**20
seeds = st.integers(0, 2**32 - 1)


def peak(function):
    """Call a function; return its result, and the most memory that it had at a time, in bytes."""
    tracemalloc.start()
    try:
        return function(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def random_trees(rng, n_features, n_trees, n_inner):
    """Grow trees by splitting random leaves."""
    tables = []
    for _ in range(n_trees):
        feature, left, right = [-1], [-1], [-1]
        for _ in range(n_inner):
            node = int(rng.choice(np.flatnonzero(np.array(feature) < 0)))
            feature[node], left[node], right[node] = int(rng.integers(n_features)), len(feature), len(feature) + 1
            for each in (feature, left, right):
                each += [-1, -1]
        n, values = len(feature), rng.normal(size=(2, len(feature)))
        tables.append(TreeTable.single(feature, values[0], rng.random(n) < 0.5, left, right, values[1]))
    return TreeTable.concatenate(tables)


def answer_of(table, names, costs=None):
    bank = cf.WeakLearnerBank.from_trees(table, names)
    return cf.StageTree(bank, [Answer(np.arange(len(table)), np.ones((len(table), 1)), [0.0])], costs)


# --- resources ---


@st.composite
def drawn_needs(draw, n_features=4):
    n = draw(st.integers(1, 12))
    later = [draw(st.sets(st.integers(r + 1, n - 1), max_size=3)) if r + 1 < n else set() for r in range(n)]
    order, resources = draw(st.permutations(range(n))), [set()] * n  # those needed come before or after
    for r in range(n):
        resources[order[r]] = {order[s] for s in later[r]}
    return [draw(st.sets(st.integers(0, n - 1), max_size=3)) for _ in range(n_features)], resources


def closure(direct, resources):
    return set().union(*({r} | closure(resources[r], resources) for r in direct))


@given(drawn_needs(), seeds)
def test_needs_equal_their_naive_closure(drawn, seed):
    features, resources = drawn
    needs, expected = Needs.of(*drawn), [closure(each, resources) for each in features]
    acquired = np.random.default_rng(seed).random((5, len(features))) < 0.5
    rows = [set().union(*(expected[f] for f in np.flatnonzero(row))) for row in acquired]
    assert [set(np.flatnonzero(row).tolist()) for row in needs.of_rows(acquired)] == rows
    assert needs.count_rows(acquired).tolist() == [sum(r in row for row in rows) for r in range(len(resources))]
    assert [needs.unpaid(f) for f in range(len(features))] == expected
    assert needs.unpaid(0, expected[1]) == expected[0] - expected[1]
    assert set(np.flatnonzero(needs.of_set([0, 2])).tolist()) == expected[0] | expected[2]
    assert needs.of_resource(0) == closure([0], resources)
    assert needs.needing([0]).tolist() == [f for f, each in enumerate(expected) if 0 in each]
    turned = needs.restrict(np.array([2, 0]))
    assert [turned.unpaid(f) for f in range(2)] == [expected[2], expected[0]]


def test_a_chain_of_resources_is_selected_and_paid_in_linear_memory():
    n = 20_000  # feature i needs the i-th resource, and each resource the next one
    resources = tuple(ResourcePrice(f"r{i}", 1.0, (f"r{i + 1}",) if i + 1 < n else ()) for i in range(n))
    model = CostModel(tuple(FeaturePrice(f"f{i}", 1.0, (f"r{i}",)) for i in range(20)), resources)
    prices, most = peak(lambda: model.select(model.names))
    assert most < 8 * MB
    assert prices.alone[:2].tolist() == [20_001.0, 20_000.0]
    table = TreeTable.single([7, -1, -1], [0.0] * 3, [False] * 3, [1, -1, -1], [2, -1, -1], np.arange(3.0))
    tree, rows = answer_of(table, model.names, model), np.zeros((3, 20))
    tree.cost(rows)  # compiles
    report, most = peak(lambda: tree.cost(rows))
    assert most < 16 * MB
    assert report.per_row.tolist() == [1.0 + 19_993] * 3
    assert cf.predict_one(tree, rows[0]).cost == 1.0 + 19_993
    assert tree.inquire(max_cost=19_993.5).answer.reason == "max_cost"
    assert tree.inquire(unavailable=["r19999"]).answer.reason == "unavailable"
    assert tree.inquire(unavailable=["r6"]).needs == tree.inquire(known=["r7"]).needs == ("f7",)


# --- trees over many features ---


@pytest.mark.parametrize("acquisition", ["path", "learner"])
def test_many_features_are_priced_by_their_naive_twin(acquisition):
    rng, d = np.random.default_rng(3), 700
    features = tuple(FeaturePrice(f"f{f}", float(f), split=0.125 * (f % 3)) for f in range(d))
    costs = CostModel(features, learner=0.5, reuse=0.25)
    tree, X = answer_of(random_trees(rng, d, 60, 20), costs.names, costs), rng.normal(size=(5, d))
    assert not len(path_masks(tree.layout.nodes.parent, tree.layout.nodes.feature, len(tree.layout.used)))
    expected = [naive.hard_cost(tree, row, costs, acquisition)[0] for row in X]
    assert tree.cost(X, acquisition=acquisition).per_row.tolist() == pytest.approx(expected, rel=1e-12)


def test_paths_through_a_tree_over_many_features_take_linear_memory():
    d = 20_000  # one tree with a test of each
    node = np.arange(2 * d + 1)
    children, none = [np.where(node < d, 2 * node + k, -1) for k in (1, 2)], np.zeros(2 * d + 1)
    balanced = TreeTable.single(np.where(node < d, node, -1), none, none > 0, *children, none)
    tree, X = answer_of(balanced, tuple(f"f{f}" for f in range(d))), np.zeros((4, d))
    tree.cost(X)  # compiles, and lays out
    for acquisition in ("path", "learner"):
        report, most = peak(lambda how=acquisition: tree.cost(X, acquisition=how))
        assert most < 24 * MB  # masks of nodes took 100
        assert report.per_row.tolist() == [15.0 if acquisition == "path" else 20_000.0] * 4


# --- categories ---


def category_stumps(sets, missing_left):
    shape = [1, -1, -1], [2, -1, -1], np.arange(3.0)
    return TreeTable.concatenate([
        TreeTable.single([0, -1, -1], [np.nan, 0, 0], [missing, False, False], *shape, {0: values})
        for missing, values in zip(missing_left, sets, strict=True)
    ])  # fmt: skip


SIZES = {
    "MOST_NODES": (3, "trees: expected fewer than 3 nodes in one tree, got 3"),
    "MOST_COLUMNS": (2, "trees: expected fewer than 2 ways to test features, got 2"),
    "MOST_RANKS": (2, "trees: expected fewer than 2 words for tests of categories, got 2"),
}


@pytest.mark.parametrize("limit", SIZES)
def test_too_many_of_something_are_refused_when_trees_are_made_or_loaded(limit, monkeypatch, tmp_path):
    table, (most, text) = category_stumps([[1.0], [2.0]], [False, True]), SIZES[limit]
    if limit == "MOST_COLUMNS":
        plain = TreeTable.single([0, -1, -1], [0.5, 0, 0], [False] * 3, [1, -1, -1], [2, -1, -1], np.arange(3.0))
        table = TreeTable.concatenate([table, plain])
    cf.save(answer_of(table, ["a"]), tmp_path / "model")
    monkeypatch.setattr(tree_table, "_SMALL", 0)
    monkeypatch.setattr(tree_table, limit, most)
    with pytest.raises(BankError, match=text):
        table.restrict(np.arange(len(table))[::-1])
    with pytest.raises(StorageError, match=text):
        cf.load(tmp_path / "model")


# --- tables of many columns ---


@given(seeds, st.integers(2, 255))
def test_compiled_thresholds_equal_their_twins(seed, max_bins):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 600))
    columns = np.stack([
        rng.normal(size=n),
        rng.integers(0, rng.integers(1, 400), n),
        np.where(rng.random(n) < 0.3, np.nan, rng.exponential(size=n)),
        np.where(rng.random(n) < 0.2, rng.choice([-np.inf, np.inf], n), rng.normal(size=n).round(2)),
        rng.choice([-np.nan, np.nan, -0.0, 0.0, 5e-324, *rng.normal(size=400)], n),
    ])  # fmt: skip
    for column, found in zip(columns, quantile_columns(columns.copy(), max_bins), strict=True):
        values, masses = distinct(column, None)
        expected = None if len(values) <= max_bins else at_quantiles(values, masses, max_bins).tolist()
        assert (found if found is None else found.tolist()) == expected
