"""Laws of many resources, features and tests: memory stays linear, and results equal those of slow, obvious twins."""

import tracemalloc

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.core.errors import BankError, StorageError
from costframe.core.learners import tree_table
from costframe.core.learners.node_layout import lay_out_nodes, path_counts, path_masks
from costframe.core.learners.tree_table import TreeTable
from costframe.core.prices.costs import CostModel, FeaturePrice, ResourcePrice
from costframe.core.prices.needs import Needs
from costframe.core.stages.stages import Answer
from costframe.training.data import Rows
from costframe.trees.growing.prices import once_prices

MB = 2**20
seeds = st.integers(0, 2**32 - 1)


def peak(function):
    """Call a function; return its result, and the most memory that it had at a time, in bytes."""
    tracemalloc.start()
    try:
        return function(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def chain(n_resources, n_features=20):
    """Feature i needs the i-th resource, and each resource the next one."""
    after = [(f"r{i + 1}",) for i in range(n_resources - 1)] + [()]
    resources = tuple(ResourcePrice(f"r{i}", 1.0, after[i]) for i in range(n_resources))
    return CostModel(tuple(FeaturePrice(f"f{i}", 1.0, (f"r{i}",)) for i in range(n_features)), resources)


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
        n = len(feature)
        tables.append(
            TreeTable.single(feature, rng.normal(size=n), rng.random(n) < 0.5, left, right, rng.normal(size=n))
        )
    return TreeTable.concatenate(tables)


def answer_of(table, names, costs=None):
    bank = cf.WeakLearnerBank.from_trees(table, names)
    return cf.StageTree(bank, [Answer(np.arange(len(table)), np.ones((len(table), 1)), [0.0])], costs)


# --- resources ---------------------------------------------------------------------------------------------------


@st.composite
def drawn_needs(draw, n_features=4):
    n = draw(st.integers(1, 12))
    later = [draw(st.sets(st.integers(r + 1, n - 1), max_size=3)) if r + 1 < n else set() for r in range(n)]
    order = draw(st.permutations(range(n)))  # those needed come before or after
    resources = [set()] * n
    for r in range(n):
        resources[order[r]] = {order[s] for s in later[r]}
    features = [draw(st.sets(st.integers(0, n - 1), max_size=3)) for _ in range(n_features)]
    return features, resources


def closure(direct, resources):
    found = set()
    for r in direct:
        found |= {r} | closure(resources[r], resources)
    return found


@given(drawn_needs(), seeds)
def test_needs_equal_their_naive_closure(drawn, seed):
    features, resources = drawn
    needs, expected = Needs.of(*drawn), [closure(each, resources) for each in features]
    rng, n = np.random.default_rng(seed), len(resources)
    acquired = rng.random((5, len(features))) < 0.5
    rows = [set().union(*(expected[f] for f in np.flatnonzero(row))) for row in acquired]
    assert [set(np.flatnonzero(row).tolist()) for row in needs.of_rows(acquired)] == rows
    assert needs.count_rows(acquired).tolist() == [sum(r in row for row in rows) for r in range(n)]
    assert [needs.unpaid(f) for f in range(len(features))] == expected
    assert needs.unpaid(0, expected[1]) == expected[0] - expected[1]
    assert set(np.flatnonzero(needs.of_set([0, 2])).tolist()) == expected[0] | expected[2]
    assert needs.of_resource(0) == closure([0], resources)
    assert needs.needing([0]).tolist() == [f for f, each in enumerate(expected) if 0 in each]
    turned = needs.restrict(np.array([2, 0]))
    assert [turned.unpaid(f) for f in range(2)] == [expected[2], expected[0]]


def test_a_chain_of_resources_is_selected_and_paid_in_linear_memory():
    model = chain(20_000)
    prices, most = peak(lambda: model.select(model.names))
    assert most < 8 * MB
    assert model.full_cost() == 20_020
    table = TreeTable.single([7, -1, -1], [0.0] * 3, [False] * 3, [1, -1, -1], [2, -1, -1], np.arange(3.0))
    tree = answer_of(table, model.names, model)
    rows = np.zeros((3, 20))
    tree.cost(rows)  # compiles
    report, most = peak(lambda: tree.cost(rows))
    assert most < 16 * MB
    assert report.per_row.tolist() == [1.0 + 19_993] * 3
    assert cf.predict_one(tree, rows[0]).cost == 1.0 + 19_993
    assert tree.inquire(max_cost=19_993.5).answer.reason == "max_cost"
    assert tree.inquire(unavailable=["r19999"]).answer.reason == "unavailable"
    assert tree.inquire(unavailable=["r6"]).needs == ("f7",)
    assert tree.inquire(known=["r7"]).needs == ("f7",)
    assert prices.alone[:2].tolist() == [20_001.0, 20_000.0]


@pytest.mark.parametrize("max_cost", [None, 25.0, 60.0])
@pytest.mark.parametrize("acquisition", ["path", "learner"])
@settings(max_examples=25)
@given(seeds)
def test_rows_pay_for_many_shared_resources_like_their_inquiries(max_cost, acquisition, seed):
    rng = np.random.default_rng(seed)
    names, price = [f"r{r}" for r in rng.permutation(20)], rng.uniform(0.1, 9.0, 30)
    resources = tuple(
        ResourcePrice(name, price[r], tuple(rng.choice(names[:r], min(r, 2), replace=False).tolist()))
        for r, name in enumerate(names)
    )[::-1]
    costs = CostModel(
        tuple(FeaturePrice(f"f{f}", price[20 + f], tuple({str(rng.choice(names))})) for f in range(10)), resources
    )
    tree = answer_of(random_trees(rng, 10, 3, 4), costs.names, costs)
    X = rng.normal(size=(4, 10))
    report = tree.cost(X, acquisition=acquisition, max_cost=max_cost)
    for i, row in enumerate(X):
        inquiry = tree.inquire(acquisition=acquisition, max_cost=max_cost)
        while inquiry.needs:
            inquiry.supply({name: row[int(name[1:])] for name in inquiry.needs})
        assert report.per_row[i] == pytest.approx(inquiry.answer.cost, rel=1e-12)
        assert report.predictions[i] == inquiry.answer.value
        assert {costs.names[f] for f in np.flatnonzero(report.acquired[i])} == set(inquiry.answer.acquired)
    if max_cost is None:
        expected = [naive.hard_cost(tree, row, costs, acquisition)[0] for row in X]
        assert report.per_row.tolist() == pytest.approx(expected, rel=1e-12)


# --- trees over many features ------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 4))
def test_features_on_a_path_are_counted_once(seed, n_features):
    nodes = lay_out_nodes(random_trees(np.random.default_rng(seed), n_features, 3, 6), n_features)
    expected = np.bitwise_count(path_masks(nodes.parent, nodes.feature, n_features)).sum(axis=1)
    assert path_counts(nodes.parent, nodes.feature, n_features).tolist() == expected.tolist()


@pytest.mark.parametrize("acquisition", ["path", "learner"])
def test_many_features_are_priced_by_their_naive_twin(acquisition):
    rng, d = np.random.default_rng(3), 700
    costs = CostModel(
        tuple(FeaturePrice(f"f{f}", float(f), split=0.125 * (f % 3)) for f in range(d)), learner=0.5, reuse=0.25
    )
    tree = answer_of(random_trees(rng, d, 60, 20), costs.names, costs)
    assert not len(path_masks(tree.layout.nodes.parent, tree.layout.nodes.feature, len(tree.layout.used)))
    X = rng.normal(size=(5, d))
    expected = [naive.hard_cost(tree, row, costs, acquisition)[0] for row in X]
    assert tree.cost(X, acquisition=acquisition).per_row.tolist() == pytest.approx(expected, rel=1e-12)


def balanced(d):
    """One tree with a test of each of d features."""
    node = np.arange(2 * d + 1)
    inner = node < d
    children = [np.where(inner, 2 * node + k, -1) for k in (1, 2)]
    none = np.zeros(len(node))
    return TreeTable.single(np.where(inner, node, -1), none, none > 0, *children, none)


def test_paths_through_a_tree_over_many_features_take_linear_memory():
    names = tuple(f"f{f}" for f in range(20_000))
    tree, X = answer_of(balanced(20_000), names), np.zeros((4, 20_000))
    tree.cost(X)  # compiles, and lays out
    for acquisition in ("path", "learner"):
        report, most = peak(lambda how=acquisition: tree.cost(X, acquisition=how))
        assert most < 24 * MB  # masks of nodes took 100
        assert report.per_row.tolist() == [15.0 if acquisition == "path" else 20_000.0] * 4


# --- categories --------------------------------------------------------------------------------------------------


def category_stumps(sets, missing_left):
    rows = [(0, np.nan, missing, 1, 2) for missing in missing_left]
    tables = [
        TreeTable.single(
            [f, -1, -1], [t, 0, 0], [m, False, False], [left, -1, -1], [right, -1, -1], np.arange(3.0), {0: values}
        )
        for (f, t, m, left, right), values in zip(rows, sets, strict=True)
    ]
    return TreeTable.concatenate(tables)


def test_many_tests_of_single_categories_take_linear_memory():
    rng = np.random.default_rng(0)
    sets = [[float(c)] for c in rng.permutation(1500)] + [np.arange(750.0), [2.0, 1499.0]]
    table = category_stumps(sets, rng.random(len(sets)) < 0.5)
    nodes, most = peak(lambda: lay_out_nodes(table, 1))
    assert len(nodes.sets) < 20 * len(sets)
    assert most < 8 * MB
    X = np.array([[0.0], [17.0], [749.0], [750.0], [1499.0], [1500.0], [np.nan]])
    tree = answer_of(table, ["a"])
    sides = [np.isin(X[:, 0], each) != missing for each, missing in zip(sets, table.missing_left[::3], strict=True)]
    expected = np.where(sides, 1.0, 2.0).sum(axis=0).tolist()
    assert tree.predict(X).tolist() == expected
    assert [tree.predict(row[np.newaxis])[0] for row in X] == expected
    assert [cf.predict_one(tree, row).value for row in X[:2]] == expected[:2]
    assert tree.predict(X, max_cost=5.0).tolist() == expected


SIZES = {
    "MOST_NODES": (3, "trees: expected fewer than 3 nodes in one tree, got 3"),
    "MOST_COLUMNS": (2, "trees: expected fewer than 2 ways to test features, got 2"),
    "MOST_RANKS": (2, "trees: expected fewer than 2 words for tests of categories, got 2"),
}


@pytest.mark.parametrize("limit", SIZES)
def test_too_many_of_something_are_refused_when_trees_are_made_or_loaded(limit, monkeypatch, tmp_path):
    table = category_stumps([[1.0], [2.0]], [False, True])
    if limit == "MOST_COLUMNS":
        plain = TreeTable.single([0, -1, -1], [0.5, 0, 0], [False] * 3, [1, -1, -1], [2, -1, -1], np.arange(3.0))
        table = TreeTable.concatenate([table, plain])
    cf.save(answer_of(table, ["a"]), tmp_path / "model")
    most, text = SIZES[limit]
    monkeypatch.setattr(tree_table, "_SMALL", 0)
    monkeypatch.setattr(tree_table, limit, most)
    with pytest.raises(BankError, match=text):
        table.restrict(np.arange(len(table)))
    with pytest.raises(StorageError, match=text):
        cf.load(tmp_path / "model")


def test_too_many_thresholds_of_one_feature_are_refused(monkeypatch):
    table = random_trees(np.random.default_rng(0), 1, 1, 5)
    monkeypatch.setattr(tree_table, "_SMALL", 0)
    monkeypatch.setattr(tree_table, "MOST_RANKS", 5)
    with pytest.raises(BankError, match="expected fewer than 5 thresholds of one feature, got 5"):
        table.restrict([0])
    monkeypatch.setattr(tree_table, "MOST_RANKS", 6)
    assert table.restrict([0]).n_nodes == 11


@given(seeds)
def test_no_layout_is_larger_than_the_checks_suppose(seed):
    rng = np.random.default_rng(seed)
    wide = rng.random() < 0.5
    sets = [np.unique(rng.integers(0, 3000 if wide else 50, rng.integers(1, 6))) for _ in range(rng.integers(1, 60))]
    table = category_stumps(sets, rng.random(len(sets)) < 0.5)
    nodes = lay_out_nodes(table, 1)
    for limit, held in (("MOST_RANKS", len(nodes.sets)), ("MOST_COLUMNS", len(nodes.column_missing))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tree_table, "_SMALL", 0)
            patch.setattr(tree_table, limit, held)
            with pytest.raises(BankError, match="expected fewer than"):
                table.restrict(np.arange(len(table)))


def test_prices_of_trees_take_memory_by_what_features_need():
    d = 20_000
    features = tuple(FeaturePrice(f"f{i}", 1.0, (f"r{i}",)) for i in range(d))
    prices = CostModel(features, tuple(ResourcePrice(f"r{i}", 1.0) for i in range(d))).select(
        [f"f{i}" for i in range(d)]
    )
    rows = Rows(np.zeros((2, 1)), np.zeros(2), np.ones(2))
    state, most = peak(lambda: once_prices(prices, rows).state())
    assert state.items.tolist() == list(range(d))
    assert most < 20 * MB  # a byte for each feature and resource are 380
