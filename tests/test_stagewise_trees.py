"""Soft trees over a bank: their flow, objectives and slopes against loops, descents, thresholds, and exact costs."""

import naive_stagewise as naive
import numpy as np
import pytest
from attrs import evolve
from bank_cases import COSTS, EVERY_PRICE, NAMES, boosted, table
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_stagewise import differences
from stagewise_cases import LOSSES, evaluation_of, problem, soft_tree, targets, topology

import costframe as cf
from costframe.plugin import OpaqueLearner, PricedGroups
from costframe.stagewise import Flow, SupportObjective, Topology, WeightedSum, cycle, descend
from costframe.stagewise.objective import Auxiliaries
from costframe.stagewise.relaxed import RelaxedCost
from costframe.stagewise.stage_tree import as_stage_tree
from costframe.stagewise.thresholds import best_thresholds
from costframe_cstc.halving import halving_threshold

seeds = st.integers(0, 10_000)
kinds, widths = st.sampled_from(list(LOSSES)), st.integers(1, 3)
BANK = boosted(30, 600)
NEAR = {"rtol": 1e-4, "atol": 1e-7}


# --- shapes and the flow of rows ---------------------------------------------------------------------------------


def test_a_node_taken_away_leaves_an_exit_of_its_parent():
    tree, kept = Topology.full(3).without(2)
    assert kept.tolist() == [0, 1, 3, 4]
    assert tree.children.tolist() == [[1, -1], [2, 3], [-1, -1], [-1, -1]]
    tree, kept = tree.without(2)
    assert kept.tolist() == [0, 1, 3]
    assert tree.children.tolist() == [[1, -1], [-1, 2], [-1, -1]]


@settings(max_examples=50)
@given(seeds, st.integers(1, 4), st.sampled_from([0.5, 4.0, 50.0]))
def test_probabilities_are_sums_over_ways_and_hard_rows_take_one(seed, depth, steepness):
    rng, tree = np.random.default_rng(seed), topology(seed, depth)
    children, ways = tree.children.tolist(), naive.ways(tree.children.tolist())
    for node in range(len(tree)):
        through = [[j for j, _ in way] for way in ways if node in [j for j, _ in way]]
        assert tree.has_exit[node] == any(way[-1] == node for way in through)
        assert tree.routes[node] == any(way[-1] != node for way in through)
        before = through[0][: through[0].index(node) + 1]
        assert np.flatnonzero(tree.paths[node]).tolist() == sorted(before)
    scores, theta = rng.standard_normal((5, len(tree))), rng.standard_normal(len(tree))
    theta[rng.random(len(tree)) < 0.2] = rng.choice([-np.inf, np.inf])
    flow = Flow.of(tree, scores, theta, steepness)
    passes, exits = np.zeros(scores.shape), np.zeros(scores.shape)
    for i, row in enumerate(scores):
        for nodes, p in naive.chances(children, row, np.clip(theta, -1e300, 1e300), steepness):
            passes[i, nodes] += p
            exits[i, nodes[-1]] += p
    np.testing.assert_allclose(flow.passes, passes, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(flow.exits, exits, rtol=1e-9, atol=1e-12)
    scores, theta = np.round(2 * scores), np.round(2 * theta)  # ties go below
    flow = Flow.hard(tree, scores, theta)
    for row, p, e in zip(scores, flow.passes, flow.exits, strict=True):
        way = naive.hard_way(children, row, theta)
        assert np.flatnonzero(p).tolist() == sorted(way)
        assert np.flatnonzero(e).tolist() == way[-1:]
        assert p[way[0]] == e[way[-1]] == 1


@settings(max_examples=50)
@given(seeds, st.integers(1, 4), st.integers(2, 12))
def test_no_threshold_alone_can_do_better(seed, depth, n):
    """Scores tie; some thresholds reject nothing or all; one that is as good stays."""
    rng, tree = np.random.default_rng(seed), topology(seed, depth)
    scores = np.round(rng.standard_normal((n, len(tree))) * 2) / 2
    at_exit, arrival = rng.exponential(size=(2, n, len(tree))) * [[[1.0]], [[0.4]]]
    theta = rng.choice(scores.ravel(), len(tree)) + rng.choice([0.0, 0.25, -np.inf, np.inf], len(tree))
    children = tree.children.tolist()

    def paid(threshold):
        return naive.payments(children, scores, threshold, at_exit, arrival)

    for node in np.flatnonzero(tree.routes):
        sides = [np.where(np.arange(len(tree)) == node, forced, theta) for forced in (np.inf, -np.inf)]
        below, above = (Flow.hard(tree, scores, side).expected_payments(at_exit, arrival)[:, node] for side in sides)
        found = Flow.hard(tree, scores, theta).payment_difference(node, at_exit, arrival)
        np.testing.assert_allclose(found, below - above, atol=1e-12)
    found = best_thresholds(tree, scores, at_exit, arrival, theta)
    assert paid(found) <= paid(theta) + 1e-12
    for node in np.flatnonzero(tree.routes):
        values = np.unique(scores[:, node])
        for cut in (-np.inf, *(values[:-1] + np.diff(values) / 2), np.inf):
            assert paid(found) <= paid(np.where(np.arange(len(tree)) == node, cut, found)) + 1e-12
    assert best_thresholds(tree, scores, 0 * at_exit, 0 * arrival, theta).tolist() == theta.tolist()


@settings(max_examples=50)
@given(seeds)
def test_thresholds_halve_the_weight(seed):
    rng = np.random.default_rng(seed)
    scores, weight = rng.choice(rng.standard_normal(5), 20), rng.random(20) + 0.01
    distinct = np.unique(scores)
    middles = (distinct[:-1] + distinct[1:]) / 2
    off = [abs(weight[scores < middle].sum() / weight.sum() - 0.5) for middle in middles]
    assert halving_threshold(scores, weight) == pytest.approx(middles[np.argmin(off)] if len(middles) else np.inf)


# --- objectives --------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(seeds, kinds, st.integers(1, 4))
def test_losses_are_those_of_the_text_and_their_slopes_those_of_differences(seed, kind, width):
    rng, width = np.random.default_rng(seed), 1 if kind == "logistic" else width
    scores, target = 3 * rng.standard_normal((5, width)), targets(rng, kind, 5, width)
    found = LOSSES[kind].value(scores, target)
    expected = [naive.loss_of(kind, s, y) for s, y in zip(scores, target, strict=True)]
    assert found.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-12)
    twin = differences(lambda moved: LOSSES[kind].value(moved, target).sum(), scores)
    np.testing.assert_allclose(LOSSES[kind].slope(scores, target), twin, rtol=1e-5, atol=1e-7)


def test_cross_entropy_of_huge_scores_is_finite():
    y, s = np.array([[1.0], [1.0], [-1.0]]), np.array([[1e6], [-1e6], [-1e300]])
    np.testing.assert_array_equal(LOSSES["logistic"].value(s, y), [0.0, 1e6, 0.0])
    np.testing.assert_array_equal(LOSSES["logistic"].slope(s, y), [[0.0], [-1.0], [0.0]])
    y, s = np.eye(3)[[0, 1]], np.array([[1e6, 0.0, -1e6], [1e6, 0.0, -1e6]])
    np.testing.assert_array_equal(LOSSES["softmax"].value(s, y), [0.0, 1e6])
    np.testing.assert_array_equal(LOSSES["softmax"].slope(s, y), [[0.0, 0.0, 0.0], [1.0, -1.0, 0.0]])


@settings(max_examples=40)
@given(seeds, kinds, widths, st.sampled_from([1e-6, 0.4]), st.sampled_from([4.0, 50.0]), st.data())
def test_the_objective_and_its_bound_are_those_of_the_text(seed, kind, width, floor, steepness, data):
    """The bound touches the objective, and is never below it, wherever a node moves."""
    H, objective, at = problem(seed, kind, width, steepness=steepness)
    objective = evolve(objective, cost=RelaxedCost(objective.cost.groups, objective.cost.paths, floor))
    outcome, node, rng = objective.outcome(at), data.draw(st.integers(0, len(at) - 1)), np.random.default_rng(seed)
    assert objective.value(at) == pytest.approx(naive.value(H, objective, kind, at), rel=1e-9)
    assert objective.exact_cost(at) == pytest.approx(naive.charged(H, objective, at), rel=1e-9, abs=1e-12)
    z = objective.auxiliaries(at, outcome)
    assert objective.bound(at, z, outcome, node)[0] == pytest.approx(objective.value(at), rel=1e-9)
    moved = evolve(at, weights=at.weights.copy(), intercept=at.intercept.copy(), threshold=at.threshold.copy())
    for part in (moved.weights, moved.intercept, moved.threshold):
        part[node] += 0.4 * rng.standard_normal(part[node].shape)
    other = Auxiliaries(z.groups * rng.uniform(1, 4, z.groups.shape) + 0.1, z.weights * 0.7 + 0.1)
    found = objective.bound(moved, other, objective.outcome(moved), node)[0]
    assert found == pytest.approx(naive.value(H, objective, kind, moved, other), rel=1e-7)
    assert objective.bound(moved, z, objective.outcome(moved), node)[0] >= objective.value(moved) * (1 - 1e-7)
    assert objective.value(moved, outcome.moved(moved, objective.rows, objective.loss, node)) == pytest.approx(
        objective.value(moved)
    )


@settings(max_examples=30, deadline=None)
@given(seeds, kinds, widths, st.data())
def test_slopes_of_the_bound_are_finite_differences(seed, kind, width, data):
    """Of every node, through the probabilities of all nodes after it, in the loss and in the cost."""
    _, objective, at = problem(seed, kind, width, n=5)
    node, outcome = data.draw(st.integers(0, len(at) - 1)), objective.outcome(at)
    z = objective.auxiliaries(at, outcome)
    other = Auxiliaries(z.groups * 1.3 + 0.1, z.weights * 0.8 + 0.1)  # not the best ones: slopes of the bound itself
    _, slopes = objective.bound(at, other, outcome, node)
    for name in ("weights", "intercept", "threshold"):

        def bound(part, name=name):
            moved = evolve(at, **{name: part})
            return objective.bound(moved, other, objective.outcome(moved), node)[0]

        np.testing.assert_allclose(getattr(slopes, name)[0], differences(bound, getattr(at, name))[node], **NEAR)


def support_problem(seed, kind="squared", width=1):
    H, objective, at = problem(seed, kind, width, n=12)
    costs = np.random.default_rng(seed).exponential(size=(len(H), len(at)))
    return H, SupportObjective(objective.rows, LOSSES[kind], costs, 0.3, 4.0), at


@settings(max_examples=40)
@given(seeds, kinds, widths)
def test_at_fixed_supports_loss_and_cost_are_expected_and_slopes_are_differences(seed, kind, width):
    H, objective, at = support_problem(seed, kind, width)
    twin = naive.expected(H, objective.rows, kind, at, objective.steepness, objective.costs)
    assert objective.value(at) == pytest.approx(twin, rel=1e-9)
    assert objective.total(at) == pytest.approx(twin[0] + 0.3 * twin[1])
    slopes = objective.gradient(at)[2]
    for name in ("weights", "intercept", "threshold"):
        twin = differences(lambda part, name=name: objective.total(evolve(at, **{name: part})), getattr(at, name))
        np.testing.assert_allclose(getattr(slopes, name), twin, **NEAR)


# --- descents ----------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(seeds, st.sampled_from(["same", "more", "opposite"]))
def test_descent_ends_no_worse_than_it_began_on_other_rows(seed, kind):
    _, objective, at = support_problem(seed)
    other = objective
    if kind == "more":
        _, more, _ = problem(seed + 3, n=12)
        other = evolve(objective, rows=more.rows)
    elif kind == "opposite":
        other = evolve(objective, rows=evolve(objective.rows, target=-objective.rows.target))
    free = np.random.default_rng(seed).random(at.used.shape) < 0.7
    start = evolve(at, weights=at.weights * free[:, :, np.newaxis])
    found = descend(objective, start, free, np.linspace(0.01, 0.1, len(at)), other, 30)
    assert other.total(found) <= other.total(start)
    assert not found.weights[~free].any()
    if kind == "same":
        assert other.total(found) < other.total(start)


@pytest.mark.parametrize(("kind", "width"), [("squared", 1), ("squared", 2), ("logistic", 1), ("softmax", 3)])
def test_the_objective_falls_at_every_accepted_step(kind, width):
    moved = set()
    for seed in range(4):
        H, objective, at = problem(seed, kind, width, n=15)
        steps = []
        found = cycle(objective, at, 2, steps)
        assert steps[-1].objective == pytest.approx(naive.value(H, objective, kind, found), rel=1e-9)
        assert steps[-1].exact_cost == pytest.approx(objective.exact_cost(found))
        before = naive.value(H, objective, kind, at)
        assert (np.diff([before, *[step.objective for step in steps]]) < 0).all()
        for name in ("weights", "intercept", "threshold"):
            changed = (getattr(found, name) != getattr(at, name)).reshape(len(at), -1).any(axis=1)
            assert set(np.flatnonzero(changed)) <= {step.node for step in steps}
        assert (found.threshold == at.threshold)[~at.topology.routes].all()
        moved |= {(seed, step.node) for step in steps}
    assert {seed for seed, _ in moved} == {0, 1, 2, 3}
    assert len(moved) > 6


# --- exact costs -------------------------------------------------------------------------------------------------


def test_a_further_use_costs_reuse():
    bank = cf.WeakLearnerBank.columns(("a", "b"), [0, 1])
    bank = bank + cf.WeakLearnerBank.opaque(("a", "b"), [OpaqueLearner("both", lambda X: X.sum(axis=1), (0, 1))])
    costs = cf.CostModel.from_dict({"features": {"a": 1.0, "b": 2.0}, "reuse": 0.25})
    groups = PricedGroups.of_bank(bank, costs.select(("a", "b")))
    assert RelaxedCost(groups).exact_cost(np.ones((1, 3, 1))) == 3.5
    tree = cf.StageTree(bank, [cf.Answer([0, 1, 2], [1.0, 1.0, 1.0], [0.0])])
    assert tree.cost(np.ones((2, 2)), costs, acquisition="learner").mean == 3.5


def tree_over(bank, seed, topology, tradeoff=0.01, costs=COSTS, acquisition="path"):
    """Rows to measure on, and a tree whose nodes use some learners, with thresholds in the midst of scores."""
    rng, (X, y) = np.random.default_rng(seed), table(seed, 250)
    weight = rng.uniform(0.5, 2, len(X))
    judge = evaluation_of(bank, X, y, costs, weight=weight, tradeoff=tradeoff, acquisition=acquisition)
    tree = soft_tree(rng, topology, len(bank), 1)
    used = rng.random(tree.used.shape) < 0.3
    tree = evolve(tree, weights=tree.weights * used[:, :, np.newaxis])
    theta = np.array([halving_threshold(column, weight) for column in judge.routing(tree).T])
    return X, y, judge, tree.with_threshold(np.where(np.isinf(theta), 9.0, theta))


@pytest.mark.parametrize("acquisition", ["path", "learner"])
@pytest.mark.parametrize("costs", [COSTS, EVERY_PRICE], ids=["plain", "every price"])
@pytest.mark.parametrize("shape", [Topology.chain(4), Topology.full(3)], ids=["chain", "tree"])
def test_what_is_measured_is_what_will_be_charged(shape, costs, acquisition):
    X, y, judge, tree = tree_over(BANK, 1, shape, costs=costs, acquisition=acquisition)
    stages, weight = as_stage_tree(BANK, tree, "sigmoid"), judge.rows.weight
    report = cf.ExpectedCost(costs, acquisition=acquisition).evaluate(stages, X, sample_weight=weight)
    measured = evolve(judge, reads=None).measure(tree)
    bought = np.average(report.acquired[:, 4:].sum(axis=1), weights=weight)
    once = 30.0 / weight.sum() if costs is EVERY_PRICE else 0.0  # a row's share of what is paid once for all of them
    assert measured.cost == pytest.approx(report.mean + once * bought)
    chances = stages.predict(X)
    lost = np.average(-np.log(np.where(y == 1, chances, 1 - chances)), weights=weight)
    assert measured.loss == pytest.approx(lost)
    assert measured.total == pytest.approx(measured.loss + 0.01 * measured.cost)
    assert judge.row_totals(tree).sum() == pytest.approx(judge.measure(tree).total)
    soft, prices = cf.ExpectedCost(evolve(costs, split=0.0), routing="soft", acquisition="learner"), costs.select(NAMES)
    flow = Flow.of(shape, judge.routing(tree), tree.threshold, 4.0)
    reach, share = np.ones(len(shape)), weight @ flow.exits / weight.sum()
    if not shape.routes[:-1].all():
        charged = RelaxedCost(PricedGroups.of_bank(BANK, prices), shape.paths).exact_cost(tree.weights, reach, share)
    else:  # a chain is one way
        reach = weight @ flow.passes / weight.sum()
        charged = RelaxedCost.chain(PricedGroups.of_bank(BANK, prices), len(shape)).exact_cost(tree.weights, reach)
    found = soft.evaluate(as_stage_tree(BANK, tree, "sigmoid", 4.0), X, sample_weight=weight).mean
    assert found == pytest.approx(charged, rel=1e-9)
    if costs is COSTS:  # without a price of comparisons and of reuse, costs are the same by what is read
        np.testing.assert_allclose(judge.costs(tree), evolve(judge, reads=None).costs(tree), atol=1e-12)


@pytest.mark.parametrize(
    "threshold", [(-np.inf, 0.0, 0.1), (0.0, -np.inf, -np.inf), (-0.1, np.inf, 0.0), (np.inf,) * 3]
)
def test_without_idle_stages_the_same_answers_cost_no_more(threshold):
    _, _, judge, chain = tree_over(BANK, 3, Topology.chain(4))
    chain = chain.with_threshold(np.append(threshold, 0.0))
    shorter = chain.without_idle_routes()
    assert np.isfinite(shorter.threshold).all()
    assert len(shorter) < 4
    before, after = judge.measure(chain), judge.measure(shorter)
    assert after.loss == pytest.approx(before.loss, rel=1e-9)
    assert after.cost <= before.cost + 1e-12


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 6))
def test_a_tree_ends_at_a_node_or_divides_its_rows(seed, node):
    X, _, judge, tree = tree_over(BANK, seed, topology(seed))
    node %= len(tree)
    before, inside = as_stage_tree(BANK, tree).predict(X), judge.flow(tree).passes[:, node] > 0
    constants = [WeightedSum(np.zeros((len(BANK), 1)), np.array([value])) for value in (-50.0, 50.0)]
    ended = as_stage_tree(BANK, tree.ending_at(node, constants[0]))
    np.testing.assert_allclose(ended.predict(X), np.where(inside, -50.0, before), atol=1e-12)
    if tree.topology.routes[node]:
        return
    route = np.eye(len(BANK))[seed % len(BANK)]
    scores = judge.rows.outputs.block(slice(0, len(X)))[:, seed % len(BANK)]
    threshold = float(np.median(scores))
    divided = as_stage_tree(BANK, tree.dividing(node, route, threshold, *constants))
    expected = np.where(inside, np.where(scores > threshold, 50.0, -50.0), before)
    np.testing.assert_allclose(divided.predict(X), expected, atol=1e-12)
