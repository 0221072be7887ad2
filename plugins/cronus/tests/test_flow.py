"""Rows in a chain, eq. 8 and the second phase's objective: against loops, and slopes against finite differences."""

import naive_flow
import numpy as np
import pytest
from attrs import evolve
from cronus_cases import COSTS, boosted, differences, judge_of, problem, table
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.stagewise.relaxed import RelaxedCost
from costframe_cronus.chain import Chain
from costframe_cronus.cyclic import Auxiliaries, RelaxedObjective, cycle
from costframe_cronus.flow import Flow
from costframe_cronus.supports import SupportObjective, descend
from costframe_cronus.tree import as_stage_tree

seeds = st.integers(0, 10_000)
stages = st.integers(1, 4)
NEAR = {"rtol": 2e-5, "atol": 2e-8}


@given(seeds, stages, st.sampled_from([0.5, 4.0, 50.0]))
def test_probabilities_are_products_along_the_way(seed, n_stages, steepness):
    rng = np.random.default_rng(seed)
    scores, theta = rng.standard_normal((6, n_stages)), rng.standard_normal(n_stages - 1)
    theta[rng.random(n_stages - 1) < 0.2] = rng.choice([-np.inf, np.inf])
    flow = Flow.of(scores, theta, steepness)
    for row, p, q in zip(scores, flow.passes, flow.exits, strict=True):
        twin = naive_flow.flow(row, np.clip(theta, -1e300, 1e300), min(steepness, 50.0))
        np.testing.assert_allclose(p, twin[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(q, twin[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(flow.exits.sum(axis=1), 1.0)


@given(seeds, stages, st.sampled_from([0.5, 4.0]))
def test_what_is_expected_moves_with_the_scores(seed, n_stages, steepness):
    rng = np.random.default_rng(seed)
    scores, theta = rng.standard_normal((5, n_stages)), rng.standard_normal(n_stages - 1)
    at_exit, arrival = rng.standard_normal((2, 5, n_stages))

    def expected(scores, theta):
        flow = Flow.of(scores, theta, steepness)
        return (flow.exits * at_exit + flow.passes * arrival).sum()

    slopes = Flow.of(scores, theta, steepness).by_scores(at_exit, arrival)
    twin = differences(lambda moved: expected(moved, theta), scores)
    np.testing.assert_allclose(slopes, twin[:, :-1], **NEAR)
    np.testing.assert_allclose(twin[:, -1], 0, atol=1e-8)
    by_threshold = differences(lambda moved: expected(scores, moved), theta)
    np.testing.assert_allclose(-slopes.sum(axis=0), by_threshold, **NEAR)


def relaxed_problem(seed, n_stages, floor):
    H, rows, groups, chain, steepness = problem(seed, n_stages=n_stages)
    l1 = np.random.default_rng(seed).choice([0.0, 0.02, 0.1], n_stages)
    objective = RelaxedObjective(rows, RelaxedCost.chain(groups, n_stages, floor), l1, steepness)
    return H, groups, objective, chain


@settings(max_examples=50)
@given(seeds, stages, st.sampled_from([1e-6, 0.4]))
def test_the_relaxed_objective_is_eq_8(seed, n_stages, floor):
    H, groups, objective, chain = relaxed_problem(seed, n_stages, floor)
    twin = naive_flow.eq_8(H, objective.rows, groups, chain, objective.l1, objective.steepness, floor)
    assert objective.value(chain) == pytest.approx(twin, rel=1e-9)
    assert objective.value(chain, chain.scores(objective.rows)) == objective.value(chain)


@settings(max_examples=50)
@given(seeds, stages, st.sampled_from([1e-6, 0.4]))
def test_the_bound_touches_at_the_auxiliaries_and_is_nowhere_less(seed, n_stages, floor):
    _, _, objective, chain = relaxed_problem(seed, n_stages, floor)
    scores = chain.scores(objective.rows)
    z, value = objective.auxiliaries(chain, scores), objective.value(chain)
    for stage in range(n_stages):
        assert objective.bound(chain, z, stage, scores)[0] == pytest.approx(value, rel=1e-12)
    rng = np.random.default_rng(seed)
    other = Auxiliaries(z.groups * rng.uniform(1, 4, z.groups.shape), z.weights * rng.uniform(1, 4, z.weights.shape))
    assert objective.bound(chain, other, 0, scores)[0] >= value * (1 - 1e-12)
    moved = Chain(
        chain.weights + 0.3 * rng.standard_normal(chain.weights.shape), chain.intercept, chain.threshold + 0.1
    )
    at = objective.bound(moved, z, 0, moved.scores(objective.rows))[0]
    assert at >= objective.value(moved) * (1 - 1e-12)


@settings(max_examples=50)
@given(seeds, st.integers(2, 4), st.data())
def test_the_bounds_slopes_are_those_of_finite_differences(seed, n_stages, data):
    """Of every stage, with what moves in the loss and the cost of the stages after it."""
    _, _, objective, chain = relaxed_problem(seed, n_stages, 1e-6)
    stage = data.draw(st.integers(0, n_stages - 1))
    z = objective.auxiliaries(chain, chain.scores(objective.rows))
    other = Auxiliaries(z.groups * 1.3 + 0.1, z.weights * 0.8 + 0.1)  # not the best ones: slopes of the bound itself

    def bound(weights, intercept, threshold):
        at = Chain(weights, intercept, threshold)
        return objective.bound(at, other, stage, at.scores(objective.rows))[0]

    parts = [chain.weights, chain.intercept, chain.threshold]
    _, slopes = objective.bound(chain, other, stage, chain.scores(objective.rows))
    for place, found in enumerate((slopes.weights, slopes.intercept, slopes.threshold)):
        twin = differences(lambda one, place=place: bound(*parts[:place], one, *parts[place + 1 :]), parts[place])
        here = np.arange(len(found)) == stage
        np.testing.assert_allclose(found[here], twin[here], rtol=1e-4, atol=1e-7)
        assert not found[~here].any()


def test_eq_8_falls_at_every_accepted_step():
    moved = set()
    for seed in range(4):
        H, groups, objective, chain = relaxed_problem(seed, 3, 1e-6)
        before = naive_flow.eq_8(H, objective.rows, groups, chain, objective.l1, objective.steepness, 1e-6)
        for stage, value, now in cycle(objective, chain, 3):
            twin = naive_flow.eq_8(H, objective.rows, groups, now, objective.l1, objective.steepness, 1e-6)
            assert value == pytest.approx(twin, rel=1e-9)
            assert twin < before
            others = np.arange(3) != stage
            np.testing.assert_array_equal(now.weights[others], chain.weights[others])
            np.testing.assert_array_equal(now.threshold[others[:2]], chain.threshold[others[:2]])
            before, chain = twin, now
            moved.add((seed, stage))
    assert {stage for _, stage in moved} == {0, 1, 2}
    assert len({seed for seed, _ in moved}) == 4


def support_problem(seed, n_stages, tradeoff=0.3):
    H, rows, _, chain, steepness = problem(seed, n_stages=n_stages)
    costs = np.random.default_rng(seed).exponential(size=(len(H), n_stages))
    return H, SupportObjective(rows, costs, tradeoff, steepness), chain


@settings(max_examples=50)
@given(seeds, stages)
def test_the_second_phase_counts_what_the_text_says(seed, n_stages):
    H, objective, chain = support_problem(seed, n_stages)
    loss, cost = objective.value(chain)
    assert loss == pytest.approx(naive_flow.loss(H, objective.rows, chain, objective.steepness), rel=1e-9)
    twin = naive_flow.expected_cost(H, objective.rows, objective.costs, chain, objective.steepness)
    assert cost == pytest.approx(twin, rel=1e-9)
    assert objective.total(chain) == pytest.approx(loss + 0.3 * cost)


@settings(max_examples=30)
@given(seeds, stages)
def test_the_second_phases_slopes_are_those_of_finite_differences(seed, n_stages):
    _, objective, chain = support_problem(seed, n_stages)
    loss, cost, slopes = objective.gradient(chain)
    assert (loss, cost) == pytest.approx(objective.value(chain), rel=1e-12)
    parts = [chain.weights, chain.intercept, chain.threshold]
    for place, found in enumerate((slopes.weights, slopes.intercept, slopes.threshold)):
        twin = differences(
            lambda one, place=place: objective.total(Chain(*parts[:place], one, *parts[place + 1 :])), parts[place]
        )
        np.testing.assert_allclose(found, twin, rtol=1e-4, atol=1e-7)


@settings(max_examples=15)
@given(seeds, st.integers(2, 3), st.sampled_from(["same", "more", "opposite"]))
def test_descent_ends_no_worse_than_it_began_on_other_rows(seed, n_stages, kind):
    _, objective, chain = support_problem(seed, n_stages)
    same, other = kind == "same", objective
    if kind == "more":
        other = support_problem(seed + 1, n_stages)[1]
    elif kind == "opposite":
        other = evolve(objective, rows=evolve(objective.rows, target=-objective.rows.target))
    free = np.random.default_rng(seed).random(chain.weights.shape) < 0.7
    start = evolve(chain, weights=chain.weights * free)
    penalty = np.linspace(0.01, 0.1, n_stages)
    found, path = descend(objective, start, free, penalty, other, 30)
    assert other.total(found) <= other.total(start)
    assert not found.weights[~free].any()

    def minimized(at):
        return objective.total(at) + 0.5 * penalty @ np.square(at.weights).sum(axis=1)

    values = np.array([minimized(start), *[value for value, _, _ in path]])
    assert (np.diff(values) <= 1e-12).all()
    for value, loss, cost in path:
        assert loss + 0.3 * cost < value
    if same:
        assert other.total(found) < other.total(start)
        assert minimized(found) <= values[0]


@pytest.mark.parametrize("acquisition", ["path", "learner"])
def test_the_second_phases_cost_is_the_evaluators(acquisition):
    """Soft routing, rows of uneven weight, and stages that use again what was bought before them."""
    bank, (X, y) = boosted(15, 600), table(3, 300)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, len(X))
    judge = judge_of(bank, X, y, acquisition=acquisition, weight=weight, steepness=5.0)
    weights = rng.standard_normal((3, 15)) * np.array([np.arange(15) < 3, np.arange(15) % 3 == 0, np.ones(15)])
    chain = Chain(weights, rng.standard_normal(3), np.array([-0.3, 0.2]))
    objective = SupportObjective(judge.rows, judge.costs(chain), 1.0, 5.0)
    tree = as_stage_tree(bank, chain, None, 5.0)
    report = cf.ExpectedCost(COSTS, routing="soft", acquisition=acquisition).evaluate(tree, X, sample_weight=weight)
    assert objective.value(chain)[1] == pytest.approx(report.mean, rel=1e-9)
    assert 1 < report.mean < COSTS.full_cost()
