"""CSTC as its paper prints it, against optima worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from stagewise_cases import LOSSES, bank_rows

import costframe as cf
from costframe.plugin import PricedGroups
from costframe.stagewise import RelaxedObjective, SoftTree, Topology, cycle
from costframe_cstc import CSTCClassifier, CSTCRegressor
from costframe_cstc.printed import fine_tune, fit_top_down, prune_by_loss
from costframe_cstc.settings import CSTCSettings

SIGNS = np.array([[int(bit) * 2.0 - 1 for bit in f"{i:03b}"] for i in range(8)])  # orthogonal columns of variance one
SLOPES = np.array([0.9, 0.5, 0.4])
PRICE = np.array([0.1, 0.2, 0.6])
GROUPS = PricedGroups(sparse.csr_array(np.eye(3)), PRICE)


def test_the_root_starts_at_the_soft_threshold_and_its_child_has_it_for_less():
    """A leaf minimizes sum_i p_i (y - s)^2 / 2 + p lambda c sqrt(beta_root^2 + beta^2), by hand at one column alone."""
    rows = bank_rows(SIGNS, SIGNS[:, 0] * SLOPES[0], np.ones(8))
    groups, settings = PricedGroups(GROUPS.member, np.array([0.3, 1.0, 1.0])), CSTCSettings(1.0, 2, 1e-6)
    tree = fit_top_down(rows, groups, Topology.full(2), settings)  # hardly steep: all rows go both ways by halves
    assert tree.weights[0, 0, 0] == pytest.approx(0.9 - 0.3, abs=1e-5)
    assert not np.abs(tree.weights[:, 1:]).max() > 1e-5
    grid = np.linspace(0, 1, 100_001)
    by_hand = grid[(0.5 * (0.9 - grid) ** 2 + 0.3 * np.sqrt(0.6**2 + grid**2)).argmin()]
    np.testing.assert_allclose(tree.weights[1:, 0, 0], by_hand, atol=1e-4)


def eq_5(x, H, y, price, rho):
    """Eq. 5 of two levels with one column each: a root and two children."""
    beta, a, theta = x[:9].reshape(3, 3), x[9:12], x[12]
    s = H @ beta.T + a
    up = 1 / (1 + np.exp(-(s[:, 0] - theta)))
    loss = 0.5 * np.mean((y - s[:, 0]) ** 2 + (1 - up) * (y - s[:, 1]) ** 2 + up * (y - s[:, 2]) ** 2)
    norms = np.sqrt(beta[0] ** 2 + beta[1:] ** 2)
    return loss + rho * np.abs(beta).sum() + price @ ((1 - up.mean()) * norms[0] + up.mean() * norms[1])


def test_cycles_end_at_an_optimum_of_eq_5_over_all_learners():
    rng = np.random.default_rng(0)
    H = rng.standard_normal((80, 3))
    y = H @ SLOPES + np.abs(H[:, 0]) + 0.3 * rng.standard_normal(80)
    rows = bank_rows(H, y, np.ones(80))
    settings, steps, topology = CSTCSettings(0.05, 2, 1.0, l1=0.01), [], Topology.full(2)
    groups = GROUPS.times(settings.depth * settings.tradeoff)  # the loss is counted at both levels
    start = fit_top_down(rows, groups, topology, settings)
    tree = cycle(RelaxedObjective.of_tree(rows, LOSSES["squared"], groups, topology, 0.01, 1.0), start, 100, steps)

    def vector(at):
        return np.concatenate([at.weights.ravel(), at.intercept.ravel(), at.threshold[:1]])

    def value(x):
        return eq_5(x, H, y, 0.1 * PRICE, 0.01)

    assert steps[-1].objective == pytest.approx(value(vector(tree)), abs=1e-4)
    assert value(vector(tree)) < value(vector(start))
    better = minimize(value, vector(tree), method="Nelder-Mead", options={"maxiter": 3000, "xatol": 1e-6})
    assert better.fun >= value(vector(tree)) - 5e-3 * value(vector(start))


def test_nodes_go_while_the_loss_on_held_out_rows_does_not_rise():
    full = SoftTree.of_zeros(Topology.full(2), 2, 1)
    for losses, left in (({3: 1.0, 2: 1.0, 1: 0.5}, 1), ({3: 1.0, 2: 0.9, 1: 1.1}, 2), ({3: 1.0, 2: 1.1, 1: 0.5}, 3)):
        held_out = SimpleNamespace(measured_loss=lambda tree, losses=losses: losses[len(tree)])
        assert len(prune_by_loss(held_out, full)) == left


def test_fine_tuning_is_least_squares_on_the_support():
    """A node that routes and predicts keeps its routing weights; its leaf weighs the same column anew."""
    y = SIGNS @ SLOPES
    rows = bank_rows(SIGNS, y, np.ones(8))
    topology = Topology(np.array([[1, -1], [-1, -1]]))
    weights = np.array([[[0.2], [0.0], [0.0]], [[0.1], [0.1], [0.0]]])
    tree = SoftTree(topology, weights, np.zeros((2, 1)), np.ones((2, 1)), np.zeros(2))
    found = fine_tune(rows, tree, 50.0)
    assert found.topology.children.tolist() == [[1, 2], [-1, -1], [-1, -1]]
    np.testing.assert_allclose(found.weights[0], weights[0])
    np.testing.assert_allclose(found.weights[2, :, 0], [0.9, 0.0, 0.0], atol=1e-9)  # of all rows that come to the root
    below = 1 / (1 + np.exp(50.0 * 0.2 * SIGNS[:, 0]))
    X = np.column_stack([SIGNS[:, :2], np.ones(8)])
    by_hand = np.linalg.solve(X.T @ (below[:, None] * X), X.T @ (below * y))
    np.testing.assert_allclose(np.append(found.weights[1, :2, 0], found.intercept[1]), by_hand, atol=1e-6)


def test_one_node_is_eq_4_refitted_and_a_class_is_the_sign_of_its_score():
    costs = cf.CostModel.from_dict({"features": {"a": 0.1, "b": 0.2, "c": 0.6}})
    model = CSTCRegressor(costs, 1.0, bank="columns", depth=1, recipe="paper").fit(SIGNS, SIGNS @ SLOPES)
    np.testing.assert_allclose(model.predict(SIGNS), SIGNS[:, :2] @ SLOPES[:2], atol=1e-9)  # .4 < .6, the others stay
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X @ SLOPES > 0
    classifier = CSTCClassifier(costs, 1e-3, bank="columns", depth=2, recipe="paper").fit(X, y)
    assert classifier.score(X, y) > 0.9
    np.testing.assert_array_equal(classifier.predict(X), classifier.decision_function(X) > 0)
    values = [step.objective for step in classifier.steps_]
    assert values == sorted(values, reverse=True)
    assert len(values) > 1
    with pytest.raises(ValueError, match="recipe='paper'"):
        CSTCClassifier(recipe="paper").fit(np.eye(9), np.arange(9) % 3)
