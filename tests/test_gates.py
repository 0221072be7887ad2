"""Leaves of small trees, found by gates, of large ones, found by a walk, and the codes of values that both compare."""

import numpy as np
import pytest

from costframe import Answer, StageTree, WeakLearnerBank
from costframe.core.learners.node_layout import code_values, lay_out_nodes
from costframe.plugin import TreeTable, tree_leaves

pytestmark = pytest.mark.engine

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308, -1e308]


def grow(
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
    trees = TreeTable.concatenate([grow(random, n, thresholds, 4, chain=n % 2 == 0) for n in sizes])
    near = np.concatenate([np.nextafter(thresholds, -np.inf), thresholds, np.nextafter(thresholds, np.inf), SPECIAL])
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
