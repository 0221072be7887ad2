"""Ladders: of a few plans they take those of least loss + tradeoff * cost, and one that is given at its tradeoff."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe.core.stages.stops import Rung, check_ladder
from costframe_planner.path import PlanPoint, ladder_around

NUMBERS = st.integers(0, 6).map(float)


def plan(tradeoff, cost, loss, stop=-1, induced=False):
    return PlanPoint(tradeoff, stop, induced, loss, cost, -loss, None, 1, objective_cost=cost)


def rung_at(ladder, tradeoff):
    return [rung for rung in ladder if rung.least <= tradeoff][-1]


@given(
    st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8), st.integers(0, 7), st.sampled_from((0.0, 0.5, 2.0))
)
def test_costs_fall_and_the_given_plan_is_at_its_tradeoff(drawn, which, tradeoff):
    points = [plan(1.0 + k, cost, loss) for k, (cost, loss) in enumerate(drawn)]
    own = points[which % len(points)]
    ladder = ladder_around(own, tradeoff, points)
    check_ladder(tuple(ladder), has_plans=False)
    assert rung_at(ladder, tradeoff).tradeoff == own.tradeoff
    cost = {point.tradeoff: point.cost for point in points}
    costs = [cost[rung.tradeoff] for rung in ladder]
    assert costs == sorted(costs, reverse=True)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8), st.sampled_from((0.0, 0.3, 1.0, 7.0)))
def test_each_rung_has_the_least_objective(drawn, tradeoff):
    points = [plan(1.0 + k, cost, loss) for k, (cost, loss) in enumerate(drawn)]

    def best(tradeoff):
        return min(point.loss + tradeoff * point.cost for point in points)

    own = min(points, key=lambda point: (point.loss + tradeoff * point.cost, point.cost))
    found = {point.tradeoff: point for point in points}
    ladder = ladder_around(own, tradeoff, points)
    for asked in (0.0, 0.1, 0.45, 1.3, 2.7, 11.0):
        point = found[rung_at(ladder, asked).tradeoff]
        assert point.loss + asked * point.cost == pytest.approx(best(asked), abs=1e-6)


def test_plans_for_own_prices_are_planned_rungs():
    others = [plan(0.1, 5.0, 1.0), plan(3.0, 1.0, 3.0)]
    assert ladder_around(plan(0.7, 3.0, 1.5, induced=True), 0.5, others) == [
        Rung(0.0, 0.1), Rung(0.25, 0.7, planned=True), Rung(0.75, 3.0),
    ]  # fmt: skip
    assert ladder_around(plan(0.0, 3.0, 1.5, stop=2), 0.5, others)[1] == Rung(0.25, 0.5, planned=True)
    assert ladder_around(plan(0.0, 0.0, 9.0, stop=0), 0.5, [])[0] == Rung(0.0, 0.5, planned=True)
    low, high = ladder_around(plan(0.7, 1.0, 9.0, induced=True), 0.5, [plan(0.2, 9.0, 0.0)])
    assert (low, high.tradeoff, high.least) == (Rung(0.0, 0.2), 0.7, 0.5)  # worse at 0.5, but its own plan there
    assert np.nextafter(0.5, 0) < high.least
