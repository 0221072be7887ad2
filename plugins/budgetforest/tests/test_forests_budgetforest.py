"""Pruning against all prunings one by one, greedy growing against a naive twin and scikit-learn, and draws of bags."""

import itertools

import attrs
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from costframe import CostModel
from costframe.plugin import Rows, TrainingData
from costframe_budgetforest.forest import Bags, ForestRows, GrowSettings, grow_plain, grow_priced
from costframe_budgetforest.program import Program, equal_shares, find_leaves, mean_losses, solve

pytestmark = pytest.mark.engine

NAMES = ("a", "b", "c", "d")
TABLES = {
    "equal": {"features": dict.fromkeys(NAMES, 1.0)},
    "unequal": {"features": {"a": 0.0, "b": 0.3, "c": 1.0, "d": 3.0}},
    "free": {"features": dict.fromkeys(NAMES, 0.0)},
    "resources": {
        "features": {"a": 0.1, "b": {"cost": 0.2, "needs": ["lab"]}, "c": {"cost": 0.1, "needs": ["lab"]}, "d": 0.6},
        "resources": {"lab": {"cost": 0.5, "needs": ["visit"]}, "visit": 0.4},
    },
    "all kinds": {"features": {"a": 0.2, "b": 0.3, "c": 1.0, "d": 0.5}, "split": 0.02, "learner": 0.1, "reuse": 0.2},
}


def data_of(table, n=40, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.digitize(np.nansum(X * [1.0, 0.7, 1.5, -1.0], axis=1), np.linspace(-1, 1, n_classes + 1)[1:-1])
    costs = CostModel.from_dict(table)
    rows = Rows(X, y.astype(np.int64), rng.integers(1, 4, n).astype(float))
    return TrainingData(rows, None, costs, costs.select(NAMES), n_classes)


def forest_of(data, n_trees=5, depth=4):
    how = GrowSettings(n_trees, "gini", False, (0.0,), 0.5, depth, 1.0, 0.0, 0)
    given = ForestRows.of(data, 0)
    bags = attrs.evolve(given.bags, weight=np.ones(len(given.bags.weight)))
    return grow_plain(attrs.evolve(given, bags=Weighted(bags, given.bags.weight)), how)


@attrs.frozen(eq=False)
class Weighted:
    """Rows drawn whatever they weigh."""

    bags: Bags
    weight: np.ndarray

    def draw(self, tree):
        rows, counts = self.bags.draw(tree)
        return rows, counts * self.weight[np.searchsorted(self.bags.first, rows)]


def program_of(data, forest, loss="squared"):
    leaves = find_leaves(forest, data.train.X)
    return Program.of(forest, data.train, data.prices, leaves, mean_losses(forest, leaves, data.train, loss))


def prunings(trees, node):
    """Sets of nodes of a tree that stay tests, with all tests above them."""
    if trees.feature[node] < 0:
        return [set()]
    first = trees.first[trees.first <= node][-1]
    sides = (prunings(trees, first + side[node]) for side in (trees.left, trees.right))
    return [set(), *({node} | left | right for left, right in itertools.product(*sides))]


@pytest.mark.parametrize("name", TABLES)
def test_solution_is_the_best_of_all_prunings_by_loss_and_exact_cost(name):
    data = data_of(TABLES[name], n=24, n_classes=3)
    forest, rows, tried = forest_of(data, n_trees=3, depth=2), data.train, []
    for sets in itertools.product(*(prunings(forest.trees, root) for root in forest.trees.first[:-1])):
        pruned = forest.cut(np.isin(np.arange(forest.trees.n_nodes), list(set().union(*sets))))[0]
        predictor, votes = pruned.predictor(NAMES), pruned.shares[find_leaves(pruned, rows.X)]  # (rows, trees, classes)
        np.testing.assert_allclose(predictor.predict(rows.X), votes.mean(axis=1))
        squared = ((votes - np.eye(3)[rows.y][:, np.newaxis]) ** 2).sum(axis=2) / 2
        wrong, cost = votes.argmax(axis=2) != rows.y[:, np.newaxis], predictor.cost(rows.X, data.costs).per_row
        tried.append(
            [np.average(each, weights=rows.weight) for each in (squared.mean(axis=1), wrong.mean(axis=1), cost)]
        )
    tried = np.array(tried)
    assert len(tried) > 60
    for k, loss in enumerate(("squared", "error")):
        whole = program_of(data, forest, loss)
        for tradeoff in (0.0, 0.02, 0.1, 0.3, 100.0):
            program, best = whole.at(tradeoff), (tried[:, k] + tradeoff * tried[:, 2]).min()
            found = solve(program, equal_shares(program), tolerance=1e-6, max_iter=3000)
            assert found.objective == pytest.approx(best, rel=1e-6)
            assert found.bound <= best * (1 + 1e-6)
            assert found.gap <= 1e-6
            rough = solve(program, equal_shares(program), tolerance=0.0, max_iter=2)
            assert rough.bound <= best * (1 + 1e-6)
            assert rough.objective >= best * (1 - 1e-9)
            assert program.objective(rough.kept.astype(np.uint8)) == pytest.approx(rough.objective)
            assert program.objective(found.kept.astype(np.uint8)) == pytest.approx(found.objective)


def test_shares_of_the_last_solution_are_a_start_that_reaches_the_same_optimum():
    data = data_of(TABLES["unequal"])
    program = program_of(data, forest_of(data))
    share = equal_shares(program)
    for tradeoff in np.geomspace(1.0, 0.003, 6).tolist():
        warm = solve(program.at(tradeoff), share, tolerance=1e-5, max_iter=2000)
        cold = solve(program.at(tradeoff), equal_shares(program), tolerance=1e-5, max_iter=2000)
        assert warm.objective == pytest.approx(cold.objective, rel=3e-5)
        assert warm.gap <= 1e-5  # of the relaxation, which is tight


# --- growing -----------------------------------------------------------------------------------------------------


def settings(**changes):
    return GrowSettings(**{
        "n_trees": 1, "impurity": "gini", "minimax": False, "thresholds": (0.0,), "max_features": 1.0,
        "max_depth": 100, "min_leaf": 1.0, "smoothing": 0.0, "seed": 0,
    } | changes)  # fmt: skip


def impurity(kind, alpha, counts):
    """Return an impurity of class counts."""
    n = counts.sum()
    if kind == "pairs":
        above = np.maximum(counts - alpha, 0)
        table = np.maximum(np.outer(above, above) - alpha**2, 0)
        return table.sum() - np.trace(table)
    p = counts[counts > 0] / n
    return n * (1 - (p**2).sum()) if kind == "gini" else -n * (p * np.log(p)).sum()


def grow(  # noqa: C901 - the whole rule in one place
    bins, y, weight, prices, kind, alpha, minimax, base, bought=frozenset(), paid=frozenset()
):
    """Return (feature, bin, missing left, left, right), or the class counts of a leaf; bins are (n, d), 255 missing."""
    counts = np.bincount(y, weight, int(y.max(initial=0)) + 1)
    whole = impurity(kind, alpha, counts)
    if whole <= (0.0 if kind == "pairs" else alpha):
        return counts
    best = None
    for f in range(bins.shape[1]):
        needed = set(np.flatnonzero(prices.needs[f])) - paid
        price = prices.split[f] + base
        if f not in bought:
            price += prices.cost[f] + sum(prices.resource_cost[r] for r in needed)
        choices = []
        gone = bins[:, f] == 255
        for cut in np.unique(bins[~gone, f]).tolist():
            for missing_left in (False, True) if gone.any() else (None,):
                left = np.where(gone, bool(missing_left), bins[:, f] <= cut)
                if not 0 < left.sum() < len(left):
                    continue
                sides = [impurity(kind, alpha, np.bincount(y[s], weight[s], len(counts))) for s in (left, ~left)]
                drop = whole - (max(sides) if minimax else sum(sides))
                choices.append((drop, -int(bool(missing_left)), -cut, left))
        if choices:
            drop, left_first, cut, left = max(choices, key=lambda one: (round(one[0], 9), *one[1:3]))
            if drop > 1e-9 * whole:
                key = (price / drop, -drop, f)
                if best is None or key < best[0]:
                    best = key, f, -cut, gone.any() and left_first == -1, left
    if best is None:
        return counts
    _, f, cut, missing_left, left = best
    rest = bought | {f}, paid | set(np.flatnonzero(prices.needs[f]))
    sides = [grow(bins[s], y[s], weight[s], prices, kind, alpha, minimax, base, *rest) for s in (left, ~left)]
    return f, cut, missing_left, *sides


def unfold(trees, binned, node=0):
    """Return a tree as the naive twin does, with thresholds as bins."""
    f = trees.feature[node]
    if f < 0:
        return None
    cut = int(np.flatnonzero(binned.mapper.thresholds[f] == trees.threshold[node])[0])
    return f, cut, *(unfold(trees, binned, int(side[node])) for side in (trees.left, trees.right))


def folded(tree):
    return None if isinstance(tree, np.ndarray) else (*tree[:2], folded(tree[3]), folded(tree[4]))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["unequal", "resources", "all kinds"])
@pytest.mark.parametrize(
    ("impurity", "alpha", "minimax"),
    [("pairs", 0.0, True), ("pairs", 2.0, True), ("pairs", 1.0, False), ("gini", 2.0, True), ("entropy", 3.0, False)],
)
def test_tree_is_the_naive_twins(impurity, alpha, minimax, name, n_classes):
    data = data_of(TABLES[name], n=60, n_classes=n_classes, seed=1)
    given = ForestRows.of(data, 0)
    forest = grow_priced(given, data, settings(impurity=impurity, minimax=minimax, smoothing=0.1), alpha, priced=True)
    base = 0.1 * data.prices.alone.mean()
    used, weight = given.bags.draw(0)
    y = data.train.y[used]
    twin = grow(given.binned.bins[used], y, weight, data.prices, impurity, alpha, minimax, base)
    assert unfold(forest.trees, given.binned) == folded(twin)
    assert len(forest.trees.feature) > 5


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_plain_tree_is_scikit_learns(impurity, depth):
    data = data_of(TABLES["equal"], n=150)
    rows = data.train
    rows.X[:] = np.random.default_rng(3).permuted(np.tile(np.arange(150.0), (4, 1)).T, axis=0)  # all values differ
    forest = grow_plain(every_row_once(data), settings(impurity=impurity, max_depth=depth))
    other = DecisionTreeClassifier(criterion=impurity, max_depth=depth, random_state=0)
    other.fit(rows.X, rows.y, sample_weight=rows.weight)
    found = forest.predictor(data.feature_names).predict(rows.X)
    np.testing.assert_allclose(found, other.predict_proba(rows.X)[:, 1])


def every_row_once(data):
    """Rows whose bags hold all of them once."""

    class Every:
        def draw(self, _tree):
            return np.arange(len(data.train)), data.train.weight

    return attrs.evolve(ForestRows.of(data, 0), bags=Every())
