"""The order of tests: what they will say is foreseen from rows that plan, and the order is that of least cost."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from costframe.promises.losses import ANY, COUNTS, Losses
from costframe.promises.orders import _expected_cost, _with_one_more, foresee, improve_order, staircase


def losses_of_rows(wrong, limit, law=COUNTS, about=None):
    draws = np.arange(len(wrong)) if about is None else np.flatnonzero(about)
    return Losses(wrong[draws].astype(np.float64), limit, 0.0, 1.0, law, len(draws), draws)


@pytest.mark.parametrize(("law", "within"), [(COUNTS, 0.06), (ANY, 0.15)])  # the exact test is more cautious
def test_models_are_foreseen_to_be_certified_as_often_as_the_binomial_law_says(law, within):
    """With so many planning rows that they leave no doubt of the truth."""
    planned, ahead = 20_000, 500
    wrong = np.arange(planned) % 100 < np.array([3, 4, 8])[:, None]
    found = foresee([losses_of_rows(each, 0.06, law) for each in wrong], planned, ahead, 0.1).mean(axis=0)
    most = binom.ppf(0.1, ahead, 0.06) - 1
    assert found == pytest.approx(binom.cdf(most, ahead, [0.03, 0.04, 0.08]), abs=within)


def test_few_planning_rows_leave_it_open():
    few, many = (foresee([losses_of_rows(np.arange(n) % 50 == 0, 0.04)], n, 2000, 0.1).mean() for n in (100, 10_000))
    assert many == 1.0
    assert 0.6 < few < 0.95


def test_models_are_foreseen_on_the_same_rows():
    wrong = np.arange(1000) % 20 == 0
    found = foresee([losses_of_rows(each, 0.07) for each in (wrong, wrong, np.roll(wrong, 1))], 1000, 300, 0.1)
    assert (found[:, 0] == found[:, 1]).all()
    assert (found[:, 0] != found[:, 2]).mean() > 0.2


def test_a_model_without_rows_that_count_is_never_foreseen_to_be_certified():
    wrong, none = np.zeros(50), np.zeros(50, bool)
    for law in (COUNTS, ANY):
        found = foresee([losses_of_rows(wrong, 0.5, law), losses_of_rows(wrong, 0.5, law, none)], 50, 50, 0.1)
        assert found.mean(axis=0) == pytest.approx([1.0, 0.0])


def random_case(r):
    certified = r.random((60, 9)) < r.random(9)
    cost = r.permutation(np.arange(1.0, 10.0))
    order = sorted(map(int, r.choice(9, r.integers(1, 7), replace=False)), key=lambda number: -cost[number])
    return order, certified, cost


@pytest.mark.parametrize("seed", range(30))
def test_the_model_inserted_is_that_of_least_expected_cost(seed):
    order, certified, cost = random_case(np.random.default_rng(seed))
    tried = [sorted([*order, k], key=lambda number: -cost[number]) for k in range(9) if k not in order]
    least = min(_expected_cost(each, certified, cost) for each in tried)
    assert _expected_cost(_with_one_more(order, certified, cost), certified, cost) == pytest.approx(least)


def test_expected_cost_is_that_of_the_last_one_before_the_first_that_fails():
    certified = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 1]], bool)
    assert _expected_cost([0, 1, 2], certified, np.array([5.0, 3.0, 1.0])) == pytest.approx((1 + 5 + 5) / 3)


@pytest.mark.parametrize("seed", range(10))
def test_an_order_falls_in_cost_and_no_single_change_of_it_saves_much(seed):
    order, certified, cost = random_case(np.random.default_rng(seed))
    found = improve_order(order, certified, cost)
    assert [*cost[found]] == sorted(cost[found], reverse=True)
    paid = _expected_cost(found, certified, cost)
    assert paid <= _expected_cost(order, certified, cost)
    sure = certified.mean(axis=0)
    assert sure[found[0]] >= sure[order[0]]  # else there may be no model where there was one
    assert cost[found[0]] >= cost[order[0]]
    for k in set(range(9)) - {found[0]}:
        other = [each for each in found if each != k] if k in found else [*found, k]
        other.sort(key=lambda number: -cost[number])
        if sure[other[0]] >= sure[found[0]]:
            assert _expected_cost(other, certified, cost) > paid * 0.994


def test_stairs_fall_in_cost_and_safety_and_begin_with_a_dear_one_that_is_nearly_as_safe():
    cost = np.array([9.0, 8.0, 5.0, 4.99, 3.0, 1.0])
    assert staircase([4.5, 1.0, 5.0, 4.0, 2.0, 2.5], cost) == [0, 2, 5]
    assert staircase([1.0, 1.0, 5.0, 3.0, 2.0, 0.5], cost) == [2, 4, 5]
