"""Soft-Cascade and AND-OR: losses by hand, gradients, the objective, and the expected cost."""

import numpy as np
import pytest
from attrs import evolve
from bank_cases import COSTS, EVERY_PRICE, NAMES, boosted, table
from scipy.optimize import check_grad

import costframe as cf
from costframe.plugin import Rows, TrainingData
from costframe.stagewise import BankTask, SoftTree
from costframe.stagewise.stage_tree import as_stage_tree
from costframe_baselines.price_cascade import CascadeObjective, learner_prices, lose_at_worst_stage, lose_by_noisy_or

LOSSES = (lose_at_worst_stage, lose_by_noisy_or)


def sigma(s):
    return 1 / (1 + np.exp(-s))


def test_losses_by_hand():
    """Stages accept with 1/2 and 3/4: the worst with 1/2, and some stage rejects with 5/8."""
    scores = np.array([[0.0, np.log(3.0)]])
    for lose, chance, slope in (
        (lose_at_worst_stage, 1 / 2, [-1 / 2, 0]),
        (lose_by_noisy_or, 5 / 8, [3 / 8 / (5 / 8) / 2, 3 / 8 / (5 / 8) / 4]),
    ):
        value, slopes = lose(scores)
        np.testing.assert_allclose(value, -np.log(chance), rtol=1e-12)
        np.testing.assert_allclose(slopes, [slope], rtol=1e-12)


@pytest.mark.parametrize("lose", LOSSES)
def test_slopes_are_finite_differences_and_losses_of_sure_stages_finite(lose):
    scores = 2 * np.random.default_rng(0).standard_normal((50, 4))
    for k in range(4):
        step = 1e-6 * (np.arange(4) == k)
        difference = (lose(scores + step)[0] - lose(scores - step)[0]) / 2e-6
        np.testing.assert_allclose(lose(scores)[1][:, k], difference, atol=1e-7)
    for size in (40.0, 800.0, 1e300):
        for found in lose(size * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])):
            assert np.isfinite(found).all()


def evaluated(costs=COSTS, acquisition="learner", n=200, n_trees=12, tradeoff=1e-2):
    X, y = table(1, n)
    rows = Rows(X, y, np.random.default_rng(1).uniform(0.5, 2, n))
    data = TrainingData(rows, None, costs, costs.select(NAMES), 2)
    bank = boosted(60, 800).restrict(np.arange(n_trees))
    return BankTask(data, bank, tradeoff, False, acquisition).on(rows), bank, rows


def drawn_tree(at, n_stages=3, seed=0):
    """A chain whose later stages use more learners, and dearer ones."""
    rng = np.random.default_rng(seed)
    n_outputs = at.rows.outputs.shape[1]
    weights = 3 * rng.standard_normal((n_stages, n_outputs))
    rank = np.argsort(np.argsort(learner_prices(at), kind="stable"))
    weights[rank >= n_outputs * np.arange(1, n_stages + 1)[:, np.newaxis] / n_stages] = 0
    return SoftTree.chain(weights, rng.standard_normal(n_stages), np.zeros(n_stages - 1))


@pytest.mark.parametrize("acquisition", ["path", "learner"])
def test_the_gradient_is_a_finite_difference(acquisition):
    at, _, _ = evaluated(EVERY_PRICE, acquisition)
    tree = drawn_tree(at)
    objective = CascadeObjective(at.rows, at.costs(tree), 0.05)
    n_weights = tree.weights.size

    def moved(x):
        intercept = x[n_weights:].reshape(tree.intercept.shape)
        return evolve(tree, weights=x[:n_weights].reshape(tree.weights.shape), intercept=intercept)

    def slope(x):
        found = objective.gradient(moved(x))[2]
        return np.concatenate([found.weights.ravel(), found.intercept.ravel()])

    x = np.concatenate([tree.weights.ravel(), tree.intercept.ravel()])
    assert check_grad(lambda x: objective.total(moved(x)), slope, x, epsilon=1e-6) < 1e-4 * np.linalg.norm(slope(x))


def test_the_objective_by_hand():
    """Probabilities to accept, the least of them, and the cost of the stages that a row reaches, row by row."""
    at, _, rows = evaluated(acquisition="path")
    tree = drawn_tree(at)
    costs = at.costs(tree)
    loss, cost, _ = CascadeObjective(at.rows, costs, 0.1).gradient(tree)
    share = rows.weight / rows.weight.sum()
    expected = {"loss": 0.0, "cost": 0.0}
    for w, y, s, price in zip(share, rows.y, tree.scores(at.rows)[:, :, 0], costs, strict=True):
        accept = sigma(s)
        expected["loss"] -= w * np.log(accept.min() if y else 1 - accept.prod())
        expected["cost"] += w * (price[0] + accept[0] * (price[1] + accept[1] * price[2]))
    assert loss == pytest.approx(expected["loss"], rel=1e-9)
    assert cost == pytest.approx(expected["cost"], rel=1e-9)


def test_the_expected_cost_is_that_of_soft_routing():
    at, bank, rows = evaluated()
    tree = drawn_tree(at)
    soft = cf.ExpectedCost(COSTS, routing="soft", acquisition="learner")
    report = soft.evaluate(as_stage_tree(bank, tree, "sigmoid", 1.0), rows.X, sample_weight=rows.weight)
    assert report.mean == pytest.approx(CascadeObjective(at.rows, at.costs(tree), 0.1).gradient(tree)[1], rel=1e-9)
