"""The pruning program against scipy's integer and linear programs, for prices of every kind that it has."""

import attrs
import numpy as np
import pytest
from naive_budgetforest import Matrix

from costframe import CostModel
from costframe.plugin import Rows, TrainingData
from costframe_budgetforest.budgetrf import GrowSettings, grow_plain
from costframe_budgetforest.forest import Bags, ForestRows
from costframe_budgetforest.program import Program, find_leaves, mean_losses, worth_keeping
from costframe_budgetforest.pruning import Pruner, PruneSettings
from costframe_budgetforest.solve import equal_shares, solve

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


@pytest.mark.parametrize("tradeoff", [0.0, 0.02, 0.1, 0.3, 100.0])
@pytest.mark.parametrize("name", TABLES)
def test_solution_is_the_optimum_of_the_integer_program_and_of_its_relaxation(name, tradeoff):
    data = data_of(TABLES[name], n=24)
    forest = forest_of(data)
    rows = data.train
    for loss in ("squared", "error"):
        whole, relaxed = Matrix(forest, rows.X, rows.y, rows.weight, data.prices, tradeoff, loss).solve()
        assert relaxed == pytest.approx(whole, abs=1e-9)  # total unimodularity
        program = program_of(data, forest, loss).at(tradeoff)
        found = solve(program, equal_shares(program), tolerance=1e-6, max_iter=3000)
        assert found.objective == pytest.approx(whole, rel=1e-6)
        assert found.bound <= whole * (1 + 1e-6)
        assert found.gap <= 1e-6
        assert program.objective(found.kept.astype(np.uint8)) == pytest.approx(found.objective)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_objective_is_the_loss_and_the_exact_cost_of_the_pruned_forest(n_classes):
    data = data_of(TABLES["resources"], n_classes=n_classes)
    rows, tradeoff = data.train, 0.08
    pruner = Pruner.of(forest_of(data), data, PruneSettings("squared", 1e-6, 1000))
    found = pruner.solve(tradeoff)
    pruned = pruner.forest.cut(found.kept)[0]
    predictor = pruned.predictor(NAMES)
    report = predictor.cost(rows.X, data.costs, sample_weight=rows.weight)
    assert 0 < report.mean < pruner.forest.predictor(NAMES).cost(rows.X, data.costs, sample_weight=rows.weight).mean
    lost = 0.0
    leaves = find_leaves(pruned, rows.X)
    for t in range(leaves.shape[1]):
        votes = pruned.shares[leaves[:, t]]
        lost += np.average(((votes - np.eye(n_classes)[rows.y]) ** 2).sum(axis=1) / 2, weights=rows.weight)
    assert found.objective == pytest.approx(lost / leaves.shape[1] + tradeoff * report.mean)


def test_every_kind_of_price_is_the_exact_cost():
    data = data_of(TABLES["all kinds"])
    forest = forest_of(data)
    program = program_of(data, forest)
    kept = (program.nodes.left >= 0).astype(np.uint8)
    spent = program.at(1.0).objective(kept) - program.at(0.0).objective(kept)
    rows = data.train
    assert spent == pytest.approx(forest.predictor(NAMES).cost(rows.X, data.costs, sample_weight=rows.weight).mean)


def test_without_prices_only_tests_that_raise_the_loss_go_and_at_a_huge_tradeoff_all_do():
    data = data_of(TABLES["equal"])
    forest = forest_of(data)
    program = program_of(data, forest)
    free = solve(program.at(0.0), equal_shares(program), tolerance=0.0, max_iter=5)
    np.testing.assert_array_equal(free.kept, worth_keeping(forest, program.nodes.error))
    assert free.kept.sum() > 10
    none = solve(program.at(1e6), equal_shares(program), tolerance=0.0, max_iter=200)
    assert not none.kept.any()
    assert none.gap == 0


def test_shares_of_the_last_solution_are_a_start_that_reaches_the_same_optimum():
    data = data_of(TABLES["unequal"])
    program = program_of(data, forest_of(data))
    levels, share = np.geomspace(1.0, 0.003, 12), equal_shares(program)
    for tradeoff in levels.tolist():
        warm = solve(program.at(tradeoff), share, tolerance=1e-5, max_iter=2000)
        cold = solve(program.at(tradeoff), equal_shares(program), tolerance=1e-5, max_iter=2000)
        assert warm.objective == pytest.approx(cold.objective, rel=3e-5)


def test_cut_forest_answers_with_the_shares_of_its_new_leaves():
    data = data_of(TABLES["equal"], n_classes=3)
    forest = forest_of(data, n_trees=3)
    inner = forest.parent < 0  # the roots stay tests
    cut, kept = forest.cut(inner & (forest.trees.feature >= 0))
    assert (cut.trees.depths() == 1).all()
    np.testing.assert_array_equal(cut.shares, forest.shares[kept])
    leaves = find_leaves(cut, data.train.X)
    np.testing.assert_allclose(cut.predictor(NAMES).predict(data.train.X), cut.shares[leaves].mean(axis=1))
    whole = attrs.evolve(forest).cut(forest.trees.feature >= 0)[0]
    np.testing.assert_array_equal(whole.trees.feature, forest.trees.feature)
