"""A chain as a soft tree: eq. 8 and the objective at fixed supports against loops, slopes against differences."""

import naive_flow
import numpy as np
import pytest
from attrs import evolve
from cronus_cases import problem
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_relaxed import differences

from costframe.stagewise.descent import SupportObjective, cycle, descend
from costframe.stagewise.objective import Auxiliaries, RelaxedObjective
from costframe.stagewise.relaxed import RelaxedCost
from costframe.stagewise.rows import Squared

seeds = st.integers(0, 10_000)
stages = st.integers(1, 4)


def relaxed_problem(seed, n_stages, floor):
    H, rows, groups, chain, steepness = problem(seed, n_stages=n_stages)
    l1 = np.random.default_rng(seed).choice([0.0, 0.02, 0.1], n_stages)
    objective = RelaxedObjective.of_chain(rows, Squared(), groups, l1, steepness)
    return H, groups, evolve(objective, cost=RelaxedCost.chain(groups, n_stages, floor)), chain


@settings(max_examples=50)
@given(seeds, stages, st.sampled_from([1e-6, 0.4]))
def test_the_relaxed_objective_is_eq_8(seed, n_stages, floor):
    H, groups, objective, chain = relaxed_problem(seed, n_stages, floor)
    twin = naive_flow.eq_8(H, objective.rows, groups, chain, objective.l1, objective.steepness, floor)
    assert objective.value(chain) == pytest.approx(twin, rel=1e-9)
    assert objective.value(chain, objective.outcome(chain)) == objective.value(chain)


def perturbed(z, rng):
    return Auxiliaries(z.groups * rng.uniform(1, 4, z.groups.shape) + 0.1, z.weights * 0.8 + 0.1)


@settings(max_examples=50)
@given(seeds, st.integers(2, 4), st.data())
def test_the_bounds_slopes_are_those_of_finite_differences(seed, n_stages, data):
    """Of every stage, with the changes in loss and cost of the stages after it."""
    _, _, objective, chain = relaxed_problem(seed, n_stages, 1e-6)
    stage, outcome = data.draw(st.integers(0, n_stages - 1)), objective.outcome(chain)
    other = perturbed(objective.auxiliaries(chain, outcome), np.random.default_rng(seed))
    _, slopes = objective.bound(chain, other, outcome, stage)
    for name in ("weights", "intercept", "threshold"):

        def bound(part, name=name):
            at = evolve(chain, **{name: part})
            return objective.bound(at, other, objective.outcome(at), stage)[0]

        twin = differences(bound, getattr(chain, name))[stage]
        np.testing.assert_allclose(getattr(slopes, name)[0], twin, rtol=1e-4, atol=1e-7)


def test_eq_8_falls_at_every_accepted_step():
    moved = set()
    for seed in range(4):
        H, groups, objective, chain = relaxed_problem(seed, 3, 1e-6)
        before = naive_flow.eq_8(H, objective.rows, groups, chain, objective.l1, objective.steepness, 1e-6)
        steps = []
        found = cycle(objective, chain, 3, steps)
        twin = naive_flow.eq_8(H, objective.rows, groups, found, objective.l1, objective.steepness, 1e-6)
        assert steps[-1].objective == pytest.approx(twin, rel=1e-9)
        assert (np.diff([before, *[step.objective for step in steps]]) < 0).all()
        moved |= {(seed, step.node) for step in steps}
    assert {stage for _, stage in moved} == {0, 1, 2}
    assert len({seed for seed, _ in moved}) == 4


def support_problem(seed, n_stages, tradeoff=0.3):
    H, rows, _, chain, steepness = problem(seed, n_stages=n_stages)
    costs = np.random.default_rng(seed).exponential(size=(len(H), n_stages))
    return H, SupportObjective(rows, Squared(), costs, tradeoff, steepness), chain


@settings(max_examples=50)
@given(seeds, stages)
def test_at_fixed_supports_loss_and_cost_are_expected(seed, n_stages):
    H, objective, chain = support_problem(seed, n_stages)
    loss, cost = objective.value(chain)
    assert loss == pytest.approx(naive_flow.loss(H, objective.rows, chain, objective.steepness), rel=1e-9)
    twin = naive_flow.expected_cost(H, objective.rows, objective.costs, chain, objective.steepness)
    assert cost == pytest.approx(twin, rel=1e-9)
    assert objective.total(chain) == pytest.approx(loss + 0.3 * cost)


@settings(max_examples=30)
@given(seeds, stages)
def test_at_fixed_supports_slopes_are_those_of_finite_differences(seed, n_stages):
    _, objective, chain = support_problem(seed, n_stages)
    loss, cost, slopes = objective.gradient(chain)
    assert (loss, cost) == pytest.approx(objective.value(chain), rel=1e-12)
    for name in ("weights", "intercept", "threshold"):
        twin = differences(lambda part, name=name: objective.total(evolve(chain, **{name: part})), getattr(chain, name))
        np.testing.assert_allclose(getattr(slopes, name), twin, rtol=1e-4, atol=1e-7)


@settings(max_examples=15)
@given(seeds, st.integers(2, 3), st.sampled_from(["same", "more", "opposite"]))
def test_descent_ends_no_worse_than_it_began_on_other_rows(seed, n_stages, kind):
    _, objective, chain = support_problem(seed, n_stages)
    other = objective
    if kind == "more":
        other = support_problem(seed + 1, n_stages)[1]
    elif kind == "opposite":
        other = evolve(objective, rows=evolve(objective.rows, target=-objective.rows.target))
    free = np.random.default_rng(seed).random(chain.used.shape) < 0.7
    start = evolve(chain, weights=chain.weights * free[:, :, np.newaxis])
    found = descend(objective, start, free, np.linspace(0.01, 0.1, n_stages), other, 30)
    assert other.total(found) <= other.total(start)
    assert not found.weights[~free].any()
    if kind == "same":
        assert other.total(found) < other.total(start)
