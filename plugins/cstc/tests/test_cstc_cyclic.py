"""Cyclic optimization: the objective falls at every accepted step, and only the node whose turn it is moves."""

import naive_cstc
import numpy as np
import pytest
from attrs import evolve
from cstc_cases import LOSSES, bank_rows, problem, soft_tree
from scipy import sparse

from costframe.core.cost.groups import PricedGroups
from costframe.stagewise.descent import cycle
from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.objective import RelaxedObjective
from costframe.stagewise.relaxed import relax
from costframe.stagewise.topology import Topology

FREE = PricedGroups(sparse.csr_array(np.eye(3)), np.zeros(3))


@pytest.mark.parametrize(("kind", "width"), [("squared", 1), ("squared", 2), ("logistic", 1), ("softmax", 3)])
def test_the_objective_falls_at_every_accepted_step(kind, width):
    moved, unbalanced = set(), 0
    for seed in range(3):
        H, objective, at = problem(seed, kind, width, n=15)
        before = naive_cstc.value(H, objective, kind, at)
        unbalanced += len(at.topology) not in {1, 3, 7}
        steps = []
        found = cycle(objective, at, 2, steps)
        twin = naive_cstc.value(H, objective, kind, found)
        assert steps[-1].objective == pytest.approx(twin, rel=1e-9)
        assert (np.diff([before, *[step.objective for step in steps]]) < 0).all()
        for name in ("weights", "intercept", "threshold"):
            changed = (getattr(found, name) != getattr(at, name)).reshape(len(at), -1).any(axis=1)
            assert set(np.flatnonzero(changed)) <= {step.node for step in steps}
        assert (found.threshold == at.threshold)[~at.topology.routes].all()
        moved |= {(seed, step.node) for step in steps}
    assert unbalanced
    assert {seed for seed, _ in moved} == {0, 1, 2}
    assert len(moved) > 4


def columns(seed, n=300):
    """Rows whose columns are far from zero, of very different scale, one of them constant."""
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((n, 3)) * [1.0, 100.0, 0.0] + [50.0, -3000.0, 0.1]
    return H, (H[:, :1] - 50.0) + 0.01 * (H[:, 1:2] + 3000.0) + 0.1 * rng.standard_normal((n, 1))


@pytest.mark.parametrize("width", [1, 2])
def test_a_single_node_ends_where_the_solver_of_a_single_stage_does(width):
    rng = np.random.default_rng(0)
    H = rng.standard_normal((200, 6)) + 0.5 * rng.standard_normal((200, 1))
    y = H[:, :3] @ rng.standard_normal((3, width)) + 0.3 * rng.standard_normal((200, width))
    member = np.vstack([np.eye(6), rng.random((3, 6)) < 0.5]).astype(float)
    groups = PricedGroups(sparse.csr_array(member), rng.uniform(0.05, 0.5, 9))
    rows, tree = bank_rows(H, y, rng.uniform(0.5, 2, 200), np.ones(200)), Topology.full(1)
    objective = RelaxedObjective.of_tree(rows, LOSSES["squared"], groups, tree, 0.02, 20.0)
    normal = NormalEquations.of(rows.outputs, y, rows.loss_weight)
    weights = relax(normal, groups, 0.02)
    best = evolve(
        soft_tree(rng, tree, 6, width), weights=weights[np.newaxis], intercept=normal.intercept(weights)[np.newaxis]
    )
    assert 0 < (np.abs(weights) < 1e-4).all(axis=1).sum() < 6
    steps = []
    cycle(objective, best, 3, steps)
    assert steps == []
    start = evolve(best, weights=np.ones((1, 6, width)), intercept=np.zeros((1, width)))
    at = cycle(objective, start, 30, [])
    value = objective.value(at)
    assert value == pytest.approx(objective.value(best), rel=5e-3)
    np.testing.assert_allclose(at.weights[0], weights, atol=0.05)


def test_a_tree_learns_to_divide_where_no_one_node_can_answer():
    """The answer is the sign of the product of two columns; nothing but thresholds and scores tells rows apart."""
    rng = np.random.default_rng(0)
    H = rng.standard_normal((400, 3))
    y = np.where(H[:, 0] > 0, 1.0, -1.0)[:, np.newaxis] * H[:, 1:2]
    tree = Topology.full(2)
    rows = bank_rows(H, y, np.ones(400), np.ones(400))
    objective = RelaxedObjective.of_tree(rows, LOSSES["squared"], FREE, tree, 0.0, 20.0)
    start = soft_tree(rng, tree, 3, 1)
    weights = start.weights.copy()
    weights[0] = [[0.6], [0.4], [0.3]]
    start = evolve(start, weights=weights, intercept=np.zeros((3, 1)), threshold=np.full(3, 0.2))
    before = objective.value(start)
    at = cycle(objective, start, 20, [])
    assert objective.value(at) < 0.6 * before  # the loss of the first node counts as well
    np.testing.assert_allclose(at.weights[1:, 1, 0], [-1, 1], atol=0.25)


def test_nodes_that_no_row_comes_to_stay():
    _, objective, _ = problem(0, "squared", 1, n=40)
    tree = Topology.full(3)
    at = soft_tree(np.random.default_rng(0), tree, 3, 1)
    at = evolve(at, threshold=np.array([np.inf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    objective = RelaxedObjective.of_tree(objective.rows, LOSSES["squared"], objective.cost.groups, tree, 0.01, 4.0)
    steps = []
    cycle(objective, at, 3, steps)
    moved = {step.node for step in steps}
    assert moved >= {1, 3, 4}
    assert not moved & {2, 5, 6}
