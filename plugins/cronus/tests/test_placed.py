"""Thresholds where loss and cost are least: against all cuts, one by one."""

import naive_flow
import numpy as np
import pytest
from cronus_cases import COSTS, boosted, evaluation_of, table
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.stagewise.soft_tree import SoftTree, as_stage_tree
from costframe.stagewise.thresholds import best_thresholds
from costframe.stagewise.topology import Topology

seeds = st.integers(0, 10_000)


def drawn(seed, n_stages, n=12, infinite=0.3):
    """Scores with many ties; some thresholds reject nothing or all."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.standard_normal((n, n_stages)) * 2) / 2
    at_exit, arrival = rng.exponential(size=(2, n, n_stages))
    theta = rng.choice(scores.ravel(), n_stages - 1)
    theta[rng.random(n_stages - 1) < infinite] = rng.choice([-np.inf, np.inf])
    return scores, at_exit, 0.4 * arrival, theta


def placed_at(scores, at_exit, arrival, theta):
    """Thresholds of a chain, whose last stage has none; what a row pays is the same just below a threshold."""
    found = best_thresholds(
        Topology.chain(scores.shape[1]), scores, at_exit, arrival, np.append(just_below(theta), 0.0)
    )
    return np.where(np.isfinite(found), np.nextafter(found, np.inf), found)[:-1]


def just_below(theta):
    """A row goes on above a threshold, and in the twin from it on."""
    return np.where(np.isfinite(theta), np.nextafter(theta, -np.inf), theta)


@given(seeds)
def test_of_three_stages_no_threshold_alone_can_do_better(seed):
    scores, at_exit, arrival, theta = drawn(seed, 3)
    found = placed_at(scores, at_exit, arrival, theta)
    now = naive_flow.hard_objective(scores, at_exit, arrival, found)
    assert now <= naive_flow.hard_objective(scores, at_exit, arrival, theta) + 1e-12
    for k in range(2):
        for cut in naive_flow.cuts(scores[:, k]):
            other = found.copy()
            other[k] = cut
            assert now <= naive_flow.hard_objective(scores, at_exit, arrival, other) + 1e-12
    for k, one in enumerate(found):
        if np.isfinite(one) and abs(one - theta[k]) > 1e-9:
            assert scores[:, k].min() < one <= scores[:, k].max()


def test_scores_next_to_each_other_are_told_apart():
    one = 1.0
    while one < 4:
        scores = np.array([[one, 0.0], [np.nextafter(one, 9), 0.0]])
        found = placed_at(scores, np.array([[0.0, 9], [9, 0.0]]), np.zeros((2, 2)), np.array([-np.inf]))
        assert (scores[:, 0] < found[0]).tolist() == [True, False]
        one = np.nextafter(one, 9) + 0.3


def test_a_threshold_that_is_as_good_stays():
    scores = np.array([[0.0, 0.0], [1.0, 0.0]])
    same = np.zeros((2, 2))
    for theta in (-np.inf, np.inf, 0.3, 1.0):
        found = best_thresholds(Topology.chain(2), scores, same, same, np.array([theta, 0.0]))[0]
        assert found == theta


@pytest.fixture(scope="module")
def placed():
    """A chain of four stages over trees, its measuring rows, and thresholds of all kinds."""
    bank, (X, y) = boosted(12, 600), table(3, 300)
    rng = np.random.default_rng(1)
    judge = evaluation_of(bank, X, y, weight=rng.uniform(0.5, 2, len(X)))
    support = np.array([np.arange(12) % 4 <= k for k in range(4)])
    return bank, X, judge, SoftTree.chain(3 * rng.standard_normal((4, 12)) * support, np.zeros(4), np.zeros(3))


THRESHOLDS = [
    (-np.inf, 0.0, 0.1),
    (0.0, -np.inf, -np.inf),
    (-np.inf, -np.inf, -np.inf),
    (-0.1, np.inf, 0.0),
    (np.inf, 0.0, 0.0),
    (-np.inf, np.inf, -np.inf),
]


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_without_idle_stages_the_same_answers_cost_no_more(placed, threshold):
    _, _, judge, chain = placed
    chain = chain.with_threshold(np.append(threshold, 0.0))
    shorter = chain.without_idle_routes()
    assert np.isfinite(shorter.threshold).all()
    assert len(shorter) < 4
    before, after = judge.measure(chain), judge.measure(shorter)
    assert after.loss == pytest.approx(before.loss, rel=1e-9)
    assert after.cost <= before.cost + 1e-12
    if threshold[0] == -np.inf and np.isfinite(threshold[1]):
        assert after.cost == pytest.approx(before.cost)  # what the idle stage bought, the next one needs
    if threshold[0] == np.inf:
        first = chain.with_threshold(np.zeros(4))
        assert after.cost == pytest.approx(float(judge.rows.share @ judge.costs(first)[:, 0]))


@pytest.mark.parametrize("threshold", [(0.0, 0.1, -0.1), *THRESHOLDS])
def test_rows_go_the_way_of_the_stage_tree(placed, threshold):
    """Counted by the evaluator: exits, what is lost there, and what was paid."""
    bank, X, judge, chain = placed
    chain = chain.with_threshold(np.append(threshold, 0.0))
    tree = as_stage_tree(bank, chain, "ranked", 50.0)
    exits = (tree.exits(X) - 1) // 2
    exits[tree.exits(X) == 6] = 3
    if threshold[0] == 0:
        assert len(set(exits)) == 4 if threshold[1] > 0 else 2
    flow, report = judge.flow(chain), cf.ExpectedCost(COSTS).evaluate(tree, X)
    np.testing.assert_array_equal(flow.exits.argmax(axis=1), exits)
    np.testing.assert_allclose((flow.passes * judge.costs(chain)).sum(axis=1), report.per_row)


SMALL_BANK = boosted(8, 300)


@settings(max_examples=25)
@given(seeds, st.integers(1, 3))
def test_a_stage_that_evaluates_nothing_new_is_free(seed, n_new):
    """The cost of a later stage is that of all it evaluates so far, less that of what was evaluated before."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 8))
    judge = evaluation_of(SMALL_BANK, X, (X[:, 0] > 0).astype(int))
    first = rng.random(8) < 0.4
    again, more = first & (rng.random(8) < 0.7), first.copy()
    more[rng.integers(8, size=n_new)] = True
    costs = judge.costs(SoftTree.chain(np.array([first, again, more]) * 1.0, np.zeros(3), np.zeros(2)))
    assert not costs[:, 1].any()

    def alone(used):
        tree = cf.StageTree(SMALL_BANK, [cf.Answer(np.arange(8), used.astype(float), [0.0])])
        return tree.cost(X, COSTS).per_row

    np.testing.assert_allclose(costs[:, 0], alone(first), atol=1e-9)
    np.testing.assert_allclose(costs[:, 2], alone(more) - alone(first), atol=1e-9)
