"""Greedy growing against a naive twin and scikit-learn's trees, and the draws of bags."""

import attrs
import numpy as np
import pytest
from naive_budgetforest import grow, way
from sklearn.tree import DecisionTreeClassifier
from test_program_budgetforest import TABLES, data_of

from costframe_budgetforest import BudgetPruneClassifier, BudgetRFClassifier
from costframe_budgetforest.budgetrf import GrowSettings, grow_plain, grow_priced
from costframe_budgetforest.forest import Bags, ForestRows

pytestmark = pytest.mark.engine


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
    given = ForestRows.of(data, 0)
    how = settings(impurity=impurity, minimax=minimax, smoothing=0.1)
    forest = grow_priced(given, data, how, alpha, priced=True)
    base = 0.1 * data.prices.alone.mean()
    used, weight = given.bags.draw(0)
    rows = data.train
    twin = grow(given.binned.bins[used], rows.y[used], weight, data.prices, impurity, alpha, minimax, base)
    assert unfold(forest.trees, given.binned) == folded(twin)
    assert len(forest.trees.feature) > 5


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_plain_tree_is_scikit_learns(impurity, depth):
    rng = np.random.default_rng(3)
    data = data_of(TABLES["equal"], n=150)
    rows = data.train
    rows.X[:] = rng.permuted(np.tile(np.arange(150.0), (4, 1)).T, axis=0)  # all values differ
    given = every_row_once(data)
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
    given = every_row_once(data)
    trees = grow_plain(given, settings()).trees
    assert trees.n_nodes == 3
    assert trees.missing_left[0]
    assert way(trees, 0, rows.X[35])[-1] == trees.left[0]


@pytest.mark.parametrize("copies", [3, 40, 20_000])
def test_equal_rows_are_drawn_as_often_as_rows_of_their_weight(copies):
    """A Poisson number with their count as its mean: as much varies from bag to bag as with draws one by one."""
    numbers = np.random.default_rng(0).integers(0, 2**63, 60).astype(np.uint64)
    once, seeds = Bags.of(numbers, np.full(60, float(copies)), 3), 20
    given = np.tile(numbers, copies)
    again = Bags.of(given, np.ones(len(given)), 3)
    for t in range(seeds):
        assert (once.draw(t)[0] == again.draw(t)[0]).all()
        np.testing.assert_array_equal(once.draw(t)[1], again.draw(t)[1])
    counts = drawn(once, 60)
    assert counts.mean() == pytest.approx(copies, abs=4 * np.sqrt(copies / counts.size))
    assert counts.var() == pytest.approx(copies, rel=0.15)
    small = drawn(Bags.of(numbers, np.full(60, 1e-30), 3), 60)
    np.testing.assert_allclose(small, 1e-30 * drawn(Bags.of(numbers, np.ones(60), 3), 60), rtol=1e-12)


def drawn(bags, n, trees=20):
    """The weights of all rows in the bags of trees: float64 (n, trees)."""
    table = np.zeros((n, trees))
    for t in range(trees):
        rows, weight = bags.draw(t)
        table[rows, t] = weight
    return table


def every_row_once(data):
    """Rows whose bags hold all of them once."""

    class Every:
        def draw(self, _tree):
            return np.arange(len(data.train)), data.train.weight

    return attrs.evolve(ForestRows.of(data, 0), bags=Every())


@pytest.mark.parametrize("kind", [BudgetRFClassifier, BudgetPruneClassifier])
def test_chances_of_rows_that_repeat_are_their_shares(kind):
    X, y = np.zeros((1000, 2)), (np.arange(1000) < 100).astype(int)
    assert kind(tradeoff=0).fit(X, y).predict_proba(X)[0, 1] == pytest.approx(0.1, abs=0.02)


def test_features_bought_above_are_free_below():
    data = data_of({"features": {"a": 5.0, "b": 1.0, "c": 50.0, "d": 50.0}}, n=300)
    rows = data.train
    rng = np.random.default_rng(0)
    rows.X[:] = rng.random((300, 4))
    rows.y[:] = (np.floor(rows.X[:, 0] * 8) % 2).astype(int)
    forest = grow_priced(ForestRows.of(data, 0), data, settings(impurity="pairs", minimax=True), 0.0, priced=True)
    root = forest.trees.feature[0]
    below = {forest.trees.feature[way(forest.trees, 0, row)[1]] for row in rows.X}
    assert below == {root}
