"""Trees of routes and answers: as stages, cut short, and measured."""

import numpy as np
import pytest
from attrs import evolve
from bank_cases import COSTS, EVERY_PRICE, boosted, table
from cstc_cases import evaluation_of, grown_tree
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.stagewise.soft_tree import WeightedSum, as_stage_tree

BANK = boosted(30, 600)


@pytest.mark.parametrize("acquisition", ["path", "learner"])
@pytest.mark.parametrize("costs", [COSTS, EVERY_PRICE], ids=["plain", "every price"])
def test_what_is_measured_is_what_will_be_charged(costs, acquisition):
    X, y = table(1, 300)
    judge = evaluation_of(BANK, X, y, costs, acquisition=acquisition, tradeoff=0.01)
    tree = grown_tree(judge, depth=3)
    stages = as_stage_tree(BANK, tree, "sigmoid")
    report = cf.ExpectedCost(costs, acquisition=acquisition).evaluate(stages, X)
    measured = evolve(judge, reads=None).measure(tree)
    once = 30 / 300 if costs is EVERY_PRICE else 0.0  # a row's share of what is paid once for all of them
    assert measured.cost == pytest.approx(report.mean + once * report.acquired[:, 4:].sum() / 300)
    chances = stages.predict(X)
    assert measured.loss == pytest.approx(-np.log(np.where(y == 1, chances, 1 - chances)).mean())
    assert measured.total == pytest.approx(measured.loss + 0.01 * measured.cost)
    assert judge.row_totals(tree).sum() == pytest.approx(judge.measure(tree).total)


@pytest.mark.parametrize("acquisition", ["path", "learner"])
def test_costs_are_told_quickly_from_what_is_read(acquisition):
    """Without a price of comparisons and of reuse they are the same."""
    X, y = table(2, 250)
    judge = evaluation_of(BANK, X, y, acquisition=acquisition, tradeoff=0.01)
    for depth in (1, 2, 3):
        tree = grown_tree(judge, depth=depth)
        np.testing.assert_allclose(judge.costs(tree), evolve(judge, reads=None).costs(tree), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 6))
def test_a_tree_that_ends_at_a_node_answers_there(seed, node):
    X, y = table(seed, 200)
    judge = evaluation_of(BANK, X, y, tradeoff=0.003)
    tree = grown_tree(judge, depth=3)
    if node >= len(tree):
        return
    before = as_stage_tree(BANK, tree, "identity")
    constant = WeightedSum(np.zeros((BANK.widths.sum(), 1)), np.array([77.0]))
    ended = as_stage_tree(BANK, tree.ending_at(node, constant), "identity")
    inside = judge.flow(tree).passes[:, node] > 0
    expected = np.where(inside, 77.0, before.predict(X))
    np.testing.assert_allclose(ended.predict(X), expected, atol=1e-12)
