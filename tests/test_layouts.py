"""Layouts of trees and models by the engine, against their twins in numpy, and the leaves that rows reach in them."""

import naive_layout
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe import Answer, StageTree, WeakLearnerBank
from costframe.core.learners.node_layout import COLUMN_AT, COLUMN_BITS, code_values, lay_out_cuts, lay_out_nodes
from costframe.core.learners.tree_table import COLUMN, OPAQUE, PLAIN, TREE, WHOLE, WHOLE_FLOAT32, ZERO_MISSING
from costframe.core.stages.certain import lay_out_bounds
from costframe.plugin import TreeTable, tree_leaves

pytestmark = pytest.mark.engine

NAMES = tuple("abcdef")
SPECIAL = [-np.inf, np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324]


def drawn_tree(rng, n_leaves, width, *, categories):
    """A tree of random shape, whose nodes are numbered at random, but children after their parents."""
    left, right, leaves, key = [-1], [-1], [0], [0.0]
    while len(leaves) < n_leaves:
        split = leaves.pop(rng.integers(len(leaves)) if rng.random() < 0.5 else -1)
        left[split], right[split] = len(left), len(left) + 1
        leaves += [left[split], right[split]]
        key += (key[split] + rng.random(2)).tolist()
        left += [-1, -1]
        right += [-1, -1]
    n = len(left)
    new = np.argsort(np.argsort(key))
    inner = np.array(left) >= 0
    sides = [np.full(n, -1) for _ in range(2)]
    for side, old in zip(sides, (left, right), strict=True):
        side[new[inner]] = new[np.array(old)[inner]]
    feature = np.full(n, -1)
    feature[new[inner]] = rng.integers(len(NAMES), size=inner.sum())
    threshold = np.where(rng.random(n) < 0.1, rng.choice(SPECIAL, n), rng.normal(size=n).round(1))
    values = rng.choice([-1.0, 0.0, 0.5, 0.5, -1e308, 1e308], (n, width))
    named = {
        node: np.sort(rng.choice(9, 3, replace=False)) * 1.0 for node in new[inner] if categories and rng.random() < 0.3
    }
    threshold[list(named)] = np.nan
    return TreeTable.single(
        feature, threshold, rng.random(n) < 0.5, *sides, values[:, 0] if width == 1 else values, categories=named
    )


def drawn_table(rng, count, width=1):
    sizes = rng.choice([1, 2, 3, 8, 40, 64, 65, 130], count)
    return TreeTable.concatenate([drawn_tree(rng, size, width, categories=rng.random() < 0.3) for size in sizes])


def assert_all_same(one, other):
    for mine, twin in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, twin)
        assert mine.dtype == twin.dtype


@settings(deadline=None)
@given(st.lists(st.lists(st.one_of(st.sampled_from(SPECIAL), st.floats(allow_nan=False)), max_size=40), max_size=4))
def test_tables_of_cuts_are_those_of_the_twin(lists):
    cuts = [np.unique(np.array(values, np.float64)) for values in lists]
    first = np.cumsum([0, *map(len, cuts)])
    cut = np.concatenate([np.zeros(0), *cuts])
    assert_all_same(lay_out_cuts(first, cut), naive_layout.lay_out_cuts(first, cut))


@pytest.mark.parametrize("seed", range(30))
def test_nodes_and_gates_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    table = drawn_table(rng, rng.integers(1, 6))
    nodes = lay_out_nodes(table, len(NAMES))
    origin, parent, steps, depth, levels = naive_layout.order_nodes(table)
    assert_all_same((nodes.origin, nodes.parent, nodes.depth), (origin, parent, depth))
    np.testing.assert_array_equal(nodes.word >> np.uint64(41) & np.uint64(2**22 - 1), steps)
    column = (nodes.word >> COLUMN_AT & COLUMN_BITS).astype(np.int64)
    rank = (nodes.word & np.uint64(2**23 - 1)).astype(np.int64).astype(nodes.gates.rank.dtype)
    tree = table.tree_of_node
    twin = naive_layout.lay_out_gates(levels, steps, tree, column, rank, depth, nodes.by_category)
    assert_all_same(nodes.gates, twin)
    assert nodes.gates.n_words.any() or (np.diff(table.first) > 127).any() or nodes.by_category.any()


def drawn_model(rng, n_outputs):
    """A sum of trees with several outputs and columns, some weights being zero."""
    table = drawn_table(rng, 4, width=2)
    bank = cf.WeakLearnerBank.from_trees(table, NAMES) + cf.WeakLearnerBank.columns(NAMES, [1, 4])
    weights = rng.normal(size=(bank.widths.sum(), n_outputs)) * (rng.random((bank.widths.sum(), n_outputs)) < 0.7)
    weights *= rng.choice([1.0, 1.0, 100.0], weights.shape)  # so that infinities of both signs meet in some leaves
    return cf.StageTree(bank, [cf.Answer(np.arange(len(bank.widths)), weights, np.zeros(n_outputs))])


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("seed", range(15))
def test_payloads_and_bounds_are_those_of_the_twin(seed, n_outputs):
    layout = drawn_model(np.random.default_rng(seed), n_outputs).layout
    with np.errstate(over="ignore", invalid="ignore"):
        payload, bounds = naive_layout.lay_out_payload(layout), naive_layout.lay_out_bounds(layout)
    assert_all_same([layout.payload], [payload])
    assert_all_same(lay_out_bounds(layout).arrays, bounds)


# --- leaves found by gates, or by a walk in large trees, and the codes of values that both compare ---

WITH_NAN = [np.nan, *SPECIAL]


def grow_at_drawn_leaves(
    random: np.random.Generator, n_leaves: int, thresholds: np.ndarray, d: int, *, chain: bool = False
) -> TreeTable:
    """Draw a tree: split a drawn leaf, or always the last one, until there are enough."""
    nodes = [[-1, 0.0, False, -1, -1]]
    leaves = [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(-1 if chain else random.integers(len(leaves)))
        left = len(nodes)
        nodes[node] = [random.integers(d), random.choice(thresholds), random.random() < 0.5, left, left + 1]
        nodes += [[-1, 0.0, False, -1, -1] for _ in range(2)]
        leaves += [left + 1, left] if random.random() < 0.5 else [left, left + 1]
    return TreeTable.single(*zip(*nodes, strict=True), np.arange(float(len(nodes))))


def walk(trees: TreeTable, row: np.ndarray, tree: int) -> int:
    first, node = int(trees.first[tree]), 0
    while (feature := trees.feature[first + node]) >= 0:
        at, value = first + node, row[feature]
        left = trees.missing_left[at] if np.isnan(value) else value <= trees.threshold[at]
        node = int(trees.left[at] if left else trees.right[at])
    return node


@pytest.mark.parametrize("spread", [1e-300, 1e308, "skewed", "infinite"])
def test_every_row_ends_at_the_leaf_of_a_plain_walk(spread):
    random = np.random.default_rng(3)
    thresholds = np.append(random.standard_normal(200), np.nan)
    if spread == "skewed":
        thresholds = np.sign(thresholds) * 10.0 ** (50 * thresholds)
    elif spread == "infinite":
        thresholds[:20], thresholds[20:40] = np.inf, -np.inf
    else:
        with np.errstate(over="ignore"):
            thresholds *= spread
    sizes = [1, 2, 3, 8, 9, 31, 32, 33, 63, 64, 65, 200]
    trees = TreeTable.concatenate([grow_at_drawn_leaves(random, n, thresholds, 4, chain=n % 2 == 0) for n in sizes])
    near = np.concatenate([np.nextafter(thresholds, -np.inf), thresholds, np.nextafter(thresholds, np.inf), WITH_NAN])
    X = random.choice(near, (600, 4))
    layout = lay_out_nodes(trees, 4)
    assert (layout.gates.n_words[[5, 7, 9]] == [1, 2, 2]).all()  # 31, 33 and 64 leaves
    assert (layout.gates.n_words[-2:] == 0).all()
    expected = [[walk(trees, row, tree) for tree in range(len(trees))] for row in X]
    np.testing.assert_array_equal(tree_leaves(trees, X), expected)
    tree = StageTree(
        WeakLearnerBank.from_trees(trees, tuple("abcd")), (Answer(np.arange(len(sizes)), np.ones(len(sizes)), [0.0]),)
    )
    np.testing.assert_array_equal([tree.predict(row[np.newaxis])[0] for row in X], np.sum(expected, axis=1))


def test_a_feature_with_many_cuts_has_wider_codes():
    random, n = np.random.default_rng(0), 70_000
    X, cuts = random.standard_normal((300, 1)), np.sort(random.standard_normal(n))
    tests = np.tile([True, False, False], n)
    trees = TreeTable(
        3 * np.arange(n + 1), np.where(tests, 0, -1), np.repeat(cuts, 3), np.ones(3 * n), np.where(tests, 1, -1),
        np.where(tests, 2, -1), np.ones(n), np.where(tests, -1, np.arange(3 * n)), np.zeros(3 * n),
    )  # fmt: skip
    codes = code_values(lay_out_nodes(trees, 1), X, np.array([0]))
    assert codes.dtype == np.uint32
    np.testing.assert_array_equal(codes[0], np.searchsorted(cuts, X[:, 0]) + 1)
    np.testing.assert_array_equal(tree_leaves(trees, X[:10]), np.where(X[:10] <= cuts, 1, 2))


def test_numbers_of_kinds_are_as_files_have_them():
    assert (TREE, COLUMN, OPAQUE) == (0, 1, 2)
    assert (PLAIN, ZERO_MISSING, WHOLE, WHOLE_FLOAT32) == (0, 1, 2, 3)
