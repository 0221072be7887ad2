"""The relaxed objective and its bound as a node sees it: against loops over terminal elements, and differences."""

import naive_cstc
import numpy as np
import pytest
from attrs import evolve
from cstc_cases import LOSSES, classifiers, differences, problem, seen, topology
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.core.cost.groups import PricedGroups
from costframe.stagewise.relaxed import RelaxedCost
from costframe_cstc.classifiers import Classifiers
from costframe_cstc.node_view import NodeView
from costframe_cstc.objective import Auxiliaries, RelaxedObjective
from costframe_cstc.topology import Topology

seeds = st.integers(0, 10_000)
kinds = st.sampled_from(list(LOSSES))
widths = st.integers(1, 3)
parts = st.sampled_from([0.0, 0.3, 1.0])
steepness = st.sampled_from([4.0, 50.0])


def with_floor(objective, floor):
    return evolve(objective, cost=RelaxedCost(objective.cost.groups, objective.cost.paths, floor))


@settings(max_examples=40)
@given(seeds, kinds, widths, parts, st.sampled_from([1e-6, 0.4]))
def test_the_objective_is_that_of_the_text(seed, kind, width, part, floor):
    H, objective, at = problem(seed, kind, width, routing_loss=part)
    objective = with_floor(objective, floor)
    twin = naive_cstc.value(H, objective, kind, at)
    assert objective.value(at) == pytest.approx(twin, rel=1e-9)
    assert objective.value(at, objective.outcome(at)) == objective.value(at)


def moved_at(at, node, rng):
    """The classifiers with all of one node's numbers moved."""
    weights, intercept, threshold = at.weights.copy(), at.intercept.copy(), at.threshold.copy()
    weights[node] += 0.4 * rng.standard_normal(weights[node].shape)
    intercept[node] += 0.3 * rng.standard_normal(intercept[node].shape)
    threshold[node] += 0.2
    return evolve(at, weights=weights, intercept=intercept, threshold=threshold)


@settings(max_examples=40)
@given(seeds, kinds, widths, parts, steepness, st.data())
def test_a_node_sees_the_whole_bound_wherever_it_moves(seed, kind, width, part, steep, data):
    H, objective, at = problem(seed, kind, width, routing_loss=part, steepness=steep)
    node, rng = data.draw(st.integers(0, len(at.topology) - 1)), np.random.default_rng(seed)
    z = objective.auxiliaries(at)
    view = NodeView.of(objective, at, objective.outcome(at), node)
    if view is None:  # rows are few here and the tree may be steep
        return
    assert view.bound(at, z)[0] == pytest.approx(objective.value(at), rel=1e-9)
    moved = moved_at(at, node, rng)
    other = Auxiliaries(z.groups * rng.uniform(1, 4, z.groups.shape) + 0.1, z.weights * 0.7 + 0.1)
    assert view.bound(moved, other)[0] == pytest.approx(naive_cstc.bound(H, objective, kind, moved, other), rel=1e-7)
    assert view.bound(moved, z)[0] >= objective.value(moved) * (1 - 1e-7)


@settings(max_examples=60, deadline=None)
@given(seeds, kinds, widths, parts, st.data())
def test_slopes_are_those_of_finite_differences(seed, kind, width, part, data):
    """Through the probabilities of all nodes after it, in the loss and in the cost; against the twin in loops."""
    H, objective, at = problem(seed, kind, width, n=5, routing_loss=part)
    node, z = data.draw(st.integers(0, len(at.topology) - 1)), objective.auxiliaries(at)
    other = Auxiliaries(z.groups * 1.3 + 0.1, z.weights * 0.8 + 0.1)  # not the best ones: slopes of the bound itself
    view = NodeView.of(objective, at, objective.outcome(at), node)
    _, slopes = view.bound(at, other)

    def twin(name):
        def bound(part):
            all_parts = getattr(at, name).copy()
            all_parts[node] = part
            return naive_cstc.bound(H, objective, kind, evolve(at, **{name: all_parts}), other)

        return differences(bound, np.asarray(getattr(at, name)[node]))

    near = {"rtol": 1e-4, "atol": 1e-7}
    np.testing.assert_allclose(slopes.weights, twin("weights"), **near)
    np.testing.assert_allclose(slopes.intercept, twin("intercept"), **near)
    np.testing.assert_allclose(slopes.threshold, twin("threshold"), **near)


def test_the_cost_of_others_moves_a_routing_node():
    """With no loss at all, what a threshold and a score change is what other nodes cost."""
    _, objective, at = problem(0, "squared", 1, depth=2)
    tree = Topology.full(2)
    at = classifiers(np.random.default_rng(0), tree, 3, 1)
    at = evolve(at, weights=at.weights * np.array([0.0, 1.0, 0.0])[:, np.newaxis, np.newaxis])
    rows = evolve(objective.rows, in_mean=objective.rows.in_mean * 1e-12)
    groups = PricedGroups(objective.cost.groups.member, np.full(5, 0.5))
    objective = RelaxedObjective.of(rows, groups, tree, LOSSES["squared"], steepness=4.0)
    _, slopes = NodeView.of(objective, at, objective.outcome(at), 0).bound(at, objective.auxiliaries(at))
    assert slopes.threshold > 1e-3  # more rows go below, where features are bought
    assert slopes.intercept[0] == pytest.approx(-slopes.threshold, rel=1e-6)


def test_only_rows_that_come_are_seen():
    rng = np.random.default_rng(0)
    H, tree = rng.standard_normal((40, 3)), Topology.full(2)
    rows = seen(H, rng.standard_normal((40, 1)), rng.uniform(0.5, 2, 40), np.ones(40))
    at = Classifiers(tree, np.array([[[1.0], [0.0], [0.0]]] * 3), np.zeros((3, 1)), np.ones((3, 1)), np.zeros(3))
    groups = PricedGroups(problem(0, "squared", 1)[1].cost.groups.member, np.full(5, 0.1))
    for some in (rows, rows.columns(np.arange(3))):
        objective = RelaxedObjective.of(some, groups, tree, LOSSES["squared"], steepness=1000.0)
        outcome = objective.outcome(at)
        passes = objective.flow(at, outcome).passes
        for node in range(3):
            view = NodeView.of(objective, at, outcome, node)
            here = passes[:, node] > 1e-9
            assert node == 0 or 5 < here.sum() < 35
            np.testing.assert_array_equal(view.rows.target, rows.target[here])
            np.testing.assert_array_equal(view.scores(at)[:, 0], H[here, 0])
            np.testing.assert_allclose(view.rows.back(np.ones((here.sum(), 1)))[:, 0], H[here].sum(axis=0))
            assert view.bound(at, objective.auxiliaries(at))[0] == pytest.approx(objective.value(at), rel=1e-9)
        shut = evolve(at, threshold=np.array([np.inf, 0.0, 0.0]))
        assert NodeView.of(objective, shut, objective.outcome(shut), 2) is None
        assert len(NodeView.of(objective, shut, objective.outcome(shut), 1).rows.target) == 40


COSTS = cf.CostModel.from_dict({
    "features": {"a": 1.0, "b": 3.0, "c": {"cost": 2.0, "needs": ["lab"]}, "d": {"cost": 0.5, "needs": ["lab"]}},
    "resources": {"lab": {"cost": 10.0, "needs": ["visit"]}, "visit": 4.0}, "learner": 0.25,
})  # fmt: skip


@settings(max_examples=30)
@given(seeds, widths, st.floats(0, 1))
def test_the_exact_cost_is_paid_once_on_each_way(seed, width, density):
    rng, tree = np.random.default_rng(seed), topology(seed)
    H = rng.standard_normal((6, 4))
    bank = cf.WeakLearnerBank.columns(list("abcd"))
    groups = PricedGroups.of_bank(bank, COSTS.select(list("abcd")))
    rows = seen(H, np.zeros((6, width)), rng.uniform(0.5, 2, 6), np.ones(6))
    at = classifiers(rng, tree, 4, width)
    at = evolve(at, weights=at.weights * (rng.random((len(tree), 4, 1)) < density))
    objective = RelaxedObjective.of(rows, groups, tree, LOSSES["squared"], steepness=4.0)
    twin = naive_cstc.charged(H, objective, at, COSTS)
    assert objective.charged(at) == pytest.approx(twin, rel=1e-9, abs=1e-12)
    assert objective.charged(at, objective.outcome(at)) == objective.charged(at)
