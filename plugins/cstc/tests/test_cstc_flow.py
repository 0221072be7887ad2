"""The shapes of trees, rows in them, and losses: against all ways written out, and against finite differences."""

import naive_cstc
import numpy as np
import pytest
from cstc_cases import LOSSES, targets, topology
from hypothesis import given
from hypothesis import strategies as st
from naive_relaxed import differences

from costframe.stagewise.topology import Flow, Topology

seeds = st.integers(0, 10_000)


def test_a_node_taken_away_leaves_an_exit_of_its_parent():
    tree, kept = Topology.full(3).without(2)
    assert kept.tolist() == [0, 1, 3, 4]
    assert tree.children.tolist() == [[1, -1], [2, 3], [-1, -1], [-1, -1]]
    assert tree.has_exit.tolist() == [True, False, True, True]
    tree, kept = tree.without(2)
    assert kept.tolist() == [0, 1, 3]
    assert tree.children.tolist() == [[1, -1], [-1, 2], [-1, -1]]


@given(seeds, st.integers(1, 4))
def test_ways_end_once_for_each_exit(seed, depth):
    tree = topology(seed, depth)
    ways = naive_cstc.ways(tree.children.tolist())
    for node in range(len(tree)):
        through = [[j for j, _ in way] for way in ways if node in [j for j, _ in way]]
        assert tree.has_exit[node] == any(way[-1] == node for way in through)
        before = through[0][: through[0].index(node) + 1]
        assert np.flatnonzero(tree.paths[node]).tolist() == sorted(before)
        assert tree.parent[node] == (before[-2] if node else -1)
        assert tree.routes[node] == any(way[-1] != node for way in through)


@given(seeds, st.integers(1, 4), st.sampled_from([0.5, 4.0, 50.0]))
def test_probabilities_are_sums_over_ways(seed, depth, steepness):
    rng, tree = np.random.default_rng(seed), topology(seed, depth)
    scores, theta = rng.standard_normal((5, len(tree))), rng.standard_normal(len(tree))
    theta[rng.random(len(tree)) < 0.2] = rng.choice([-np.inf, np.inf])
    flow = Flow.of(tree, scores, theta, steepness)
    for row, p, e in zip(scores, flow.passes, flow.exits, strict=True):
        given_ = tree.children.tolist(), row, np.clip(theta, -1e300, 1e300), steepness
        np.testing.assert_allclose(p, naive_cstc.passes(*given_), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(e, naive_cstc.exits(*given_), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(flow.exits.sum(axis=1), 1.0)


@given(seeds, st.integers(1, 4))
def test_hard_rows_take_one_way(seed, depth):
    rng, tree = np.random.default_rng(seed), topology(seed, depth)
    scores, theta = rng.integers(-2, 3, (6, len(tree))).astype(float), rng.integers(-1, 2, len(tree)).astype(float)
    flow = Flow.hard(tree, scores, theta)
    for row, p, e in zip(scores, flow.passes, flow.exits, strict=True):
        way = naive_cstc.hard_way(tree.children.tolist(), row, theta)
        assert np.flatnonzero(p).tolist() == sorted(way)
        assert np.flatnonzero(e).tolist() == way[-1:]
        assert p[way[0]] == e[way[-1]] == 1


@given(seeds, st.integers(1, 4))
def test_more_is_paid_below_by_the_difference_of_the_children(seed, depth):
    rng, tree = np.random.default_rng(seed), topology(seed, depth)
    scores, theta = rng.standard_normal((4, len(tree))), rng.standard_normal(len(tree))
    at_exit, arrival = rng.standard_normal((2, 4, len(tree)))
    for node in np.flatnonzero(tree.routes):
        sides = []
        for forced in (np.inf, -np.inf):
            moved = np.where(np.arange(len(tree)) == node, forced, theta)
            sides.append(Flow.hard(tree, scores, moved).expected_payments(at_exit, arrival)[:, node])
        found = Flow.hard(tree, scores, theta).payment_difference(node, at_exit, arrival)
        np.testing.assert_allclose(found, sides[0] - sides[1], atol=1e-12)


@given(seeds, st.integers(1, 3), st.sampled_from([0.5, 4.0]))
def test_what_is_expected_moves_with_scores_and_thresholds(seed, depth, steepness):
    rng, tree = np.random.default_rng(seed), topology(seed, depth)
    scores, theta = rng.standard_normal((4, len(tree))), rng.standard_normal(len(tree))
    at_exit, arrival = rng.standard_normal((2, 4, len(tree)))

    def expected(scores, theta):
        flow = Flow.of(tree, scores, theta, steepness)
        return (flow.exits * at_exit + flow.passes * arrival).sum()

    slopes = Flow.of(tree, scores, theta, steepness).score_gradient(at_exit, arrival)
    near = {"rtol": 2e-5, "atol": 2e-8}
    np.testing.assert_allclose(slopes, differences(lambda moved: expected(moved, theta), scores), **near)
    np.testing.assert_allclose(-slopes.sum(axis=0), differences(lambda moved: expected(scores, moved), theta), **near)
    assert not slopes[:, ~tree.routes].any()


@given(seeds, st.sampled_from(list(LOSSES)), st.integers(1, 4))
def test_losses_are_those_of_the_text_and_their_slopes_those_of_differences(seed, kind, width):
    rng, width = np.random.default_rng(seed), 1 if kind == "logistic" else width
    scores, target = 3 * rng.standard_normal((5, width)), targets(rng, kind, 5, width)
    found = LOSSES[kind].value(scores, target)
    assert found.tolist() == pytest.approx(
        [naive_cstc.loss_of(kind, s, y) for s, y in zip(scores, target, strict=True)], rel=1e-9, abs=1e-12
    )
    twin = differences(lambda moved: LOSSES[kind].value(moved, target).sum(), scores)
    np.testing.assert_allclose(LOSSES[kind].slope(scores, target), twin, rtol=1e-5, atol=1e-7)


def test_cross_entropy_of_huge_scores_is_finite():
    y, s = np.array([[1.0], [1.0], [-1.0]]), np.array([[1e6], [-1e6], [-1e300]])
    np.testing.assert_array_equal(LOSSES["logistic"].value(s, y), [0.0, 1e6, 0.0])
    np.testing.assert_array_equal(LOSSES["logistic"].slope(s, y), [[0.0], [-1.0], [0.0]])
    y, s = np.eye(3)[[0, 1]], np.array([[1e6, 0.0, -1e6], [1e6, 0.0, -1e6]])
    np.testing.assert_array_equal(LOSSES["softmax"].value(s, y), [0.0, 1e6])
    np.testing.assert_array_equal(LOSSES["softmax"].slope(s, y), [[0.0, 0.0, 0.0], [1.0, -1.0, 0.0]])
