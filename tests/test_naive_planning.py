"""The naive planner: no policy beats its optimum, its models are exact, and it plans what the traps call for."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_planning import (
    Problem,
    exact_rows,
    follow,
    loss_to_go,
    losses,
    open_loop_plan,
    optimal_plan,
    price,
    probabilities,
)

import costframe as cf

NESTED = [(), (0,), (0, 1)]
CROSSED = [(), (0,), (1,), (0, 1)]
CHARGED = [(0,), (1,), (0, 2)]
COSTS = {
    "features": {"a": 1.0, "b": {"cost": 2.0, "needs": ["r"]}, "c": {"cost": 0.5, "needs": ["r"]}},
    "resources": {"r": 3.0},
}


def drawn(seed, stops, *, n_features=2, n_classes=2):
    """Return a problem with random weights and class probabilities over all rows of zeros and ones."""
    rng = np.random.default_rng(seed)
    values = np.array(list(product([0.0, 1.0], repeat=n_features)))
    weights, classes = rng.dirichlet(np.ones(len(values))), rng.dirichlet(np.full(n_classes, 0.4), len(values))
    costs = {
        "features": {name: COSTS["features"][name] for name in "abc"[:n_features]},
        "resources": COSTS["resources"],
    }
    return Problem(values, weights, classes, stops, cf.CostModel.from_dict(costs))


def every_policy(problem):
    """Return all deterministic policies: every choice in every situation that may occur, as dicts."""

    def ways(stop, bought, states):
        seen = tuple(problem.values[states[0], sorted(bought)])
        out = [{(stop, bought, seen): stop}]
        for later in range(stop + 1, len(problem.stops)):
            more = bought | set(problem.stops[later])
            out += [{(stop, bought, seen): later} | rest for rest in together(later, more, states)]
        return out

    def together(stop, bought, states):
        parts = {}
        for state in states:
            parts.setdefault(tuple(problem.values[state, sorted(bought)]), []).append(state)
        chosen = product(*(ways(stop, bought, part) for part in parts.values()))
        return [{key: value for part in one for key, value in part.items()} for one in chosen]

    return together(0, frozenset(problem.stops[0]), range(len(problem.values)))


def actions(policy):
    return lambda *situation: policy[situation]


def exclusive_or(costs):
    values = np.array(list(product([-1.0, 1.0], repeat=2)))
    differ = values[:, 0] != values[:, 1]
    return Problem(values, np.full(4, 0.25), np.column_stack([~differ, differ]).astype(float), CROSSED, costs)


@pytest.mark.parametrize(("stops", "n_features", "n"), [(NESTED, 2, 6), (CROSSED, 2, 42), (CHARGED, 3, 36)])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), tradeoff=st.sampled_from([0.0, 0.003, 0.02, 0.1, 1.0]))
def test_no_policy_is_better_than_the_optimal_plan(stops, n_features, n, seed, tradeoff):
    problem = drawn(seed, stops, n_features=n_features, n_classes=3)
    best = optimal_plan(problem, tradeoff)
    values = [follow(problem, actions(policy), tradeoff).value for policy in every_policy(problem)]
    assert len(values) == n
    assert best.value == pytest.approx(min(values), abs=1e-9)
    assert best.value == pytest.approx(best.loss + tradeoff * best.cost)
    assert open_loop_plan(problem, tradeoff).value >= best.value - 1e-9


def test_models_are_conditional_probabilities():
    problem = drawn(4, CROSSED)
    joint = problem.weights[:, np.newaxis] * problem.classes
    for stop, feature in ((1, 0), (2, 1)):
        for value in (0.0, 1.0):
            mine = problem.values[:, feature] == value
            expected = joint[mine].sum(axis=0) / joint[mine].sum()
            np.testing.assert_allclose(probabilities(problem, stop)[mine], np.tile(expected, (2, 1)))
    np.testing.assert_allclose(probabilities(problem, 3), problem.classes)
    np.testing.assert_allclose(probabilities(problem, 0), np.tile(joint.sum(axis=0), (4, 1)))


@given(seed=st.integers(0, 2**32))
def test_loss_to_go_is_minus_the_information_that_the_larger_set_adds(seed):
    problem = drawn(seed, NESTED, n_classes=3)
    for stop, later in ((0, 1), (0, 2), (1, 2)):
        to_go = loss_to_go(problem, stop, later)
        assert (to_go <= 1e-9).all()
        fallen = losses(problem, later) - losses(problem, stop)
        assert problem.weights @ to_go == pytest.approx(problem.weights @ fallen, abs=1e-9)
        assert all(np.ptp(to_go[problem.values[:, 0] == value]) < 1e-12 for value in (0.0, 1.0))


def test_at_no_tradeoff_all_that_helps_is_bought_and_at_a_high_one_nothing():
    problem = drawn(0, NESTED)
    assert (optimal_plan(problem, 0.0).answered == 2).all()
    assert optimal_plan(problem, 0.0).cost == 1.0 + 2.0 + 3.0
    assert optimal_plan(problem, 100.0).cost == 0.0


def test_resources_are_paid_once_and_only_if_needed():
    problem = drawn(0, CHARGED, n_features=3)
    sets = [{0}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}]
    assert [price(problem, frozenset(features)) for features in sets] == [1.0, 6.0, 4.5, 5.5, 6.5]


def test_both_signs_of_an_exclusive_or_are_bought_together():
    problem = exclusive_or(cf.CostModel.from_dict({"features": {"a": 2.0, "b": 3.0}}))
    for plan in (optimal_plan(problem, 0.1), open_loop_plan(problem, 0.1)):
        assert (plan.loss, plan.cost) == pytest.approx((0.0, 5.0))
    assert open_loop_plan(problem, 0.1).actions == {(0, frozenset(), ()): 3} | {
        (3, frozenset({0, 1}), tuple(row)): 3 for row in problem.values
    }
    plan = optimal_plan(problem, 0.2)  # log(2) is less than 1
    assert (plan.loss, plan.cost) == pytest.approx((np.log(2), 0.0))


def selector(stops):
    """A selector that costs 1 and two signs that cost 10, of which it tells which is the label."""
    values = np.array(list(product([0.0, 1.0], [0.0, 1.0], [0.0, 1.0])))
    label = np.where(values[:, 0] == 0, values[:, 1], values[:, 2])
    classes = np.column_stack([1 - label, label])
    costs = cf.CostModel.from_dict({"features": {"which": 1.0, "one": 10.0, "other": 10.0}})
    return Problem(values, np.full(8, 0.125), classes, stops, costs)


def test_the_optimum_reads_a_selector_for_what_it_makes_possible_and_the_open_loop_does_not():
    problem = selector([(), (0,), (0, 1), (0, 2), (0, 1, 2)])
    best, believed = optimal_plan(problem, 0.05), open_loop_plan(problem, 0.05)
    assert best.actions[0, frozenset(), ()] == 1
    assert (best.loss, best.cost) == pytest.approx((0.0, 11.0))
    np.testing.assert_array_equal(best.answered, np.where(problem.values[:, 0] == 0, 2, 3))
    assert (believed.loss, believed.cost) == pytest.approx((np.log(2), 0.0))  # 21 for all at once is too much
    assert best.value < believed.value


@pytest.mark.parametrize("plan", [optimal_plan, open_loop_plan])
def test_no_row_pays_more_than_its_cap(plan):
    problem = selector([(), (0,), (0, 1), (0, 1, 2)])
    for cap in (0.0, 1.0, 10.5, 11.0, 20.0):
        assert plan(problem, 0.0, max_cost=cap).paid.max() <= cap
    assert (plan(problem, 0.0, max_cost=21.0).loss, plan(problem, 0.0).loss) == (0.0, 0.0)


def test_a_policy_cannot_go_back():
    with pytest.raises(ValueError, match="from 2 to 1"):
        follow(drawn(0, CROSSED), lambda stop, _bought, _seen: 1 if stop == 2 else 2, 0.1)


def test_exact_rows_have_exact_shares():
    values = np.array([[0.0], [1.0]])
    problem = Problem(values, np.array([0.25, 0.75]), np.array([[0.5, 0.5], [0.2, 0.8]]), [(0,)], None)
    X, y = exact_rows(problem, 40)
    assert [((X[:, 0] == x) & (y == label)).sum() for x in (0, 1) for label in (0, 1)] == [5, 5, 6, 24]
    with pytest.raises(ValueError, match="41 rows"):
        exact_rows(problem, 41)
