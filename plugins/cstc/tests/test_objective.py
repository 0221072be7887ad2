"""The relaxed objective and its bound as a node sees it: against loops over terminal elements, and differences."""

import naive_cstc
import numpy as np
import pytest
from attrs import evolve
from cstc_cases import LOSSES, bank_rows, problem, soft_tree, topology
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_relaxed import differences

import costframe as cf
from costframe.core.cost.groups import PricedGroups
from costframe.stagewise.objective import Auxiliaries, RelaxedObjective
from costframe.stagewise.relaxed import RelaxedCost

seeds = st.integers(0, 10_000)
kinds = st.sampled_from(list(LOSSES))
widths = st.integers(1, 3)
steepness = st.sampled_from([4.0, 50.0])


def with_floor(objective, floor):
    return evolve(objective, cost=RelaxedCost(objective.cost.groups, objective.cost.paths, floor))


@settings(max_examples=40)
@given(seeds, kinds, widths, st.sampled_from([1e-6, 0.4]))
def test_the_objective_is_that_of_the_text(seed, kind, width, floor):
    H, objective, at = problem(seed, kind, width)
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
@given(seeds, kinds, widths, steepness, st.data())
def test_the_bound_is_that_of_the_text_wherever_a_node_moves(seed, kind, width, steep, data):
    H, objective, at = problem(seed, kind, width, steepness=steep)
    node, rng = data.draw(st.integers(0, len(at.topology) - 1)), np.random.default_rng(seed)
    outcome = objective.outcome(at)
    z = objective.auxiliaries(at, outcome)
    assert objective.bound(at, z, outcome, node)[0] == pytest.approx(objective.value(at), rel=1e-9)
    moved = moved_at(at, node, rng)
    other = Auxiliaries(z.groups * rng.uniform(1, 4, z.groups.shape) + 0.1, z.weights * 0.7 + 0.1)
    assert objective.bound(moved, other, objective.outcome(moved), node)[0] == pytest.approx(
        naive_cstc.bound(H, objective, kind, moved, other), rel=1e-7
    )
    assert objective.bound(moved, z, objective.outcome(moved), node)[0] >= objective.value(moved) * (1 - 1e-7)


@settings(max_examples=60, deadline=None)
@given(seeds, kinds, widths, st.data())
def test_slopes_are_those_of_finite_differences(seed, kind, width, data):
    """Through the probabilities of all nodes after it, in the loss and in the cost; against the twin in loops."""
    H, objective, at = problem(seed, kind, width, n=5)
    node, outcome = data.draw(st.integers(0, len(at.topology) - 1)), objective.outcome(at)
    z = objective.auxiliaries(at, outcome)
    other = Auxiliaries(z.groups * 1.3 + 0.1, z.weights * 0.8 + 0.1)  # not the best ones: slopes of the bound itself
    _, slopes = objective.bound(at, other, outcome, node)

    def twin(name):
        def bound(part):
            all_parts = getattr(at, name).copy()
            all_parts[node] = part
            return naive_cstc.bound(H, objective, kind, evolve(at, **{name: all_parts}), other)

        return differences(bound, np.asarray(getattr(at, name)[node]))

    near = {"rtol": 1e-4, "atol": 1e-7}
    np.testing.assert_allclose(slopes.weights[0], twin("weights"), **near)
    np.testing.assert_allclose(slopes.intercept[0], twin("intercept"), **near)
    np.testing.assert_allclose(slopes.threshold[0], twin("threshold"), **near)


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
    rows = bank_rows(H, np.zeros((6, width)), rng.uniform(0.5, 2, 6), np.ones(6))
    at = soft_tree(rng, tree, 4, width)
    at = evolve(at, weights=at.weights * (rng.random((len(tree), 4, 1)) < density))
    objective = RelaxedObjective.of_tree(rows, LOSSES["squared"], groups, tree, 0.0, 4.0)
    twin = naive_cstc.charged(H, objective, at, COSTS)
    assert objective.exact_cost(at) == pytest.approx(twin, rel=1e-9, abs=1e-12)
    assert objective.exact_cost(at, objective.outcome(at)) == objective.exact_cost(at)
