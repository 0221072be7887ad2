"""Greedy growing against a naive twin and scikit-learn's trees, and the draws of bags."""

import numpy as np
import pytest
from naive_budgetforest import grow, way
from sklearn.tree import DecisionTreeClassifier
from test_program_budgetforest import TABLES, data_of

from costframe_budgetforest.budgetrf import GrowSettings, grow_plain, grow_priced
from costframe_budgetforest.forest import ForestRows, draw_bags

pytestmark = pytest.mark.kernels


def settings(**changes):
    return GrowSettings(**{
        "n_trees": 1, "impurity": "gini", "minimax": False, "thresholds": (0.0,), "max_features": 1.0,
        "max_depth": 100, "min_leaf": 1.0, "smoothing": 0.0, "seed": 0,
    } | changes)  # fmt: skip


def unfold(trees, binned, node=0):
    """Return a tree as the naive twin does, with thresholds as bins."""
    f = trees.feature[node]
    if f < 0:
        return None
    cut = int(np.flatnonzero(binned.mapper.thresholds[f] == trees.threshold[node])[0])
    return f, cut, *(unfold(trees, binned, int(side[node])) for side in (trees.left, trees.right))


def folded(tree):
    return None if isinstance(tree, np.ndarray) else (tree[0], tree[1], folded(tree[3]), folded(tree[4]))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["unequal", "resources", "all kinds"])
@pytest.mark.parametrize(
    ("impurity", "alpha", "minimax"),
    [("pairs", 0.0, True), ("pairs", 2.0, True), ("pairs", 1.0, False), ("gini", 2.0, True), ("entropy", 3.0, False)],
)
def test_tree_is_the_naive_twins(impurity, alpha, minimax, name, n_classes):
    data = data_of(TABLES[name], n=60, n_classes=n_classes, seed=1)
    given = ForestRows.of(data, 1, 0)
    how = settings(impurity=impurity, minimax=minimax, smoothing=0.1)
    forest = grow_priced(given, data, how, alpha, priced=True)
    base = 0.1 * data.prices.alone.mean()
    bag = given.bags[:, 0]
    used = bag > 0
    rows = data.train
    twin = grow(
        given.binned.bins[used], rows.y[used], (rows.weight * bag)[used], data.prices, impurity, alpha, minimax, base
    )
    assert unfold(forest.trees, given.binned) == folded(twin)
    assert len(forest.trees.feature) > 5


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_plain_tree_is_scikit_learns(impurity, depth):
    rng = np.random.default_rng(3)
    data = data_of(TABLES["equal"], n=150)
    rows = data.train
    rows.X[:] = rng.permuted(np.tile(np.arange(150.0), (4, 1)).T, axis=0)  # all values differ
    given = ForestRows.of(data, 1, 0)
    given.bags[:] = 1
    forest = grow_plain(given, settings(impurity=impurity, max_depth=depth))
    other = DecisionTreeClassifier(criterion=impurity, max_depth=depth, random_state=0)
    other.fit(rows.X, rows.y, sample_weight=rows.weight)
    found = forest.predictor(data.feature_names).predict(rows.X)
    np.testing.assert_allclose(found, other.predict_proba(rows.X)[:, 1])


def test_missing_values_go_where_the_drop_is_larger():
    data = data_of(TABLES["equal"], n=40)
    rows = data.train
    rows.X[:] = np.tile(np.arange(40.0)[:, None], (1, 4))
    rows.X[30:] = np.nan
    rows.y[:] = (np.arange(40) >= 20) & (np.arange(40) < 30)
    given = ForestRows.of(data, 1, 0)
    given.bags[:] = 1
    trees = grow_plain(given, settings()).trees
    assert trees.n_nodes == 3
    assert trees.missing_left[0]
    assert way(trees, 0, rows.X[35])[-1] == trees.left[0]


def test_bags_are_poisson_with_mean_one_and_depend_on_the_row_only():
    numbers = np.random.default_rng(0).integers(0, 2**63, 4000).astype(np.uint64)
    bags = draw_bags(numbers, 20, 5)
    assert bags.mean() == pytest.approx(1.0, abs=0.02)
    assert (bags == 0).mean() == pytest.approx(np.exp(-1), abs=0.01)
    order = np.random.default_rng(1).permutation(4000)
    np.testing.assert_array_equal(draw_bags(numbers[order], 20, 5), bags[order])
    assert abs(np.corrcoef(bags.T)[~np.eye(20, dtype=bool)]).max() < 0.08
    assert (draw_bags(numbers[:1], 50, 0).max(axis=0) > 0).all()  # no bag is empty


def test_features_bought_above_are_free_below():
    data = data_of({"features": {"a": 5.0, "b": 1.0, "c": 50.0, "d": 50.0}}, n=300)
    rows = data.train
    rng = np.random.default_rng(0)
    rows.X[:] = rng.random((300, 4))
    rows.y[:] = (np.floor(rows.X[:, 0] * 8) % 2).astype(int)
    forest = grow_priced(ForestRows.of(data, 1, 0), data, settings(impurity="pairs", minimax=True), 0.0, priced=True)
    root = forest.trees.feature[0]
    below = {forest.trees.feature[way(forest.trees, 0, row)[1]] for row in rows.X}
    assert below == {root}
