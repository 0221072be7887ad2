"""Growth, routes and pruning: each lowers loss + lambda * exact cost."""

import itertools

import numpy as np
import pytest
from attrs import evolve
from bank_cases import boosted, table
from cstc_cases import evaluation_of, grown_tree
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.stagewise.soft_tree import WeightedSum, as_stage_tree
from costframe.stagewise.thresholds import halving_threshold
from costframe_cstc import CSTCRegressor
from costframe_cstc.answers import Fitter, prune, refit
from costframe_cstc.cstc import move_routes
from costframe_cstc.grow import divide, grow

BANK = boosted(30, 600)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=12))
def test_rows_are_halved_between_two_scores(rows):
    scores, weight = np.array(sorted(rows), float).T
    theta = halving_threshold(scores, weight)
    distinct = np.unique(scores)
    if len(distinct) == 1:
        assert theta == np.inf
        return
    middles = (distinct[:-1] + distinct[1:]) / 2
    assert theta in middles
    off = [abs(weight[scores < middle].sum() / weight.sum() - 0.5) for middle in middles]
    assert off[list(middles).index(theta)] == pytest.approx(min(off))


def test_upper_nodes_buy_less_when_prices_are_inflated():
    X, y = table(1, 600)
    judge = evaluation_of(BANK, X, y, tradeoff=1e-3)
    costs = []
    for inflation in (0.1, 1.0, 10.0, 100.0):
        tree = grown_tree(judge, depth=2, inflation=inflation)
        costs.append(judge.costs(tree)[:, 0].mean())
    assert sorted(costs, reverse=True) == costs
    assert costs[0] > 2 * costs[-1]


def every_threshold(judge, tree):
    """The least objective over all thresholds between adjacent scores of all rows: two routes at most."""
    routes = np.flatnonzero(tree.topology.routes)
    scores = judge.routing(tree)
    possible = [np.concatenate([[-np.inf], np.unique(scores[:, node])]) for node in routes]
    losses, arrival, totals = judge.losses(tree), judge.arrival(tree), []
    for chosen in itertools.product(*possible):
        threshold = tree.threshold.copy()
        threshold[routes] = chosen
        passes = judge.flow(evolve(tree, threshold=threshold)).passes
        totals.append(float((passes * (losses + arrival)).sum()))
    return min(totals)


@pytest.mark.parametrize("seed", range(6))
def test_a_threshold_is_placed_where_it_is_best(seed):
    X, y = table(seed, 40)
    judge = evaluation_of(BANK, X, y, tradeoff=0.005)
    tree = grown_tree(judge, depth=2)
    if len(tree.topology) == 1:
        return
    placed = judge.measure(judge.place_thresholds(tree)).total
    assert placed == pytest.approx(every_threshold(judge, tree), abs=1e-9)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1e-4, 2e-3, 2e-2]), st.sampled_from(["path", "learner"]))
def test_no_move_makes_it_worse(seed, tradeoff, acquisition):
    X, y = table(seed, 250)
    judge = evaluation_of(BANK, X, y, tradeoff=tradeoff, acquisition=acquisition)
    fitter, tree = Fitter(judge, 1.0), grown_tree(judge, depth=3)
    start = judge.measure(tree).total
    placed = judge.place_thresholds(tree)
    after = judge.measure(placed).total
    assert after <= start + 1e-12
    moved = move_routes(fitter, placed)
    assert judge.measure(moved).total <= after + 1e-12


def test_a_guard_is_not_made_worse():
    X, y = table(3, 300)
    judge, guard = evaluation_of(BANK, X, y), evaluation_of(BANK, *table(4, 150))
    tree = grown_tree(judge, depth=3, ridge=1e-3)
    moved = move_routes(Fitter(judge, 1e-3), tree, guard)
    assert guard.measure(moved).total <= guard.measure(tree).total


def test_a_move_is_for_the_better_where_the_start_is_poor():
    """Routes that divide rows by chance find what tells them apart."""
    rng = np.random.default_rng(0)
    x, z = rng.choice([-1.0, 1.0], (2, 500))
    X = np.column_stack([x, z, *rng.standard_normal((6, 500))])
    X[:, 4], X[:, 5] = np.where(x > 0, rng.choice([0, 1], 500), 0.0), np.where(x < 0, rng.choice([0, 1], 500), 0.0)
    y = np.where(x > 0, X[:, 4], 1 - X[:, 5])
    columns = cf.WeakLearnerBank.columns(tuple("abcdefgh"))
    judge = evaluation_of(columns, X, y, tradeoff=1e-3)
    fitter = Fitter(judge, 0.01)
    tree = grow(fitter, 2, 1.0)[0]
    assert len(tree.topology) == 3
    poor = tree.with_route(0, np.eye(8)[2], 0.0)
    poor, _ = refit(fitter, poor)
    better = move_routes(fitter, poor)
    for _ in range(2):
        better, _ = refit(fitter, move_routes(fitter, better))
    assert judge.measure(better).total < 0.7 * judge.measure(poor).total


def test_pruning_goes_by_other_rows():
    """With answers that fit noise, what is deep goes; with a tree that tells halves apart it stays."""
    rng = np.random.default_rng(1)
    X, _ = table(1, 300)
    noise = rng.integers(0, 2, 300)
    judge, other = evaluation_of(BANK, X[:150], noise[:150]), evaluation_of(BANK, X[150:], noise[150:])
    tree, answers = grow(Fitter(judge, 1e-4), 3, 1.0)
    assert len(tree.topology) > 1
    assert len(prune(other, tree, answers).topology) == 1
    sign = np.sign(X[:, 0])
    label = np.where(sign > 0, X[:, 4] > 0, X[:, 5] > 0).astype(int)
    plain = np.column_stack([sign, X[:, 1:]])
    columns = cf.WeakLearnerBank.columns(tuple("abcdefgh"))
    judge, other = evaluation_of(columns, plain[:200], label[:200]), evaluation_of(columns, plain[200:], label[200:])
    best = judge.place_thresholds(grow(Fitter(judge, 0.1), 3, 1.0)[0])
    tree, answers = refit(Fitter(judge, 0.1), best)
    pruned = prune(other, tree, answers)
    assert other.measure(pruned).total <= other.measure(tree).total


def crossed(seed, n=400):
    """Labels that one of two dear columns tells; a free sign tells which, and says nothing of the labels itself."""
    rng = np.random.default_rng(seed)
    sign, dear = rng.choice([-1.0, 1.0], n), rng.standard_normal((n, 2))
    y = np.where(sign > 0, dear[:, 0], dear[:, 1])
    X = np.column_stack([sign, rng.standard_normal((n, 3)), *dear.T, rng.standard_normal((n, 2))])
    return X, y


def test_rows_are_divided_by_what_says_nothing_of_their_labels():
    columns = cf.WeakLearnerBank.columns(tuple("abcdefgh"))
    costs = {"features": dict.fromkeys("abcdgh", 0.01) | {"e": 10.0, "f": 10.0}}
    judge, guard = (
        evaluation_of(columns, *crossed(seed), cf.CostModel.from_dict(costs), tradeoff=0.03, loss="squared")
        for seed in (0, 1)
    )
    fitter = Fitter(judge, 1e-3)
    leaf = grow(fitter, 1, 1.0)[0]
    assert len(leaf.topology) == 1
    divided = divide(fitter, leaf, 2, guard)
    assert divided.topology.children.tolist() == [[1, 2], [-1, -1], [-1, -1]]
    assert np.flatnonzero(divided.weights[0, :, 0]).tolist() == [0]
    assert judge.measure(divided).loss < 1e-3
    assert guard.measure(divided).cost == pytest.approx(10, abs=0.1)
    assert len(divide(fitter, leaf, 1, guard).topology) == 1  # no deeper than is asked for
    again = divide(fitter, divided, 2, guard)
    assert judge.measure(again).total <= judge.measure(divided).total


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 6))
def test_a_divided_leaf_answers_on_both_sides(seed, node):
    X, y = table(seed, 200)
    judge = evaluation_of(BANK, X, y, tradeoff=0.003)
    tree = grown_tree(judge, depth=3)
    if node >= len(tree.topology) or tree.topology.routes[node]:
        return
    n_outputs = BANK.widths.sum()
    route = np.zeros(n_outputs)
    route[seed % n_outputs] = 1.0
    scores = judge.rows.outputs.block(slice(0, 200))[:, seed % n_outputs]
    sides = [WeightedSum(np.zeros((n_outputs, 1)), np.array([value])) for value in (-50.0, 50.0)]
    threshold = float(np.median(scores))
    divided = as_stage_tree(BANK, tree.dividing(node, route, threshold, *sides), "identity")
    inside = judge.flow(tree).passes[:, node] > 0
    expected = np.where(
        inside, np.where(scores > threshold, 50.0, -50.0), as_stage_tree(BANK, tree, "identity").predict(X)
    )
    np.testing.assert_allclose(divided.predict(X), expected, atol=1e-12)


def test_large_labels_divide_by_what_is_free():
    """What is free is worth any gain for the money; it is tried without overflow, the most telling first."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 16))
    y = 1e6 * (X[:, 15] > 0) * (X[:, 0] + 1)
    prices = cf.CostModel.from_dict({"features": {f"x{f}": 0.0 for f in range(16)}})
    model = CSTCRegressor(prices, 1e-3, bank="columns", depth=2, ridge=1e-3, inflation=1.0).fit(X, y)
    assert model.score(X, y) > 0.95
